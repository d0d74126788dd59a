"""Find the links of a note: wikilinks, embeds and Markdown links, in body and properties, but not in code or comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote


class Form(StrEnum):
    """How a link is written."""

    WIKI = "[[…]]"
    MARKDOWN = "[…](…)"
    ANGLE = "[…](<…>)"


@dataclass(frozen=True, slots=True)
class Link:
    """One link in a text. `start` and `end` enclose its path as written, which `target` gives decoded.

    The path ends before `#heading` or `#^block`; an alias, a title and the rest of the syntax lie outside.
    """

    form: Form
    start: int
    end: int
    written: str
    target: str
    embed: bool
    quote: str = ""

    @property
    def bare(self) -> bool:
        """Whether it is a name without a folder."""
        return "/" not in self.target

    def spell(self, target: str) -> str | None:
        """Another target in this link's own way of writing; None where that way can't carry it."""
        if self.form is Form.WIKI:
            return self._spell_wiki(target)
        if self.form is Form.ANGLE:
            return None if re.search(r"[<>\n]", target) else self._quoted(target)
        if re.search(r"%[89A-Fa-f][0-9A-Fa-f]", self.written):
            return quote(target, safe="/!'()*,;:@&=+$~")
        return self._quoted(re.sub(r"[\s%()<>\"\\#?]", lambda match: quote(match[0]), target))

    def _spell_wiki(self, target: str) -> str | None:
        if re.search(r"[\[\]|#^\n]", target):
            return None
        padding = re.fullmatch(r"(\s*).*?(\s*)", self.written, re.DOTALL)
        if padding is not None:
            target = padding[1] + target + padding[2]
        return self._quoted(target)

    def _quoted(self, target: str) -> str | None:
        """`target` inside the quotes of a property value."""
        if self.quote == "'":
            return target.replace("'", "''")
        if self.quote == '"':
            return None if re.search(r'["\\]', target) else target
        # a plain property value ends at a comma inside brackets, at " #" and at ": "
        return None if self.quote == " " and re.search(r"[,{}#]|: ", target) else target


_FRONTMATTER: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(?:.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
# unlike str.splitlines, which also splits at U+2028, form feeds and others
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)"
)
_QUOTE_PREFIX: Final = re.compile(r"[ \t]*>")
_LIST_ITEM: Final = re.compile(r"[ \t]*(?:>[ \t]?)*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_INDENTED: Final = re.compile(r"(?: {4}| {0,3}\t)")
_INLINE: Final = re.compile(r"\\.|`+|%%|<!--|\n[ \t\r]*(?=\n)")
_CODE_END: Final = re.compile(r"`+|\n[ \t\r]*(?=\n)")
# the bounds keep a search short in a line of megabytes
_WIKILINK: Final = re.compile(
    r"\[\[(?P<path>(?:[^\[\]|#\n\\]|\\(?!\|)){0,1000})(?P<sub>#(?:[^\[\]|\n\\]|\\(?!\|)){0,1000})?"
    r"(?:\\?\|(?:[^\[\]\n]|\](?!\])|\[(?!\[)){0,1000})?\]\]"
)
_MARKDOWN: Final = re.compile(
    r"\[(?:[^\[\]\n]|\[[^\[\]\n]{0,1000}\]){0,1000}\]\(\s*"
    r"(?:<(?P<angle>[^<>\n]*)>|(?P<plain>[^\s<>()]+(?:\([^\s()]*\)[^\s()]*)*))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#")


def find_links(text: str) -> tuple[Link, ...]:
    """All links of a note's text to files, in their order. External addresses and `[[#heading]]` are none."""
    head = _FRONTMATTER.match(text)
    start = head.end() if head else 0
    masked = _blank(text[:start]) + mask(text[start:])
    links = [*_wikilinks(masked, ""), *_markdown_links(masked, "")]
    if head:
        links.extend(_frontmatter_links(text[:start]))
    return tuple(sorted(links, key=lambda link: link.start))


def possible_targets(text: str) -> set[str]:
    """What the links of a text may mean, found quickly: those in code and comments are among them."""
    wiki = {link.target for link in _wikilinks(text, "")}
    return wiki | {target.replace("''", "'") for target in wiki} | {link.target for link in _markdown_links(text, "")}


def _wikilinks(text: str, quote_mark: str) -> Iterator[Link]:
    for match in _WIKILINK.finditer(text):
        written = match["path"]
        before = _mark_before(text, match.start())
        if written.strip() and before != "\\":
            yield Link(Form.WIKI, *match.span("path"), written, written.strip(), before == "!", quote_mark)


def _mark_before(text: str, at: int) -> str:
    """`!` before an embed, a backslash before brackets that are meant as such, else nothing."""
    before = text[at - 1 : at]
    if before == "!" and text[at - 2 : at - 1] != "\\":
        return "!"
    return "\\" if before == "\\" else ""


def _markdown_links(text: str, quote_mark: str) -> Iterator[Link]:
    for match in _MARKDOWN.finditer(text):
        group = "plain" if match["angle"] is None else "angle"
        whole = match[group]
        before = _mark_before(text, match.start())
        if not whole or before == "\\" or _SCHEME.match(whole):
            continue
        written = whole.partition("#")[0]
        form = Form.MARKDOWN if group == "plain" else Form.ANGLE
        start = match.start(group)
        if written:
            yield Link(form, start, start + len(written), written, unquote(written), before == "!", quote_mark)


def _frontmatter_links(block: str) -> Iterator[Link]:
    """Links in property values; comments hold none."""
    at = 0
    for line in _LINE.findall(block):
        for kind, start, end in _yaml_parts(line):
            part = line[start:end]
            for link in (*_wikilinks(part, kind), *_markdown_links(part, kind)):
                target = link.target.replace("''", "'") if kind == "'" else link.target
                if kind == '"' and "\\" in target:
                    continue
                shift = at + start
                yield Link(link.form, link.start + shift, link.end + shift, link.written, target, link.embed, kind)
        at += len(line)


_YAML_PART: Final = re.compile(
    r"""(?P<double>"(?:[^"\\\n]|\\.)*")|(?P<single>'(?:[^'\n]|'')*')|(?P<comment>(?:^|\s)#.*)"""
)


def _yaml_parts(line: str) -> Iterator[tuple[str, int, int]]:
    """The quoted and the plain parts of a line of YAML, each with its quote (a blank for plain)."""
    at = 0
    for match in _YAML_PART.finditer(line):
        # an apostrophe inside a plain word opens no quote
        if match["comment"] is None and match.start() and line[match.start() - 1] not in " \t:,[{-":
            continue
        if match.start() > at:
            yield " ", at, match.start()
        if match["comment"] is not None:
            return
        yield ('"' if match["double"] else "'"), match.start(), match.end()
        at = match.end()
    yield " ", at, len(line)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def mask(text: str) -> str:
    """`text` with everything blanked, at the same length, that is code or a comment."""
    return _mask_inline(_mask_blocks(text))


def _mask_blocks(text: str) -> str:
    """Fenced and indented code blanked."""
    out: list[str] = []
    fence: re.Match[str] | None = None
    after_blank, in_list, in_code = True, False, False
    for line in _LINE.findall(text):
        bare = line.rstrip("\r\n")
        if fence is not None:
            if fence["prefix"].find(">") >= 0 and not _QUOTE_PREFIX.match(bare):
                fence = None
            else:
                out.append(_blank(line))
                if _closes(fence, bare):
                    fence = None
                continue
        opening = _FENCE.match(bare)
        if opening and not (opening["mark"][0] == "`" and "`" in opening["info"]):
            fence = opening
            out.append(_blank(line))
            after_blank, in_code = False, False
            continue
        blank = not bare.strip()
        indented = _INDENTED.match(bare) is not None
        in_code = indented and not blank and not in_list and (after_blank or in_code)
        if _LIST_ITEM.match(bare):
            in_list = True
        elif not blank and not indented and after_blank:
            in_list = False
        out.append(_blank(line) if in_code else line)
        after_blank = blank
    return "".join(out)


def _closes(fence: re.Match[str], line: str) -> bool:
    inside = re.sub(r"^[ \t]*(?:>[ \t]?)*", "", line).strip()
    return len(inside) >= len(fence["mark"]) and set(inside) == {fence["mark"][0]}


def _mask_inline(text: str) -> str:
    """Code spans, `%%` comments and HTML comments blanked; where one is not closed, its mark is plain text."""
    out: list[str] = []
    at = 0
    position = 0
    unclosed: dict[str, int] = {}
    while (match := _INLINE.search(text, position)) is not None:
        position = match.end()
        # what was searched for in vain up to some place is not searched for again before it
        if unclosed.get(match[0], 0) > position:
            continue
        closed, end = _end_of(match, text)
        if closed:
            out.append(text[at : match.start()])
            out.append(_blank(text[match.start() : end]))
            at = position = end
        else:
            unclosed[match[0]] = end
    out.append(text[at:])
    return "".join(out)


def _end_of(match: re.Match[str], text: str) -> tuple[bool, int]:
    """Whether the mark that opens here is closed, and where it ends; if not, up to where that was looked for."""
    mark = match[0]
    if mark[0] == "`":
        for closing in _CODE_END.finditer(text, match.end()):
            if closing[0][0] == "\n":
                return False, closing.end()
            if closing[0] == mark:
                return True, closing.end()
        return False, len(text)
    closer = {"%%": "%%", "<!--": "-->"}.get(mark)
    if closer is None:
        return False, 0
    end = text.find(closer, match.end())
    return (False, len(text)) if end < 0 else (True, end + len(closer))
