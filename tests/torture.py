"""Notes that break careless readers and writers: a vault with one file per hazard, and random notes without end.

All chance comes from a seed. `python -m tests.torture DIR [--seed N] [--heavy]` writes the vault for a look by hand.
"""

from __future__ import annotations

import argparse
import random
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1024 * 1024

_WORDS = [
    "river",
    "面试",
    "offer",
    "café",
    "很累",
    "naïve",
    "internship",
    "未分类",
    "🎞",
    "été",
    "deadline",
    "Straße",
    "日記",
    "ข้าว",
    "실습",
    "coffee",
    "0123",
    "yes",
    "null",
    "2026-01-31",
]
_BODIES = (
    "I walked to the river.\n",
    "first paragraph\n\nsecond paragraph\n",
    "# Title\n\n---\n\nbelow a rule\n",
    "```yaml\n---\nid: not mine\n---\n```\n",
    "\tindented code\n    more\n",
    "no newline at the end",
    "trailing blanks  \n\n\n",
    "",
    "\n",
    "line\u2028separator\u2029and\u0085next line\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "{{title}} and <% tp.date.now() %>\n",
    "---\n",
)
_VALUES = (
    "text",
    "12:30",
    "yes",
    "0123",
    "1e3",
    "-.inf",
    "2026-01-31",
    "2026-06-29   # why",
    "'it''s'",
    '"tab\\t and \\u2028"',
    '"[[Note|shown]]"',
    "[[Note]]",
    "[b, a]",
    "[ 'x' ,y ]",
    "[]",
    "{a: 1, b: [2, 3]}",
    "",
    "~",
    " # only a comment",
    "{{date}}",
    "a\u2028b\u0085c",
    "😀 mood",
    "http://example.org/a#b",
    "plain, with: colons:inside",
    "`code`",
    "@someone",
    "!!str 12",
    "two\n  lines",
    '"two\n  lines"',
    "|\n  literal\n  # not a comment\n\n  ---\n",
    "|+\n  kept\n\n",
    ">-\n  folded\n  text",
    "\n  - one\n  - two # second\n  # between\n  - 'three'",
    "\n- flush\n- left",
    "\n  nested: 1\n  # inside\n  more:\n    - x",
    "[\n  over,\n  lines\n  ]",
    "&here anchored",
    "*here",
    "\ttabbed",
)
_OWNED = (
    "id",
    "name",
    "type",
    "domain",
    "tags",
    "valence",
    "importance",
    "activation_count",
    "pinned",
    "created",
    "last_active",
)
_FOREIGN = (
    "title",
    "aliases",
    "cssclasses",
    "my key",
    "键",
    '"quoted"',
    "'single'",
    "2026",
    "true",
    "x-y_z",
    "content",
)
_NEWLINES = ("\n", "\r\n")


def random_header(rng: random.Random, *, newline: str = "\n") -> str:
    """The lines between the fences: mostly YAML, now and then not."""
    lines: list[str] = []
    keys = list(_OWNED + _FOREIGN)
    rng.shuffle(keys)
    for key in keys[: rng.randrange(0, 8)]:
        if rng.random() < 0.2:
            lines.append(rng.choice(("# a comment", "", "  ", "  # indented comment")))
        spelled = f'"{key}"' if key.isidentifier() and rng.random() < 0.1 else key
        value = rng.choice(_VALUES) if rng.random() < 0.8 else rng.choice(_WORDS)
        gap = rng.choice((" ", " ", " ", "  ", "   "))
        lines.append(
            f"{spelled}:" + (value if value[:1] == "\n" else gap + value) + rng.choice(("", "", "", " # c", " "))
        )
    if rng.random() < 0.1:
        lines.append(
            rng.choice(("id: again", "  ", "broken: [", "no colon here", "a: b: c", "...", "\tx: 1", "{a: 1}"))
        )
    if rng.random() < 0.05:
        lines = ["  " + line for line in lines]
    return "".join(line + "\n" for line in lines).replace("\n", newline)


def random_note(rng: random.Random) -> bytes:
    """A note: any newline style, with or without BOM, block, body and final newline."""
    newline = rng.choice(_NEWLINES)
    text = rng.choice(_BODIES) + rng.choice(_BODIES)
    if rng.random() < 0.85:
        blanks = rng.choice(("", "", "", " ", "\t"))
        header = random_header(rng)
        text = f"---{blanks}\n{header}---\n{text}"
    if rng.random() < 0.3:  # mixed
        text = "".join(line + rng.choice(_NEWLINES) if ended else line for line, ended in _lines(text))
    else:
        text = text.replace("\n", newline)
    if rng.random() < 0.15:
        text = "\ufeff" + text
    raw = text.encode()
    if rng.random() < 0.03:
        at = rng.randrange(len(raw) + 1)
        raw = raw[:at] + rng.choice((b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80")) + raw[at:]
    return raw


def _lines(text: str) -> list[tuple[str, bool]]:
    parts = text.split("\n")
    return [(part, index + 1 < len(parts)) for index, part in enumerate(parts)]


@dataclass(frozen=True)
class Hazard:
    """One file of the torture vault. `writable`: our properties can be changed in it; `listed`: it has a problem."""

    path: str
    why: str
    writable: bool = True
    listed: bool = False


_HEAD = "---\nid: {id}\ntype: dynamic\ntags: [river, 面试]\nmine: kept\n---\n"


def hazards(seed: int, *, heavy: bool = False) -> Iterator[tuple[Hazard, bytes]]:
    """Each hazard with its bytes. `heavy` adds the big ones: 60 MB, and one line of 5 MB."""
    rng = random.Random(seed)
    yield from _encodings(rng)
    yield from _blocks(rng)
    yield from _names(rng)
    if heavy:
        yield (
            Hazard("dynamic/sixty-megabytes.md", "60 MB", False, True),
            _head(rng) + b"river bank\n" * (60 * MEBIBYTE // 11),
        )
        yield Hazard("dynamic/one-long-line.md", "one line of 5 MB"), _head(rng) + b"river " * (5 * MEBIBYTE // 6)


def build(root: Path, seed: int, *, heavy: bool = False) -> list[Hazard]:
    """Write the vault below `root`, links included: to itself, to its parent, outside, dangling, to a file."""
    made: list[Hazard] = []
    for hazard, raw in hazards(seed, heavy=heavy):
        target = root / hazard.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
        made.append(hazard)
    outside = root.parent / f"{root.name}-outside"
    outside.mkdir(exist_ok=True)
    (outside / "not-ours.md").write_bytes(_head(random.Random(seed)) + b"outside the vault\n")
    plain = root / "dynamic" / "lf.md"
    for name, target in {
        "loop": root,
        "parent": root.parent,
        "outside": outside,
        "dangling.md": root / "nowhere.md",
        "linked-file.md": plain,
    }.items():
        (root / name).symlink_to(target)
    return made


def _head(rng: random.Random) -> bytes:
    return _HEAD.format(id=f"{rng.getrandbits(48):012x}").encode()


def _encodings(rng: random.Random) -> Iterator[tuple[Hazard, bytes]]:
    head = _head(rng)
    text = head + "I walked to the river.\n很累\n".encode()
    crlf = text.replace(b"\n", b"\r\n")
    yield Hazard("dynamic/lf.md", "nothing wrong"), text
    yield Hazard("dynamic/crlf.md", "CRLF"), crlf
    yield Hazard("dynamic/mixed.md", "both newlines"), text.replace(b"\n", b"\r\n", 3)
    yield Hazard("dynamic/old-mac.md", "lone CR, so no block"), text.replace(b"\n", b"\r")
    yield Hazard("dynamic/bom.md", "BOM"), b"\xef\xbb\xbf" + text
    yield Hazard("dynamic/bom-crlf.md", "BOM and CRLF"), b"\xef\xbb\xbf" + crlf
    yield Hazard("dynamic/no-final-newline.md", "no final newline"), text.rstrip(b"\n")
    yield Hazard("dynamic/empty.md", "no byte at all"), b""
    yield Hazard("dynamic/only-bom.md", "a BOM alone"), b"\xef\xbb\xbf"
    yield Hazard("dynamic/latin1.md", "byte 0xFF", False, True), head + b"caf\xff\n"
    yield Hazard("dynamic/utf16.md", "UTF-16", False, True), text.decode().encode("utf-16")
    yield Hazard("dynamic/nul.md", "a NUL inside", False, True), head + b"a\x00b\n"
    yield (
        Hazard("dynamic/picture.md", "a PNG's first bytes", False, True),
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe" + head,
    )
    yield Hazard("dynamic/surrogates.md", "CESU-8", False, True), head + b"\xed\xa0\xbd\xed\xb8\x80\n"


def _blocks(rng: random.Random) -> Iterator[tuple[Hazard, bytes]]:
    good: dict[str, tuple[str, str]] = {
        "tabs": ("tabs where YAML allows them", "---\nid:\tx{n}\ntags:\t[a,\tb]\t# c\n---\n\ttext\n"),
        "rule-in-scalar": ("`---` inside a block scalar", "---\nid: x{n}\nquote: |\n  ---\n  river\n---\nbody\n"),
        "u2028": ("U+2028 and U+0085 in a value", "---\nid: x{n}\nmine: a\u2028b\u0085c\n---\nbody\u2028body\n"),
        "template": ("a template", "---\nid: x{n}\ncreated: {{{{date}}}}\ntitle: '{{{{title}}}}'\n---\n<% tp %>\n"),
        "anchors": ("anchors", "---\nbase: &b [x, y]\nother: *b\nid: x{n}\n---\nbody\n"),
        "comments": (
            "comments everywhere",
            "---\n# top\nid: x{n} # mine\n\n# mid\ntags: # these\n  - a # one\n  # two\n---\n",
        ),
        "quotes": ("each quote", '---\n"id": \'x{n}\'\n\'name\': "it\'s"\nlink: "[[N]]"\n---\nbody\n'),
        "indented": ("an indented block", "---\n  id: x{n}\n  tags:\n  - a\n---\nbody\n"),
        "empty-block": ("an empty block", "---\n---\nbody {n}\n"),
        "comment-block": ("a block of comments", "---\n# nothing yet\n---\nbody {n}\n"),
        "foreign-type": ("a type of the person's own", "---\ntype: litnote\nid: x{n}\n---\nbody\n"),
        "wrong-values": (
            "impossible values",
            "---\nid: x{n}\nimportance: many\nlast_active: 2026-02-30\nvalence: 7\n---\n",
        ),
        "open-fence": ("blanks behind the fences", "--- \nid: x{n}\n---\t\nbody\n"),
        "fenced-markers": ("markers in a code fence", "---\nid: x{n}\n---\n```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n"),
        "setext": ("a heading of `=`", "---\nid: x{n}\n---\nHeading\n=======\n\n> quote\n"),
    }
    bad: dict[str, tuple[str, str]] = {
        "duplicate-keys": ("a key twice", "---\nid: x{n}\ntags: [a]\ntags: [b]\n---\nkiwi\n"),
        "unclosed": ("the fence is never closed", "---\nid: x{n}\nkiwi\n"),
        "colon": ("a colon in a bare text", "---\ntitle: Fix: the thing {n}\nby: @bob\n---\nbody kiwi\n"),
        "tab-indent": ("a tab as indentation", "---\nid: x{n}\n\ttags: a\n---\nkiwi\n"),
        "open-bracket": ("an open bracket", "---\nid: x{n}\ntags: [a\n---\nkiwi\n"),
        "prose": ("text between two rules", "---\nno property here {n}\n---\nkiwi\n"),
        "list": ("a list for a block", "---\n- {n}\n---\nkiwi\n"),
        "alias-bomb": ("aliases that multiply", "---\nid: x{n}\n" + _bomb() + "---\nkiwi\n"),
        "alias-loop": ("an alias to itself", "---\nid: x{n}\na: &a [*a]\n---\nkiwi\n"),
        "deep": ("nested too deep", "---\nid: x{n}\na: " + "[" * 500 + "]" * 500 + "\n---\nkiwi\n"),
        "markers": ("conflict markers", "---\nid: x{n}\n---\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"),
        "markers-in-block": (
            "conflict markers in the block",
            "---\nid: x{n}\n<<<<<<< ours\nmine: a\n=======\nmine: b\n>>>>>>> theirs\n---\nkiwi\n",
        ),
    }
    for name, (why, text) in good.items():
        yield Hazard(f"dynamic/{name}.md", why), text.format(n=rng.randrange(1000)).encode()
    for name, (why, text) in bad.items():
        yield Hazard(f"dynamic/{name}.md", why, False, True), text.format(n=rng.randrange(1000)).encode()


def _bomb() -> str:
    rows = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)]
    return "".join(row + "\n" for row in rows)


def _names(rng: random.Random) -> Iterator[tuple[Hazard, bytes]]:
    names = {
        unicodedata.normalize("NFD", "Iółka") + ".md": "a name in NFD",
        "x" * 252 + ".md": "a name of 255 bytes",
        "面" * 84 + ".md": "a name of 255 bytes in Chinese",
        "two  blanks .md": "blanks in a name",
        "-dash.md": "a dash first",
        "quote'and\"quote.md": "quotes in a name",
        "UPPER.MD": "an extension in capitals",
        "hash#and^caret.md": "what a link can't hold",
        "new\nline.md": "a newline in a name",
    }
    for name, why in names.items():
        yield Hazard(f"dynamic/names/{name}", why), _head(rng) + b"river\n"


def main() -> None:
    """Write the vault to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--heavy", action="store_true")
    arguments = parser.parse_args()
    for hazard in build(arguments.folder, arguments.seed, heavy=arguments.heavy):
        print(f"{hazard.path!r}: {hazard.why}")


if __name__ == "__main__":
    main()
