"""Plain text: a chat with labels at the start of lines, or a document."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from vaultd.services.importing.cleaning import one_line
from vaultd.services.importing.formats.archive import Member
from vaultd.services.importing.formats.dialogue import is_dialogue, turns_of
from vaultd.services.importing.formats.lines import lines_of, text_encoding
from vaultd.services.importing.formats.markdown import date_in
from vaultd.services.importing.turns import Closing, Event, Findings


def read(member: Member, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """One conversation, named after its file."""
    encoding = text_encoding(member, findings)
    if encoding is None:
        return
    dialogue = is_dialogue(lines_of(member, encoding))
    yield from turns_of(lines_of(member, encoding), dialogue=dialogue, zone=zone, findings=findings)
    yield Closing("", one_line(member.stem), date_in(member.stem, zone) or member.when)
