"""The frame that JSON exports share: a list of conversations, each with messages in a list or in a mapping.

    [ {…}, {…} ]      {"conversations": [ {…} ]}      {…} alone, or several one behind the other

Messages are read one at a time; a conversation's own fields may stand before or behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final, TypeAlias

from vaultd.services.importing.formats.fields import LONGEST_FIELD_BYTES, LONGEST_MESSAGE_BYTES
from vaultd.services.importing.jsonstream import JsonReader, TooLong
from vaultd.services.importing.turns import Closing, Event, Findings, LeftOut, Message

Foreign: TypeAlias = Mapping[str, Any]

WRAPPERS: Final = ("conversations", "data", "chats", "items")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Where a message stands: its key in a mapping or its number in a list, and the id of the one before it."""

    key: str
    before: str | None


@dataclass(frozen=True, slots=True)
class Shape:
    """How one service writes a conversation.

    `messages` is the key under which its messages stand. `message` reads one, given its key in a mapping or its place in
    a list, and the id of the one before it; `closing` reads a conversation's own fields.
    """

    messages: str
    message: Callable[[Foreign, Neighbour, tzinfo, Findings], Message]
    closing: Callable[[Foreign, tzinfo], Closing]


def conversations(reader: JsonReader, shape: Shape, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """The messages of each conversation, then its closing. Raises BrokenJson; what came before it is whole."""
    while top := reader.kind():
        if top != "[":
            yield from _conversation(reader, shape, zone, findings)
            continue
        for kind in reader.items():
            if kind == "{":
                yield from _conversation(reader, shape, zone, findings)
            else:
                findings.leave_out(LeftOut.NO_CONVERSATION)


def bare_list(reader: JsonReader, shape: Shape, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """A file that is nothing but one conversation's list of messages. Raises BrokenJson."""
    yield from _messages(reader, shape, zone, findings)
    yield shape.closing({}, zone)
    reader.finish()


def _conversation(reader: JsonReader, shape: Shape, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    fields: dict[str, Any] = {}
    count = 0
    wrapped = False
    for key in reader.members():
        if key == shape.messages and reader.kind() in "[{":
            for message in _messages(reader, shape, zone, findings):
                count += 1
                yield message
        elif key in WRAPPERS and reader.kind() == "[" and not count:
            wrapped = True
            for kind in reader.items():
                if kind == "{":
                    yield from _conversation(reader, shape, zone, findings)
        elif reader.kind() not in "[{":
            try:
                fields[key] = reader.value(LONGEST_FIELD_BYTES)
            except TooLong:
                continue
    if count or not wrapped:
        yield shape.closing(fields, zone)


def _messages(reader: JsonReader, shape: Shape, zone: tzinfo, findings: Findings) -> Iterator[Message]:
    before: str | None = None
    in_list = reader.kind() == "["
    for place, label in enumerate(reader.items() if in_list else reader.members()):
        key = str(place) if in_list else label
        if reader.kind() != "{":
            findings.leave_out(LeftOut.EMPTY)
            continue
        message = shape.message(_message(reader, findings), Neighbour(key, before), zone, findings)
        before = message.id
        yield message


def _message(reader: JsonReader, findings: Findings) -> dict[str, Any]:
    """One message, member by member: of one that is too long, its id and its place in the tree are still read."""
    whole = reader.value_at_hand()
    if isinstance(whole, dict):
        return whole
    raw: dict[str, Any] = {}
    for key in reader.members():
        try:
            raw[key] = reader.value(LONGEST_MESSAGE_BYTES)
        except TooLong as exc:
            findings.leave_out(LeftOut.TOO_LONG)
            findings.warn(
                f"{key!r} of a message at byte {exc.offset} has {exc.size / 2**20:.0f} MiB and is left out; "
                f"{LONGEST_MESSAGE_BYTES >> 20} MiB is the most"
            )
    return raw
