"""What an import is going to do, chunk by chunk, on disk before anything is done.

chunks.jsonl  {"n", "source", "title", "part", "parts", "when", "created", "tokens", "requests", "text", "ledger"}
              {"n", "source", "note": {"path", "id", "name", "created", "raw"}, "ledger"}
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from vaultd.core.properties import parse_moment
from vaultd.core.text import estimate_tokens
from vaultd.llm.chat import SPLIT_LIMIT
from vaultd.llm.parts import name_from
from vaultd.llm.prompt import Language, Task, language_of, prompt_for
from vaultd.services.importing import chunks
from vaultd.services.importing.jobs import Branches, ImportOptions, Mode
from vaultd.services.importing.ledger import Ledger, entry_of, entry_of_note
from vaultd.services.importing.spool import TURNS_FILE, Talk, conversation_of, notes_in, talks_in
from vaultd.services.importing.turns import FORMAT_NAMES, Conversation, Format, WholeNote

CHUNKS_FILE: Final = "chunks.jsonl"
ANSWER_TOKENS: Final = 400  # of a split: some four memories, by numbers of sentences
_HELD_BYTES: Final = 4 << 20  # of a conversation whose chunks are held until they are counted
_NO_DAY: Final = datetime(1970, 1, 1, tzinfo=UTC)  # a whole note says itself when it was made
NUMBERING: Final = 1.15  # what numbers before sentences add to a text


@dataclass(slots=True)
class Plan:
    """What is going to happen, counted; requests and tokens are estimates."""

    chunks: int = 0
    conversations: int = 0
    turns: int = 0
    notes: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    known_conversations: int = 0
    known_turns: int = 0
    known_notes: int = 0


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """One step of an import. `when` is the day it was talked on, to reckon "yesterday" from; `note` is kept whole."""

    number: int
    source: str
    title: str
    part: int
    parts: int
    when: datetime
    text: str
    tokens: int
    requests: int
    ledger: Mapping[str, Any] | None = None
    note: WholeNote | None = None


def write_plan(folder: Path, format_: Format, options: ImportOptions, *, ledger: Ledger, fallback: datetime) -> Plan:
    """Write the chunks of a spooled upload. `fallback` dates what has no date of its own."""
    plan = Plan()
    fresh = folder / f".{CHUNKS_FILE}.new"
    with fresh.open("w", encoding="utf-8") as out, (folder / TURNS_FILE).open("rb") as turns:
        for talk in talks_in(folder):
            wanted = range(len(talk.threads) if options.branches is Branches.ALL else 1)
            before = plan.chunks
            for branch in wanted:
                for record in _thread(talk, branch, turns, format_, options, ledger, plan, fallback):
                    _write(out, record, plan)
            plan.conversations += plan.chunks > before
        for note in notes_in(folder):
            if not options.again and ledger.knows(note):
                plan.known_notes += 1
                continue
            plan.notes += 1
            _write(out, _note_record(note, format_), plan)
    fresh.replace(folder / CHUNKS_FILE)
    return plan


def planned(folder: Path) -> Iterator[PlannedChunk]:
    """The chunks that are planned, in order."""
    with (folder / CHUNKS_FILE).open("r", encoding="utf-8") as file:
        for line in file:
            yield _read(json.loads(line))


@cache
def prompt_tokens(language: Language) -> int:
    """What the fixed part of a request to split costs, in tokens, estimated."""
    return estimate_tokens(prompt_for(Task.SPLIT, language).system)


def source_of(format_: Format, title: str, talk_id: str, branch: int = 0) -> str:
    """What a memory says of where it comes from: the service, the conversation's title, and a short mark of it."""
    mark = hashlib.blake2b(f"{format_.value}\0{talk_id}\0{branch}".encode(), digest_size=4).hexdigest()
    return f"{FORMAT_NAMES[format_]} · {title} · {mark}"


def _thread(
    talk: Talk,
    branch: int,
    turns: Any,
    format_: Format,
    options: ImportOptions,
    ledger: Ledger,
    plan: Plan,
    fallback: datetime,
) -> Iterator[dict[str, Any]]:
    places = talk.threads[branch]
    known = 0 if options.again else ledger.turns_known(format_, talk, places)
    plan.known_turns += known
    if known == len(places):
        plan.known_conversations += branch == 0
        return
    conversation = conversation_of(talk, branch, turns, format_, skip_turns=known)
    plan.turns += len(conversation.turns)
    found: Iterable[chunks.Chunk] = _cut(conversation, options.mode)
    if places.bytes <= _HELD_BYTES:
        found = tuple(found)
        parts = len(found)
    else:  # cut twice rather than held
        parts = sum(1 for _ in found)
        found = _cut(conversation, options.mode)
    entry = entry_of(format_, talk, places)
    for chunk in found:
        yield {**_chunk_record(conversation, chunk, options.mode, fallback), "parts": parts, "ledger": entry}


def _cut(conversation: Conversation, mode: Mode) -> Iterator[chunks.Chunk]:
    if mode is Mode.NOTES:
        return chunks.chunks_of(conversation, most_tokens=chunks.NOTE_TOKENS, most_characters=chunks.NOTE_CHARACTERS)
    return chunks.chunks_of(conversation)


def _chunk_record(conversation: Conversation, chunk: chunks.Chunk, mode: Mode, fallback: datetime) -> dict[str, Any]:
    title = conversation.title or name_from(chunk.text)
    when = chunk.ended or conversation.started or fallback
    return {
        "source": source_of(conversation.format, title, conversation.id, conversation.branch),
        "title": title,
        "part": chunk.part,
        "when": when.isoformat(),
        "tokens": chunk.tokens,
        "requests": max(math.ceil(len(chunk.text) / SPLIT_LIMIT), 1) if mode is Mode.MEMORIES else 0,
        "text": chunk.text,
    }


def _note_record(note: WholeNote, format_: Format) -> dict[str, Any]:
    return {
        "source": f"{FORMAT_NAMES[format_]} · {note.path}",
        "note": {
            "path": note.path,
            "id": note.id,
            "name": note.name,
            "created": None if note.created is None else note.created.isoformat(),
            "raw": note.raw.decode("utf-8", "surrogateescape"),
        },
        "ledger": entry_of_note(note),
    }


def _write(out: Any, record: dict[str, Any], plan: Plan) -> None:
    requests = record.get("requests", 0)
    if requests:
        text = record["text"]
        prompt = prompt_tokens(language_of(text[:1000]))
        plan.requests += requests
        plan.tokens_in += math.ceil(record["tokens"] * NUMBERING) + requests * prompt
        plan.tokens_out += requests * ANSWER_TOKENS
    # lone surrogates stand for the bytes of a note, so everything is written as ASCII
    out.write(json.dumps({"n": plan.chunks, **record}) + "\n")
    plan.chunks += 1


def _read(raw: Mapping[str, Any]) -> PlannedChunk:
    note = raw.get("note")
    if note is not None:
        created = None if note["created"] is None else parse_moment(note["created"])
        whole = WholeNote(
            note["path"], note["raw"].encode("utf-8", "surrogateescape"), note["id"], note["name"], created
        )
        return PlannedChunk(
            raw["n"], raw["source"], whole.name, 1, 1, created or _NO_DAY, "", 0, 0, raw.get("ledger"), whole
        )
    when = parse_moment(raw["when"])
    if when is None:
        raise ValueError(f"chunk {raw['n']} has no date")
    return PlannedChunk(
        raw["n"],
        raw["source"],
        raw["title"],
        raw["part"],
        raw["parts"],
        when,
        raw["text"],
        raw["tokens"],
        raw["requests"],
        raw["ledger"],
    )
