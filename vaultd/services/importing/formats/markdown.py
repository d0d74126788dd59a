"""Markdown: saved chats and documents, in files and folders. The frontmatter gives title and date and is not text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from itertools import chain, islice
from typing import Final

from vaultd.core.note import FileStamp, NotePath, PropertyValue
from vaultd.services.importing.cleaning import one_line
from vaultd.services.importing.formats.archive import Member
from vaultd.services.importing.formats.dialogue import is_dialogue, turns_of
from vaultd.services.importing.formats.lines import lines_of, text_encoding
from vaultd.services.importing.times import moment_of
from vaultd.services.importing.turns import Closing, Event, Findings
from vaultd.vault import codec

LONGEST_FRONTMATTER_LINES: Final = 500
NO_STAMP: Final = FileStamp(0, 0, 0)

_DATE: Final = re.compile(r"(?<!\d)(\d{4})[-_.年]?(\d{2})[-_.月]?(\d{2})(?!\d)")
_DATES: Final = ("created", "created_at", "date", "start", "started", "create_time", "time", "updated", "modified")
_TITLES: Final = ("title", "name")
_HEADING: Final = re.compile(r"#\s+(?P<title>\S.*)")


def read(member: Member, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """One conversation or document, named by its frontmatter, its first heading or its file."""
    encoding = text_encoding(member, findings)
    if encoding is None:
        return
    properties, skipped = frontmatter_of(member, encoding)

    def body() -> Iterator[str]:
        return islice(lines_of(member, encoding), skipped, None)

    dialogue = is_dialogue(body())
    yield from turns_of(body(), dialogue=dialogue, zone=zone, findings=findings)
    title = next((line for key in _TITLES if (line := one_line(properties.get(key)))), "")
    yield Closing("", title or _heading(body()) or one_line(member.stem), _started(properties, member, zone))


def frontmatter_of(member: Member, encoding: str) -> tuple[dict[str, PropertyValue], int]:
    """The properties on top of a note, and how many lines they take; none and 0 where there are none."""
    start = list(islice(lines_of(member, encoding), LONGEST_FRONTMATTER_LINES))
    if not start or start[0].rstrip() != "---":
        return {}, 0
    end = next((at for at, line in enumerate(start[1:], start=1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return {}, 0
    block = "\n".join(chain(start[: end + 1], ("",)))
    note = codec.decode(NotePath(member.name), block.encode("utf-8", "replace"), NO_STAMP)
    return (dict(note.properties), end + 1) if note.problem is None else ({}, 0)


def date_in(name: str, zone: tzinfo) -> datetime | None:
    """The date in a file's name, as midnight in `zone`."""
    match = _DATE.search(name)
    if match is None:
        return None
    return moment_of("-".join(match.groups()), zone)


def _started(properties: dict[str, PropertyValue], member: Member, zone: tzinfo) -> datetime | None:
    written = next((moment for key in _DATES if (moment := moment_of(properties.get(key), zone))), None)
    return written or date_in(member.stem, zone) or member.when


def _heading(lines: Iterator[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    match = _HEADING.match(first)
    return one_line(match["title"]) if match else ""
