"""Three-way merge of two versions of a note over the one both began with; what `vaultd merge-file` and git use.

The frontmatter is merged property by property over raw lines, the body line by line. Swapping the two sides gives the
same bytes wherever nothing clashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vaultd.core.errors import UnreadableNote, UnwritableNote
from vaultd.core.note import PropertyValue
from vaultd.vault import bodies, edits, frontmatter
from vaultd.vault.agreement import Disagreement, Judge, Outcome, Union, Version
from vaultd.vault.entries import Entries, entries_of, lines_of
from vaultd.vault.frontmatter import Parts
from vaultd.vault.merge3 import Agreed, Clash, merge3
from vaultd.vault.yamlscalar import same

LABELS: Final = ("ours", "base", "theirs")
LEFT_TO_A_PERSON: Final = 77  # exit code of `merge-file --driver` for markers; no crash ends with it
_PATH: Final = "merge"  # errors of a side are answered by a plain merge, so their path is never seen


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged note; `conflicts` says that markers, or a choice, are left to the person."""

    raw: bytes
    conflicts: bool


def merge_notes(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    *,
    marker_size: int = 7,
    labels: tuple[str, str, str] = LABELS,
) -> Merged:
    """Merge `ours` and `theirs`, both made from `base` (empty where the note is new on both sides). Never raises.

    Labels name ours, base and theirs at the markers; base is not shown. Where a block can't be read, or the bytes are
    no UTF-8, the whole file is merged by lines; bytes that are no text at all are left as ours, as a conflict.
    """
    if ours == theirs or theirs == base:
        return Merged(ours, False)
    if ours == base:
        return Merged(theirs, False)
    if any(b"\0" in raw for raw in (base, ours, theirs)):
        return Merged(ours, True)
    encoding = _encoding((base, ours, theirs))
    sides = _in_one_newline_style([raw.decode(encoding) for raw in (base, ours, theirs)])
    markers = _Markers(
        marker_size, *(label.encode("utf-8", "replace").decode(encoding) for label in (labels[0], labels[2]))
    )
    merged = (_by_properties(sides, markers) if encoding == "utf-8" else None) or _by_lines(sides, markers)
    return Merged(merged.text.encode(encoding), merged.conflicts)


def _encoding(raws: Sequence[bytes]) -> str:
    """UTF-8, or Latin-1 where a side isn't: it keeps any byte, and line by line no more is needed."""
    try:
        for raw in raws:
            raw.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    conflicts: bool


@dataclass(frozen=True, slots=True)
class _Markers:
    size: int
    ours: str
    theirs: str

    def around(self, ours: str, theirs: str, newline: str) -> str:
        """Both versions of a piece, between markers on lines of their own."""
        start, middle, end = (char * self.size for char in "<=>")
        return "".join(
            (
                f"{start} {self.ours}".rstrip() + newline,
                _ended(ours, newline),
                middle + newline,
                _ended(theirs, newline),
                f"{end} {self.theirs}".rstrip() + newline,
            )
        )


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _in_one_newline_style(sides: list[str]) -> list[str]:
    """The sides with the newlines that the merge will have, unless one of them mixes both kinds."""
    styles = [_style(text) for text in sides]
    if "mixed" in styles or len({style for style in styles if style}) < 2:
        return sides
    newline = _agreed(styles[0], styles[1] or styles[0], styles[2] or styles[0])
    return [bodies.unified(text).replace("\n", newline) if newline else text for text in sides]


def _style(text: str) -> str:
    """A text's newline; "mixed" for both, "" for none."""
    breaks, crlf = text.count("\n"), text.count("\r\n")
    if "\r" in text.replace("\r\n", ""):
        return "mixed"
    if not breaks:
        return ""
    return {0: "\n", breaks: "\r\n"}.get(crlf, "mixed")


def _agreed(base: str, ours: str, theirs: str) -> str:
    """The changed one of two small texts; of two changed ones always the same."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else max(ours, theirs)


def _by_lines(sides: Sequence[str], markers: _Markers) -> _Text:
    """The merge of whole texts line by line."""
    newline = bodies.newline_of(*sides[1:], sides[0])
    base, ours, theirs = (lines_of(text) for text in sides)
    out: list[str] = []
    conflicts = False
    for piece in merge3(base, ours, theirs):
        if isinstance(piece, Agreed):
            text = "".join(piece.lines)
        else:
            text = markers.around("".join(piece.ours), "".join(piece.theirs), newline)
            conflicts = True
        if not text:
            continue
        if out and not out[-1].endswith("\n"):
            out.append(newline)  # a last line without newline that is last no more
        out.append(text)
    return _Text("".join(out), conflicts)


@dataclass(frozen=True, slots=True)
class _Side:
    """One version of a note, cut up."""

    parts: Parts
    cut: Entries
    versions: Mapping[str, Version]

    @property
    def layout(self) -> list[tuple[str, str]]:
        """What stands in the block, in order: ("key", key) for a property, ("line", line) between them."""
        header, at = self.parts.header, 0
        out: list[tuple[str, str]] = []
        for entry in self.cut.entries:
            out += [("line", line) for line in lines_of(header[at : entry.start])]
            out.append(("key", entry.key))
            at = entry.end
        return out + [("line", line) for line in lines_of(header[at:])]


def _side(text: str) -> _Side | None:
    """A version cut up; None where it can't be."""
    try:
        parts = frontmatter.part(text)
        properties = frontmatter.properties(parts.header) if parts.has_block else {}
        cut = entries_of(parts.header, _PATH)
    except (UnreadableNote, UnwritableNote):
        return None
    if [entry.key for entry in cut.entries] != list(properties):
        return None
    versions = {
        entry.key: Version(properties[entry.key], parts.header[entry.start : entry.end]) for entry in cut.entries
    }
    return _Side(parts, cut, versions)


def _by_properties(sides: Sequence[str], markers: _Markers) -> _Text | None:
    """The merge property by property; None where a side can't be cut up, or the result would be misread."""
    base, ours, theirs = (_side(text) for text in sides)
    if base is None or ours is None or theirs is None:
        return None
    merge = _Merge(base, ours, theirs, markers)
    try:
        return merge.text()
    except UnwritableNote:
        return None


class _Merge:
    """The merge of three notes that could be cut up."""

    def __init__(self, base: _Side, ours: _Side, theirs: _Side, markers: _Markers) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._markers = markers
        self._newline = bodies.newline_of(ours.parts.opening, theirs.parts.opening, ours.parts.body, theirs.parts.body)
        judge = Judge(base.versions, ours.versions, theirs.versions)
        keys = dict.fromkeys([*base.versions, *sorted({*ours.versions, *theirs.versions})])
        self._outcomes: dict[str, Outcome] = {key: judge.outcome(key) for key in keys}

    def text(self) -> _Text | None:
        header, expected = self._header()
        clash = any(isinstance(outcome, Disagreement) for outcome in self._outcomes.values())
        body = _by_lines([side.parts.body for side in (self._base, self._ours, self._theirs)], self._markers)
        parts = self._framed(header, body.text)
        if not clash and not _reads_as(parts, expected):
            return None
        return _Text(parts.text, clash or body.conflicts)

    def _framed(self, header: str, body: str) -> Parts:
        sides = [side.parts for side in (self._base, self._ours, self._theirs)]
        bom = _agreed(*(side.bom for side in sides))
        opening = _agreed(*(side.opening for side in sides))
        closing = _agreed(*(side.closing for side in sides))
        if header:
            opening = opening or max(side.opening for side in sides)
            closing = closing or max(side.closing for side in sides)
        if not opening or not closing:
            return Parts(bom, "", "", "", body)
        return Parts(bom, opening, header, _ended(closing, self._newline) if body else closing, body)

    def _header(self) -> tuple[str, dict[str, PropertyValue]]:
        """The merged lines of the block, and what they should say where nothing clashes."""
        out: list[str] = []
        expected: dict[str, PropertyValue] = {}
        for kind, text in self._layout():
            outcome = self._outcomes[text] if kind == "key" else None
            if kind == "line":
                out.append(text)
            elif outcome is not None and text not in expected:
                lines, expected[text] = self._lines(text, outcome)
                out.append(lines)
        return "".join(out), expected

    def _layout(self) -> list[tuple[str, str]]:
        """The order of properties, comments and blank lines; where both sides put in something, both have it."""
        ours, theirs = self._ours.layout, self._theirs.layout
        # A property that one side took out counts as put in by the other: whether it stays is decided elsewhere.
        base = [token for token in self._base.layout if token[0] == "line" or (token in ours and token in theirs)]
        out: list[tuple[str, str]] = []
        for piece in merge3(base, ours, theirs):
            out += piece.lines if isinstance(piece, Agreed) else _both(piece)
        return [*out, *(token for key in self._outcomes if (token := ("key", key)) not in out)]

    def _lines(self, key: str, outcome: Version | Union | Disagreement) -> tuple[str, PropertyValue]:
        """A property's lines, and the value they should have."""
        if isinstance(outcome, Version):
            return outcome.lines, outcome.value
        if isinstance(outcome, Union):
            return self._united(key, outcome.items), outcome.items
        ours, theirs = (side.versions[key].lines if key in side.versions else "" for side in (self._ours, self._theirs))
        return self._markers.around(ours, theirs, self._newline), None

    def _united(self, key: str, items: list[PropertyValue]) -> str:
        """A list's lines, made from the side that has more of them."""
        sides = [side for side in (self._ours, self._theirs) if key in side.versions]
        side = max(sides, key=lambda side: (len(side.versions[key].lines), side.versions[key].lines))
        entry = side.cut.find(key)
        if entry is None:
            raise UnwritableNote(_PATH, f"{key!r} has no lines")
        return edits.changed_lines(side.parts.header, entry, side.versions[key].value, items, _PATH)


def _both(piece: Clash[tuple[str, str]]) -> list[tuple[str, str]]:
    """What either side has at a place, less the comments that either took out."""
    one, other = sorted((list(piece.ours), list(piece.theirs)))
    gone = {token for token in piece.base if token[0] == "line" and (token not in one or token not in other)}
    return [token for token in (*one, *(token for token in other if token not in one)) if token not in gone]


def _reads_as(parts: Parts, expected: Mapping[str, PropertyValue]) -> bool:
    """Whether the merged note says what was decided, and its parts stand where they should."""
    try:
        again = frontmatter.part(parts.text)
        properties = frontmatter.properties(again.header) if again.has_block else {}
    except UnreadableNote:
        return False
    alike = properties.keys() == expected.keys() and all(same(properties[key], expected[key]) for key in expected)
    return alike and again.body == parts.body
