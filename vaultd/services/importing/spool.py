"""What was read of an upload, on disk: texts in one file, conversations with their order in another.

    turns       the texts of all turns, UTF-8, one behind the other
    talks.jsonl {"id", "title", "started", "member", "threads": [[[offset, bytes, role, when, attachments, tokens, digest], …], …]}
    notes.jsonl {"path", "id", "name", "created", "raw"}

A conversation is in memory message by message, and as a list of places; so an export may be of any size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, overload

from vaultd.core.properties import parse_moment
from vaultd.core.text import estimate_tokens
from vaultd.services.importing.branches import Node, threads
from vaultd.services.importing.turns import (
    Closing,
    Conversation,
    Findings,
    Format,
    LeftOut,
    Message,
    Speaker,
    Turn,
    WholeNote,
)

TURNS_FILE: Final = "turns"
TALKS_FILE: Final = "talks.jsonl"
NOTES_FILE: Final = "notes.jsonl"
DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn's text stands, and what is known of it. `tokens` is an estimate; `digest` tells equal turns."""

    offset: int
    length: int
    role: Speaker
    when: datetime | None
    attachments: tuple[str, ...]
    tokens: int
    digest: str

    def written(self) -> list[Any]:
        """As it stands in the file."""
        when = None if self.when is None else self.when.isoformat()
        return [self.offset, self.length, self.role.value, when, list(self.attachments), self.tokens, self.digest]

    @classmethod
    def read(cls, raw: Sequence[Any]) -> Place:
        """From the file."""
        when = None if raw[3] is None else parse_moment(raw[3])
        return cls(raw[0], raw[1], Speaker(raw[2]), when, tuple(raw[4]), raw[5], raw[6])


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it lies in the spool: the current thread, then the turns that each other thread adds."""

    id: str
    title: str
    started: datetime | None
    member: str
    threads: tuple[tuple[Place, ...], ...]

    @property
    def current(self) -> tuple[Place, ...]:
        """The thread that the service shows."""
        return self.threads[0]


def chain_digest(places: Sequence[Place]) -> str:
    """One digest of a run of turns; equal runs have equal ones."""
    return hashlib.blake2b("".join(place.digest for place in places).encode(), digest_size=16).hexdigest()


class SpoolWriter:
    """Takes the events of an export in order. `close` makes the files whole."""

    def __init__(self, folder: Path, format_: Format, findings: Findings) -> None:
        self._turns = (folder / TURNS_FILE).open("wb")
        self._talks = (folder / TALKS_FILE).open("w", encoding="utf-8")
        self._notes = (folder / NOTES_FILE).open("w", encoding="utf-8")
        self._format = format_
        self._findings = findings
        self._nodes: list[Node] = []
        self._places: list[Place | None] = []
        self._offset = 0
        self._known: dict[str, str] = {}
        self.talks = 0
        self.notes = 0

    def message(self, message: Message) -> None:
        """Take one message of the conversation at hand."""
        turn = message.turn
        self._nodes.append(Node(message.id, message.parent, turn is not None, turn.when if turn else None))
        self._places.append(None if turn is None else self._write(turn))

    def closing(self, closing: Closing, member: str, when: datetime | None) -> None:
        """The conversation at hand is complete. One without turns, and one that was here already, are left out."""
        nodes, places = self._nodes, self._places
        self._nodes, self._places = [], []
        runs = tuple(
            tuple(place for at in thread if (place := places[at]) is not None)
            for thread in threads(nodes, closing.leaf)
        )
        if not runs:
            self._findings.leave_out(LeftOut.NO_CONVERSATION)
            return
        talk_id = closing.id or f"{member}:{chain_digest(runs[0])[:16]}"
        digest = chain_digest([place for run in runs for place in run])
        if self._known.get(talk_id) == digest:
            self._findings.repeated += 1
            return
        self._known[talk_id] = digest
        started = closing.started or _earliest(runs) or when
        if not (closing.started or _earliest(runs)):
            self._findings.without_time += 1
        record = {
            "id": talk_id,
            "title": closing.title,
            "started": None if started is None else started.isoformat(),
            "member": member,
            "threads": [[place.written() for place in run] for run in runs],
        }
        self._talks.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.talks += 1

    def drop_open(self) -> None:
        """Forget the conversation at hand: its end is missing."""
        self._nodes, self._places = [], []

    def note(self, note: WholeNote) -> None:
        """A memory that is kept as it is."""
        record = {
            "path": note.path,
            "id": note.id,
            "name": note.name,
            "created": None if note.created is None else note.created.isoformat(),
            "raw": note.raw.decode("utf-8", "surrogateescape"),
        }
        self._notes.write(json.dumps(record) + "\n")
        self.notes += 1

    def close(self) -> None:
        """Bring everything to the disk."""
        for file in (self._turns, self._talks, self._notes):
            file.close()

    def _write(self, turn: Turn) -> Place:
        raw = turn.text.encode("utf-8", "replace")
        hashed = hashlib.blake2b(turn.role.value.encode() + b"\0" + raw, digest_size=DIGEST_BYTES)
        place = Place(
            self._offset,
            len(raw),
            turn.role,
            turn.when,
            turn.attachments,
            estimate_tokens(turn.text),
            hashed.hexdigest(),
        )
        self._turns.write(raw)
        self._offset += len(raw)
        return place


def _earliest(runs: Sequence[Sequence[Place]]) -> datetime | None:
    return min((place.when for run in runs for place in run if place.when is not None), default=None)


class SpooledTurns(Sequence[Turn]):
    """Turns that are read from the spool as they are asked for."""

    def __init__(self, file: BinaryIO, places: Sequence[Place]) -> None:
        self._file = file
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Turn: ...

    @overload
    def __getitem__(self, index: slice) -> SpooledTurns: ...

    def __getitem__(self, index: int | slice) -> Turn | SpooledTurns:
        if isinstance(index, slice):
            return SpooledTurns(self._file, self._places[index])
        place = self._places[index]
        self._file.seek(place.offset)
        text = self._file.read(place.length).decode("utf-8", "replace")
        return Turn(place.role, text, place.when, place.attachments)

    @property
    def places(self) -> Sequence[Place]:
        """Where the turns are."""
        return self._places


def talks_in(folder: Path) -> Iterator[Talk]:
    """The conversations in a spool. Of one that came twice under one id, the one with more turns."""
    last: dict[str, tuple[int, int]] = {}
    for number, record in _records(folder / TALKS_FILE):
        turns = sum(len(run) for run in record["threads"])
        if record["id"] not in last or turns >= last[record["id"]][0]:
            last[record["id"]] = (turns, number)
    wanted = {number for _, number in last.values()}
    for number, record in _records(folder / TALKS_FILE):
        if number in wanted:
            runs = tuple(tuple(Place.read(raw) for raw in run) for run in record["threads"])
            started = None if record["started"] is None else parse_moment(record["started"])
            yield Talk(record["id"], record["title"], started, record["member"], runs)


def notes_in(folder: Path) -> Iterator[WholeNote]:
    """The whole notes in a spool."""
    for _, record in _records(folder / NOTES_FILE):
        created = None if record["created"] is None else parse_moment(record["created"])
        raw = record["raw"].encode("utf-8", "surrogateescape")
        yield WholeNote(record["path"], raw, record["id"], record["name"], created)


def conversation_of(talk: Talk, branch: int, file: BinaryIO, format_: Format, *, skip_turns: int = 0) -> Conversation:
    """One thread of a conversation; the first `skip_turns` are left out."""
    places = talk.threads[branch][skip_turns:]
    started = next((place.when for place in places if place.when is not None), None) if branch or skip_turns else None
    base = Conversation(talk.id, talk.title, talk.started, SpooledTurns(file, places), branch, format_)
    return base if started is None else replace(base, started=started)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("r", encoding="utf-8") as file:
        for number, line in enumerate(file):
            yield number, json.loads(line)
