"""What was read of an upload, on disk: texts in one file, conversations with their order in another.

    turns       the texts of all turns, UTF-8, one behind the other
    talks.jsonl {"id", "title", "started", "member", "threads": [turns, …]}, then a line a turn: see places.py
    notes.jsonl {"path", "id", "name", "created", "raw"}

A conversation is in memory message by message, and as columns of places; so an export may be of any size.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, overload

from vaultd.core.properties import parse_moment
from vaultd.core.text import estimate_tokens
from vaultd.services.importing.branches import NO_PARENT, threads
from vaultd.services.importing.places import Place, Places
from vaultd.services.importing.turns import (
    Closing,
    Conversation,
    Findings,
    Format,
    LeftOut,
    Message,
    Turn,
    WholeNote,
)

TURNS_FILE: Final = "turns"
TALKS_FILE: Final = "talks.jsonl"
NOTES_FILE: Final = "notes.jsonl"

_COUNTED_CHARACTERS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it lies in the spool: the current thread, then the turns that each other thread adds."""

    id: str
    title: str
    started: datetime | None
    member: str
    threads: tuple[Places, ...]

    @property
    def current(self) -> Places:
        """The thread that the service shows."""
        return self.threads[0]


class _Tree:
    """The messages of the conversation at hand: where they are, and which comes behind which."""

    def __init__(self) -> None:
        self.places = Places()
        self._known: dict[str, int] = {}
        self._parents = array("q")
        self._later: dict[int, str] = {}

    def add(self, message: Message, place: Place | None) -> None:
        at = len(self._parents)
        self._known[message.id] = at
        if place is None:
            self.places.append_nobody()
        else:
            self.places.append(place)
        parent = NO_PARENT if message.parent is None else self._known.get(message.parent, NO_PARENT)
        self._parents.append(NO_PARENT if parent == at else parent)
        if parent == NO_PARENT and message.parent is not None:
            self._later[at] = message.parent

    def runs(self, leaf: str | None) -> list[list[int]]:
        """The places of each thread's turns; the current one first."""
        for at, parent in self._later.items():  # parents that stand behind their children; others lead nowhere
            found = self._known.get(parent, NO_PARENT)
            self._parents[at] = NO_PARENT if found == at else found
        end = None if leaf is None else self._known.get(leaf)
        return list(threads(self._parents, self.places.speaks, self.places.seconds, end))


class SpoolWriter:
    """Takes the events of an export in order. `close` makes the files whole."""

    def __init__(self, folder: Path, format_: Format, findings: Findings) -> None:
        self._turns = (folder / TURNS_FILE).open("wb")
        self._talks = (folder / TALKS_FILE).open("w", encoding="utf-8")
        self._notes = (folder / NOTES_FILE).open("w", encoding="utf-8")
        self._format = format_
        self._findings = findings
        self._tree = _Tree()
        self._offset = 0
        self._seen: dict[str, str] = {}
        self.talks = 0
        self.notes = 0

    def message(self, message: Message) -> None:
        """Take one message of the conversation at hand."""
        self._tree.add(message, None if message.turn is None else self._write(message.turn))

    def closing(self, closing: Closing, member: str, when: datetime | None) -> None:
        """The conversation at hand is complete. One without turns, and one that was here already, are left out."""
        tree, self._tree = self._tree, _Tree()
        runs = tree.runs(closing.leaf)
        if not runs:
            self._findings.leave_out(LeftOut.NO_CONVERSATION)
            return
        ordered = tree.places.select(at for run in runs for at in run)
        digest = ordered.chain()
        talk_id = closing.id or f"{member}:{ordered.chain(len(runs[0]))[:16]}"
        if self._seen.get(talk_id) == digest:
            self._findings.repeated += 1
            return
        self._seen[talk_id] = digest
        known = closing.started or ordered.earliest
        if known is None:
            self._findings.without_time += 1
        started = known or when
        header = {
            "id": talk_id,
            "title": closing.title,
            "started": None if started is None else started.isoformat(),
            "member": member,
            "threads": [len(run) for run in runs],
        }
        self._talks.write(json.dumps(header, ensure_ascii=False) + "\n")
        self._talks.writelines(f"{line}\n" for line in ordered.lines())
        self.talks += 1

    def drop_open(self) -> None:
        """Forget the conversation at hand: its end is missing."""
        self._tree = _Tree()

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
        hashed = hashlib.blake2b(turn.role.value.encode() + b"\0" + raw, digest_size=8).digest()
        digest = int.from_bytes(hashed, "little")
        place = Place(self._offset, len(raw), turn.role, turn.when, turn.attachments, _tokens(turn.text), digest)
        self._turns.write(raw)
        self._offset += len(raw)
        return place


def _tokens(text: str) -> int:
    """The estimate, made in parts: counting lists the words of what it counts."""
    parts = range(0, len(text), _COUNTED_CHARACTERS)
    return sum(estimate_tokens(text[at : at + _COUNTED_CHARACTERS]) for at in parts)


class SpooledTurns(Sequence[Turn]):
    """Turns that are read from the spool as they are asked for."""

    def __init__(self, file: BinaryIO, places: Places) -> None:
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
        return Turn(place.role, text, place.when, place.attachments, place.tokens)


def talks_in(folder: Path) -> Iterator[Talk]:
    """The conversations in a spool. Of one that came twice under one id, the one with more turns."""
    best: dict[str, tuple[int, int]] = {}
    for number, header in enumerate(_headers(folder)):
        turns = sum(header["threads"])
        if turns >= best.get(header["id"], (0, 0))[0]:
            best[header["id"]] = (turns, number)
    wanted = {number for _, number in best.values()}
    number = -1
    with (folder / TALKS_FILE).open("r", encoding="utf-8") as file:
        for line in file:
            if not line.startswith("{"):
                continue
            number += 1
            if number in wanted:
                header = json.loads(line)
                threads_ = tuple(Places.read(islice(file, count)) for count in header["threads"])
                started = None if header["started"] is None else parse_moment(header["started"])
                yield Talk(header["id"], header["title"], started, header["member"], threads_)


def _headers(folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / TALKS_FILE).open("r", encoding="utf-8") as file:
        for line in file:
            if line.startswith("{"):
                yield json.loads(line)


def notes_in(folder: Path) -> Iterator[WholeNote]:
    """The whole notes in a spool."""
    with (folder / NOTES_FILE).open("r", encoding="utf-8") as file:
        for line in file:
            yield _note(json.loads(line))


def _note(record: Mapping[str, Any]) -> WholeNote:
    created = None if record["created"] is None else parse_moment(record["created"])
    raw = record["raw"].encode("utf-8", "surrogateescape")
    return WholeNote(record["path"], raw, record["id"], record["name"], created)


def conversation_of(talk: Talk, branch: int, file: BinaryIO, format_: Format, *, skip_turns: int = 0) -> Conversation:
    """One thread of a conversation; the first `skip_turns` are left out."""
    places = talk.threads[branch][skip_turns:]
    started = places.earliest if branch or skip_turns else None
    base = Conversation(talk.id, talk.title, talk.started, SpooledTurns(file, places), branch, format_)
    return base if started is None else replace(base, started=started)
