"""A folder of Ombre buckets: each note is a memory already, and is kept as it is.

Properties that vaultd does not know, such as those of later versions, stay; only private parts of the text go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import PurePosixPath
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.errors import UnwritableNote
from vaultd.core.note import NotePath, PropertyValue
from vaultd.core.properties import PropertyReader
from vaultd.llm.redact import strip_private
from vaultd.services.importing.formats.archive import Member
from vaultd.services.importing.formats.markdown import NO_STAMP
from vaultd.services.importing.turns import Event, Findings, LeftOut, WholeNote
from vaultd.vault import codec

FOLDERS: Final = ("dynamic", "permanent", "feel", "archive", "plans", "letters")

_MARKS: Final = (keys.IMPORTANCE, keys.VALENCE, keys.AROUSAL, keys.ACTIVATION_COUNT, keys.LAST_ACTIVE, keys.DOMAIN)
_LEAST_MARKS: Final = 2


def is_bucket(properties: Mapping[str, PropertyValue]) -> bool:
    """Whether a note carries a bucket's properties: an id, and two of the others at least."""
    return bool(properties.get(keys.ID)) and sum(key in properties for key in _MARKS) >= _LEAST_MARKS


def read(member: Member, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """The memory in one file. A note that carries none, or that cannot be read, is counted and left out."""
    if member.size > codec.MAX_NOTE_BYTES:
        findings.leave_out(LeftOut.TOO_LONG)
        findings.warn(f"{member.name} has more than {codec.MAX_NOTE_BYTES >> 20} MiB and is left out")
        return
    with member.open() as stream:
        raw = stream.read(codec.MAX_NOTE_BYTES + 1)
    note = codec.decode(NotePath(member.name), raw, NO_STAMP)
    if note.problem is not None and not note.problem.writable:
        findings.leave_out(LeftOut.UNREADABLE)
        findings.warn(f"{member.name}: {note.problem}; left out")
        return
    if not is_bucket(note.properties):
        findings.leave_out(LeftOut.NOT_A_NOTE)
        findings.warn(f"{member.name} carries no memory and is left out; import it as Markdown")
        return
    kept = strip_private(note.body)
    if kept != note.body:
        findings.leave_out(LeftOut.PRIVATE)
        try:
            raw = codec.replace_body(member.name, raw, kept)
        except UnwritableNote as exc:
            findings.leave_out(LeftOut.UNREADABLE)
            findings.warn(f"{exc}; left out")
            return
    reader = PropertyReader(note.properties, zone)
    created = reader.moment(keys.CREATED)
    if created is None:
        findings.without_time += 1
    name = reader.text(keys.NAME) or member.stem
    yield WholeNote(path_in_vault(member.name), raw, reader.text(keys.ID), name, created, note.properties)


def path_in_vault(name: str) -> str:
    """A bucket's path from its folder's kind on, e.g. `dynamic/日常/…`; the file's name where it is in none of them."""
    parts = PurePosixPath(name).parts
    start = next((at for at, part in enumerate(parts[:-1]) if part.lower() in FOLDERS), len(parts) - 1)
    return "/".join(parts[start:])
