"""Bytes to `Note`, and changes back to bytes.

Reading never raises: what can't be read whole comes with a `NoteProblem`. Writing touches the lines of the changed
properties alone, reads its own result again, and refuses where anything else would differ. Nothing is ever dumped anew.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Final

from vaultd.core.errors import UnreadableNote, UnwritableNote
from vaultd.core.note import FileStamp, Note, NotePath, NoteProblem, PropertyValue
from vaultd.core.properties import ID, parse_moment
from vaultd.core.text import clean_text
from vaultd.vault import bodies, edits, frontmatter
from vaultd.vault.edits import NewValue
from vaultd.vault.entries import Entries, entries_of
from vaultd.vault.frontmatter import Parts
from vaultd.vault.markers import conflict_line, has_conflict_markers
from vaultd.vault.yamlscalar import same

__all__ = [
    "REMOVE",
    "Remove",
    "body_of",
    "checksum",
    "decode",
    "has_conflict_markers",
    "new_note",
    "replace_body",
    "set_properties",
]

MAX_NOTE_BYTES: Final = 10 * 1024 * 1024

_NUMBER_AS_ID: Final = re.compile(r"^id:[ \t]+([0-9][\w.+-]*)[ \t]*(?:[ \t]#.*)?\r?$", re.MULTILINE | re.ASCII)
_NOWHERE: Final = timezone(timedelta(0), "no zone written")  # told from UTC by identity


class Remove(Enum):
    """The type of the value that takes a property out."""

    REMOVE = "remove"


REMOVE: Final = Remove.REMOVE


def checksum(raw: bytes) -> str:
    """BLAKE2b of 128 bits, as 32 hex characters."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def decode(path: NotePath, raw: bytes, stamp: FileStamp) -> Note:
    """Read a note. Never raises: what is wrong is in the note's `problem`, and its body is given as far as it can be.

    The body's newlines are `\\n`, however the file has them.
    """
    parts, properties, problem = _read(raw)
    read = _with_written_id(properties, parts.header)
    return Note(path, read, bodies.unified(parts.body), checksum(raw), stamp, problem)


def body_of(raw: bytes) -> str:
    """The body of a note that is known to have no problem, as `decode` gives it, without reading its properties."""
    text, _ = _text(raw)
    return bodies.unified(frontmatter.part(text).body)


def _with_written_id(properties: Mapping[str, PropertyValue], header: str) -> Mapping[str, PropertyValue]:
    """One id in 250 is a number to YAML (`12e345678901` is infinity); to whoever wrote it, it is what stands there."""
    if not isinstance(properties.get(ID), int | float):
        return properties
    written = _NUMBER_AS_ID.search(header)
    return properties if written is None else {**properties, ID: written[1]}


def set_properties(path: str, raw: bytes, changes: Mapping[str, NewValue | Remove]) -> bytes:
    """The note with these properties set, or taken out where REMOVE is given; every other byte as it was.

    Raises UnwritableNote, with nothing done, where that can't be.
    """
    parts, properties, problem = _read(raw)
    _refuse(path, problem)
    wanted = {key: value for key, value in changes.items() if not _holds(properties, key, value)}
    if not wanted:
        return raw
    edited = _edited(path, parts, properties, wanted)
    new = _encoded(path, edited.text)
    expected = {key: value for key, value in properties.items() if wanted.get(key) is not REMOVE}
    expected.update({key: edits.readable(value) for key, value in wanted.items() if not isinstance(value, Remove)})
    _refuse(path, _check(path, new, expected, parts.body))
    return new


def replace_body(path: str, raw: bytes, body: str) -> bytes:
    """The note with another body; its frontmatter and the lines that stay keep their bytes, the rest its newline style.

    Raises UnwritableNote, with nothing done, where the note can't be read whole or the body would be read as properties.
    """
    parts, properties, problem = _read(raw)
    _refuse(path, problem)
    head = parts.bom + parts.opening + parts.header + parts.closing
    if parts.has_block and body and not head.endswith("\n"):
        head += bodies.newline_of(head)
    new_body = bodies.rewritten(parts.body, clean_text(body), bodies.newline_of(parts.body, parts.opening))
    new = _encoded(path, head + new_body)
    _refuse(path, _check(path, new, properties, new_body))
    return new


def new_note(properties: Mapping[str, NewValue], body: str) -> bytes:
    """A new note: its properties in this order, then its body, with `\\n` newlines.

    A text is never refused: not even one that holds conflict markers, which makes the note read-only afterwards.
    Raises UnwritableNote where a value can't be written as YAML.
    """
    lines = (edits.new_lines(key, value, indent="", newline="\n") for key, value in properties.items())
    body = clean_text(body)
    block = f"---\n{''.join(lines)}---\n"
    raw = _encoded("new note", block + body)
    _check("new note", raw, {key: edits.readable(value) for key, value in properties.items()}, body)
    return raw


def _read(raw: bytes) -> tuple[Parts, dict[str, PropertyValue], NoteProblem | None]:
    """A note's text in parts, its properties, and what is wrong with it."""
    if len(raw) > MAX_NOTE_BYTES:
        reason = f"the note is {len(raw):,} bytes long, more than {MAX_NOTE_BYTES:,}"
        return Parts("", "", "", "", ""), {}, NoteProblem(reason)
    text, wrong_bytes = _text(raw)
    try:
        parts = frontmatter.part(text)
        wrong_lines = _conflict(text, parts)
        properties = frontmatter.properties(parts.header) if parts.has_block else {}
    except UnreadableNote as exc:
        whole = Parts("", "", "", "", text.removeprefix(frontmatter.BOM))
        return whole, {}, wrong_bytes or _conflict(text, whole) or NoteProblem(exc.reason, exc.line)
    return parts, properties, wrong_bytes or wrong_lines


def _text(raw: bytes) -> tuple[str, NoteProblem | None]:
    """The bytes as text, with U+FFFD for what isn't UTF-8 and without NULs, and what is wrong with them."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace"), NoteProblem("the bytes are UTF-16, not UTF-8 (byte 0)", 1)
    problem = None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        text = raw.decode("utf-8", "replace")
        reason = f"byte 0x{raw[exc.start]:02X} at offset {exc.start} is not UTF-8"
        problem = NoteProblem(reason, raw.count(b"\n", 0, exc.start) + 1)
    if "\0" not in text:
        return text, problem
    if problem is not None:
        return "", problem  # neither text nor UTF-16: a picture, a database
    offset = raw.index(b"\0")
    return text.replace("\0", ""), NoteProblem(f"a NUL byte stands at offset {offset}", raw.count(b"\n", 0, offset) + 1)


def _conflict(text: str, parts: Parts) -> NoteProblem | None:
    head_lines = (parts.opening + parts.header + parts.closing).count("\n")
    line = conflict_line(text.removeprefix(frontmatter.BOM), head_lines)
    return None if line is None else NoteProblem("conflict markers of a merge that was not finished", line)


def _refuse(path: str, problem: NoteProblem | None) -> None:
    if problem is not None and not problem.writable:
        raise UnwritableNote(path, str(problem))


def _holds(properties: Mapping[str, PropertyValue], key: str, value: NewValue | Remove) -> bool:
    """Whether the note says this already."""
    if isinstance(value, Remove):
        return key not in properties
    if key not in properties:
        return False
    old, new = properties[key], edits.readable(value)
    return same(old, new) or (isinstance(value, datetime) and isinstance(old, str) and _same_moment(old, str(new)))


def _same_moment(old: str, new: str) -> bool:
    """Whether both are one instant by what is written, offset included."""
    moments = [parse_moment(text, _NOWHERE) for text in (old, new)]
    return moments[0] == moments[1] is not None and all(moment and moment.tzinfo is not _NOWHERE for moment in moments)


def _edited(
    path: str, parts: Parts, properties: Mapping[str, PropertyValue], wanted: Mapping[str, NewValue | Remove]
) -> Parts:
    if not parts.has_block:
        newline = bodies.newline_of(parts.body)
        lines = _appended(wanted, properties, indent="", newline=newline)
        return Parts(parts.bom, "---" + newline, lines, "---" + newline, parts.body)
    header = parts.header
    cut = entries_of(header, path)
    _keep_anchors(path, cut, wanted)
    newline = bodies.newline_of(header[header.rfind("\n", 0, -1) + 1 :], parts.opening)
    added = _appended(wanted, properties, indent=cut.indent, newline=newline)
    if not cut.entries:
        # One blank line marks a block that was empty before us, so that taking the property out gives it back.
        return parts.with_header(header + newline + added)
    new_header = _with_changes(path, header, cut, properties, wanted) + added
    emptied = not added and all(wanted.get(entry.key) is REMOVE for entry in cut.entries)
    return _without_properties(parts, new_header) if emptied else parts.with_header(new_header)


def _with_changes(
    path: str,
    header: str,
    cut: Entries,
    properties: Mapping[str, PropertyValue],
    wanted: Mapping[str, NewValue | Remove],
) -> str:
    """The header with other lines for the wanted properties that it has."""
    out, at = [], 0
    for entry in cut.entries:
        if entry.key not in wanted:
            continue
        value = wanted[entry.key]
        out.append(header[at : entry.start])
        if isinstance(value, Remove):
            out.append(edits.removed_lines(header, entry))
        else:
            out.append(edits.changed_lines(header, entry, properties.get(entry.key), value, path))
        at = entry.end
    return "".join([*out, header[at:]])


def _appended(
    wanted: Mapping[str, NewValue | Remove], properties: Mapping[str, PropertyValue], *, indent: str, newline: str
) -> str:
    return "".join(
        edits.new_lines(key, value, indent=indent, newline=newline)
        for key, value in wanted.items()
        if key not in properties and not isinstance(value, Remove)
    )


def _without_properties(parts: Parts, header: str) -> Parts:
    """The note after its last property went: without the block, unless something else stands in it."""
    if header:
        return parts.with_header(re.sub(r"(\A|\n)\r?\n\Z", r"\1", header))
    bare = Parts(parts.bom, "", "", "", parts.body)
    return parts.with_header("") if frontmatter.opens_block(parts.body) else bare


def _keep_anchors(path: str, cut: Entries, wanted: Mapping[str, object]) -> None:
    """Refuse to touch a value that another one refers to."""
    for entry in cut.entries:
        if entry.key not in wanted:
            continue
        for other in cut.entries:
            if other is not entry and entry.anchors & other.aliases:
                raise UnwritableNote(path, f"{other.key!r} refers to the value of {entry.key!r} by an alias")


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise UnwritableNote(path, "the text holds half a character, which UTF-8 can't hold") from exc


def _check(path: str, raw: bytes, expected: Mapping[str, PropertyValue], body: str) -> NoteProblem | None:
    """Read the new bytes, and refuse them unless they say what they should and nothing else. The problem they have."""
    parts, properties, problem = _read(raw)
    wrong = [key for key in {**expected, **properties} if key not in expected or key not in properties]
    wrong += [key for key in expected if key in properties and not same(properties[key], expected[key])]
    if wrong:
        misread = f"the change would be misread at {wrong[0]!r}; edit the note by hand"
        raise UnwritableNote(path, misread if problem is None else str(problem))
    if parts.body != body:
        raise UnwritableNote(path, "the change would move the frontmatter's end; edit the note by hand")
    return problem
