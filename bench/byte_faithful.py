"""Add, change and remove each property that vaultd owns in each note of some vaults, and compare every other byte.

    python bench/byte_faithful.py [--npm-yaml DIR] [--generated N] VAULT ...

The vaults are only read. What changed is judged by bytes, without the code that made the change: an added property is
one run of inserted lines; a removed one is one run of lines gone (comments stay; an emptied block goes whole); a changed
one differs within its own lines alone.
With --npm-yaml, the package that Obsidian reads frontmatter with has the last word on the values before and after.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.npm_yaml import Answer, NpmYaml, comparable
from tests.torture import random_note
from vaultd.core.errors import UnwritableNote
from vaultd.core.note import FileStamp, NotePath
from vaultd.core.properties import BUCKET_KEYS, CARD_KEYS, Shape, spec_of
from vaultd.vault import frontmatter
from vaultd.vault.codec import REMOVE, decode, set_properties
from vaultd.vault.edits import NewValue, readable

KEYS = tuple(dict.fromkeys((*BUCKET_KEYS, *CARD_KEYS)))
VALUES: dict[Shape, tuple[NewValue, NewValue]] = {
    Shape.TEXT: ("0123456789e1", 'it\'s "面试": a #1'),
    Shape.LIST: (["实习", "yes"], ["实习", "a, b", "2026-01-31"]),
    Shape.NUMBER: (0.3, 1.0),
    Shape.WHOLE: (7, 10),
    Shape.CHECKBOX: (True, False),
    Shape.MOMENT: (datetime(2026, 1, 31, 10, tzinfo=UTC), datetime(2026, 2, 3, 21, 14, 9, tzinfo=UTC)),
}
_TOP_LEVEL_KEY = re.compile(rb"[^\s#\-\]}][^\r\n]*?:(?:[ \t\r\n]|\Z)")
_LONE_PROPERTY = re.compile(  # a block that holds one property alone, perhaps behind blank lines
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?:\s*\n)?( *)[^\s#-][^\n]*\n(?:\1[ \t-][^\n]*\n|\s*\n)*?---[ \t]*(?:\r?\n|\Z)"
)
_STAMP = FileStamp(0, 0, 0)


@dataclass
class Tally:
    """What came of one vault."""

    notes: int = 0
    with_block: int = 0
    writes: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    read: int = 0
    misread: list[str] = field(default_factory=list)


def run_of_difference(before: bytes, after: bytes) -> tuple[int, int, int]:
    """Where the two part: (start, end in before, end in after)."""
    limit = min(len(before), len(after))
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    start = low
    low, high = 0, limit - start
    while low < high:
        middle = (low + high + 1) // 2
        same = before[len(before) - middle :] == after[len(after) - middle :]
        low, high = (middle, high) if same else (low, middle - 1)
    return start, len(before) - low, len(after) - low


def own_lines(raw: bytes, key: str) -> tuple[int, int]:
    """The bytes from a key's line to the next key's line or the block's end, found by looking at line starts alone."""
    spelled = re.compile(rb"[ ]*(?:%b|\"%b\"|'%b')[ \t]*:(?=\s|\Z)" % ((re.escape(key.encode()),) * 3))
    offset, start = 0, -1
    for number, line in enumerate(raw.split(b"\n")):
        bare = line.lstrip(b"\xef\xbb\xbf") if number == 0 else line
        if start < 0 and number and spelled.match(bare):
            start = offset
        elif start >= 0 and (
            bare.rstrip() in (b"---", b"...")
            or (_TOP_LEVEL_KEY.match(bare.lstrip(b" ")) and _outdented(raw, start, bare))
        ):
            return start, offset
        offset += len(line) + 1
    return start, len(raw)


def _outdented(raw: bytes, start: int, line: bytes) -> bool:
    key_line = raw[start:].split(b"\n", 1)[0]
    return len(line) - len(line.lstrip(b" ")) <= len(key_line) - len(key_line.lstrip(b" "))


def fault_of(kind: str, key: str, before: bytes, after: bytes) -> str | None:
    """What is wrong with a change, or None."""
    start, before_end, after_end = run_of_difference(before, after)
    if kind == "add":
        fine = start >= before_end and key.encode() in after
    else:
        low, high = own_lines(before, key)
        tail = len(before) - high
        fine = before[:low] == after[:low] and before[high:] == after[len(after) - tail :] and len(after) >= low + tail
        if kind == "remove":
            stays = after[low : len(after) - tail].split(b"\n")
            fine = fine and all(not line.strip() or line.lstrip().startswith(b"#") for line in stays)
            fine = fine or (before[:start] + before[before_end:] == after and _LONE_PROPERTY.match(before) is not None)
    return None if fine else f"{kind} {key}: {before[start:before_end]!r} became {after[start:after_end]!r}"


def _header(raw: bytes) -> str:
    return frontmatter.part(raw.decode()).header


class Run:
    """All changes on all notes of one vault."""

    def __init__(self, package: NpmYaml | None) -> None:
        self.tally = Tally()
        self._package = package
        self._readings: list[tuple[str, str, str, NewValue | None]] = []

    def ask_package(self, at_least: int = 1) -> None:
        """Compare the values of the changes so far, once there are enough of them."""
        if self._package is None or len(self._readings) < at_least:
            return
        self.tally.misread += reading_faults(self._package, self._readings)
        self.tally.read += len(self._readings)
        self._readings.clear()

    def note(self, name: str, raw: bytes) -> None:
        """Every owned key: added, changed and removed where it is absent; changed and removed where it stands."""
        self.tally.notes += 1
        note = decode(NotePath(name), raw, _STAMP)
        if note.problem is not None:
            self.tally.refused[re.sub(r"0x\w+|\d+|'.*'", "…", note.problem.reason)[:60]] += 1
            return
        self.tally.with_block += frontmatter.part(raw.decode()).has_block
        for key in KEYS:
            first, second = VALUES[spec_of(key).shape]
            if key not in note.properties:
                self._add_change_remove(name, raw, key, first, second)
                continue
            self._write(name, "change", key, raw, first)
            self._write(name, "change", key, raw, second)
            self._write(name, "remove", key, raw, None)

    def _add_change_remove(self, name: str, raw: bytes, key: str, first: NewValue, second: NewValue) -> None:
        added = self._write(name, "add", key, raw, first)
        if added is None:
            return
        changed = self._write(name, "change", key, added, second)
        if changed is None:
            return
        removed = self._write(name, "remove", key, changed, None, compare=False)
        if removed != raw:
            self.tally.faults.append(f"{name}: adding, changing and removing {key} does not give the first bytes back")

    def _write(
        self, name: str, kind: str, key: str, raw: bytes, value: NewValue | None, *, compare: bool = True
    ) -> bytes | None:
        try:
            changed = set_properties(name, raw, {key: REMOVE if value is None else value})
        except UnwritableNote as exc:
            self.tally.refused[re.sub(r"'[^']*'", "…", exc.reason)[:60]] += 1
            return None
        self.tally.writes += 1
        fault = fault_of(kind, key, raw, changed) if compare and changed != raw else None
        if fault:
            self.tally.faults.append(f"{name}: {fault}")
        if self._package is not None and compare:
            self._readings.append((_header(raw), _header(changed), key, value))
        return changed


def reading_faults(package: NpmYaml, readings: Iterable[tuple[str, str, str, NewValue | None]]) -> Iterator[str]:
    """Where the package reads another value than was written, or another property than before."""
    rows = list(readings)
    texts = list(dict.fromkeys(text for before, after, _, _ in rows for text in (before, after)))
    answers: dict[str, Answer] = dict(zip(texts, package.read(texts), strict=True))
    for before, after, key, value in rows:
        old, new = answers[before], answers[after]
        expected = dict(old.value) if isinstance(old.value, dict) else {}
        expected.pop(key, None)
        if value is not None:
            expected[key] = comparable(readable(value))
        if new.error or (new.value or {}) != expected:
            yield f"{key}: the package reads {new.error or new.value!r} in {after!r}"


def notes_of(vault: Path) -> Iterator[tuple[str, bytes]]:
    """Every Markdown file below a folder."""
    for path in sorted(vault.rglob("*")):
        if path.suffix.lower() == ".md" and path.is_file():
            yield str(path.relative_to(vault)), path.read_bytes()


def main() -> None:
    """Print a line a vault; exit 1 where a byte or a value differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vaults", nargs="*", type=Path)
    parser.add_argument("--npm-yaml", type=Path, help="folder where `npm install yaml` was run")
    parser.add_argument("--generated", type=int, default=0, help="also this many notes of the torture generator")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    package = NpmYaml(arguments.npm_yaml) if arguments.npm_yaml else None
    rng = random.Random(arguments.seed)
    sources: list[tuple[str, Iterable[tuple[str, bytes]]]] = [
        (vault.name, notes_of(vault)) for vault in arguments.vaults
    ]
    if arguments.generated:
        sources.append(("generated", ((f"note {n}", random_note(rng)) for n in range(arguments.generated))))
    faulty = False
    for name, notes in sources:
        started = time.process_time()
        run = Run(package)
        for path, raw in notes:
            run.note(path, raw)
            run.ask_package(20_000)
        run.ask_package()
        tally = run.tally
        seconds = time.process_time() - started
        print(
            f"{name}: {tally.notes} notes ({tally.with_block} with frontmatter), {tally.writes} writes, "
            f"{len(tally.faults)} with a wrong byte, {tally.read} read by the package, {len(tally.misread)} otherwise, "
            f"{seconds / max(1, tally.writes) * 1000:.2f} ms CPU a write with its check"
        )
        for reason, count in tally.refused.most_common(12):
            print(f"    refused {count}: {reason}")
        for fault in [*tally.faults, *tally.misread][:10]:
            print(f"    FAULT {fault[:400]}")
        faulty |= bool(tally.faults or tally.misread)
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
