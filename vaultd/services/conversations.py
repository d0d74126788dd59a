"""Conversations as notes: `conversations/YYYY-MM/<id>.md`, one heading a message, the memories it was given beside it.

    ## user · 2026-11-30T09:12:00+08:00
    %%injected_memories [{"id": "20261130-001", "topic": "…"}]%%
    text

A note takes NOTE_BYTES; a conversation that grows beyond goes on in `<id>.part2.md`, and so on up to MOST_PARTS. Recall
does not search these notes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np

from vaultd.core.bucket import Role
from vaultd.core.errors import BadInput, NoSuchMemory, VaultError
from vaultd.core.note import Note, NotePath
from vaultd.core.properties import parse_moment
from vaultd.core.text import clean_text
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.llm.analyst import Analyst, Turn
from vaultd.llm.redact import strip_private
from vaultd.services.scribe import Scribe
from vaultd.settings import Settings
from vaultd.vault import codec
from vaultd.vault.layout import Layout
from vaultd.vault.reader import VaultReader

log = logging.getLogger(__name__)

MESSAGE_CHARACTERS: Final = 20_000  # of one message that are kept
NOTE_BYTES: Final = 256 * 1024
MOST_PARTS: Final = 40  # 10 MiB of a conversation; what comes after is not kept
SUMMARY_TURNS: Final = 200
TITLE_CHARACTERS: Final = 60
CONVERSATION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PART: Final = ".part"
_HEADING: Final = re.compile(r"^## (?P<role>user|assistant) · (?P<at>\S+?)(?P<aborted> · aborted)?$", re.MULTILINE)
_INJECTED: Final = re.compile(r"^%%injected_memories (?P<json>\[.*\])%%\n?")
_TITLE, _SCOPE, _SUMMARY, _CREATED, _UPDATED, _MODEL = "title", "ai_scope", "summary", "created", "updated", "model"


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `injected` are (id, topic) of the cards that were given to the model with it."""

    role: str
    at: datetime
    text: str
    injected: tuple[tuple[str, str], ...] = ()
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and the reply to it, to be kept. `again`: the reply takes the place of the last one."""

    conversation_id: str
    scope: str
    model: str
    user: Said
    reply: Said | None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A kept conversation."""

    id: str
    title: str
    created: datetime | None
    updated: datetime | None
    scope: str
    summary: str
    path: NotePath
    messages: tuple[Said, ...] = field(default=())


class Conversations:
    """Keeps, lists, reads and summarises conversations. A credential with a scope sees those held in it alone.

    Unlike a card, a conversation without a scope is not shared: cards of any scope may have been put into it.
    """

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        reader: VaultReader,
        mirror: Mirror,
        analyst: Analyst,
        settings: Callable[[], Settings],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._reader = reader
        self._mirror = mirror
        self._analyst = analyst
        self._settings = settings
        self._unwritten: dict[str, list[Exchange]] = {}
        self._one_at_a_time = asyncio.Lock()

    # -- keeping --------------------------------------------------------------------------------------------------

    async def keep(self, exchange: Exchange) -> None:
        """Write an exchange; one that can't be written now is written with the next of its conversation."""
        async with self._one_at_a_time:
            waiting = [*self._unwritten.pop(exchange.conversation_id, []), exchange]
            for place, one in enumerate(waiting):
                try:
                    await self._write(one)
                except VaultError as exc:
                    self._unwritten[exchange.conversation_id] = waiting[place:][-50:]
                    log.warning("a message of conversation %s is not kept yet: %s", exchange.conversation_id, exc)
                    return

    async def _write(self, exchange: Exchange) -> None:
        rows = self._parts(exchange.conversation_id)
        text = _written(_shortened(exchange.user)) + (
            "" if exchange.reply is None else _written(_shortened(exchange.reply))
        )
        if rows and exchange.again and await self._replaced(rows[-1], exchange):
            return
        if rows and rows[-1].stamp.size + len(text.encode()) <= NOTE_BYTES:
            await self._append(rows[-1], text, exchange)
            return
        if len(rows) >= MOST_PARTS:
            log.warning("conversation %s is too long; it is no longer kept", exchange.conversation_id)
            return
        part = "" if not rows else f"{_PART}{len(rows) + 1}"
        begun = exchange.user.at
        path = self._layout.conversation_path(exchange.conversation_id, begun)
        record: dict[str, object] = {
            _TITLE: _title(exchange.user.text),
            _CREATED: begun,
            _UPDATED: begun,
            _MODEL: exchange.model,
            _SCOPE: exchange.scope,
        }
        raw = codec.new_note(record, text)  # type: ignore[arg-type]
        await self._scribe.create(NotePath(path.removesuffix(".md") + part + ".md"), raw, why="conversation")

    async def _append(self, row: Row, text: str, exchange: Exchange) -> None:
        def edit(raw: bytes) -> bytes:
            body = codec.decode(row.path, raw, row.stamp).body
            raw = codec.replace_body(row.path, raw, body.rstrip() + "\n\n" + text)
            return codec.set_properties(row.path, raw, {_UPDATED: exchange.user.at})

        await self._scribe.change(row.path, edit, why="conversation", keep=False)

    async def _replaced(self, row: Row, exchange: Exchange) -> bool:
        """Put a regenerated reply in the place of the last one; False where the note ends with something else."""
        done: list[bool] = []

        def edit(raw: bytes) -> bytes:
            body = codec.decode(row.path, raw, row.stamp).body
            headings = list(_HEADING.finditer(body))
            done[:] = [False]
            if exchange.reply is None or len(headings) < 2 or headings[-1]["role"] != "assistant":
                return raw
            before = body[headings[-2].end() : headings[-1].start()].strip()
            if _INJECTED.sub("", before).strip() != _body_of(_shortened(exchange.user)).strip():
                return raw
            done[:] = [True]
            text = _written(_shortened(exchange.user)) + _written(_shortened(exchange.reply))
            raw = codec.replace_body(row.path, raw, body[: headings[-2].start()] + text)
            return codec.set_properties(row.path, raw, {_UPDATED: exchange.user.at})

        await self._scribe.change(row.path, edit, why="conversation", keep=False)
        return done[0]

    # -- reading --------------------------------------------------------------------------------------------------

    async def listed(self, sight: str | None, *, limit: int, before: str = "") -> tuple[list[Conversation], str]:
        """Conversations, newest first, and the cursor of the next page ("" on the last)."""
        firsts = [row for row in self._rows() if _PART not in _stem(row)]
        firsts.sort(key=lambda row: (row.created, row.path), reverse=True)
        names = [_stem(row) for row in firsts]
        start = names.index(before) + 1 if before in names else 0
        found: list[Conversation] = []
        cursor = ""
        for row in firsts[start:]:
            if len(found) == limit:
                cursor = found[-1].id
                break
            one = await asyncio.to_thread(self._read, [row])
            if one is not None and sight in (None, one.scope):
                found.append(one)
        return found, cursor

    async def get(self, conversation_id: str, sight: str | None) -> Conversation:
        """A conversation with its messages. Raises NoSuchMemory."""
        rows = self._parts(conversation_id)
        found = await asyncio.to_thread(self._read, rows) if rows else None
        if found is None or sight not in (None, found.scope):
            raise NoSuchMemory(conversation_id)
        return found

    async def scope_of(self, conversation_id: str) -> str | None:
        """The scope that a kept conversation was held in; None where there is none of this id."""
        rows = self._parts(conversation_id)
        found = await asyncio.to_thread(self._read, rows[:1]) if rows else None
        return None if found is None else found.scope

    async def summarise(self, conversation_id: str, sight: str | None) -> str:
        """Have the chat model say what it was about, and keep that. Raises NoSuchMemory, ModelError, VaultError."""
        found = await self.get(conversation_id, sight)
        turns = [Turn(said.role, said.text) for said in found.messages[-SUMMARY_TURNS:]]
        if not turns:
            raise BadInput("id: there is nothing in this conversation yet")
        summary = await self._analyst.summarise(turns)
        await self._scribe.set_properties(found.path, {_SUMMARY: summary}, why="summary")
        return summary

    async def delete(self, conversation_id: str, sight: str | None) -> None:
        """All its notes into the trash, or away, as set. Raises NoSuchMemory, VaultError."""
        await self.get(conversation_id, sight)
        permanent = self._settings().vault.delete == "permanent"
        for row in self._parts(conversation_id):
            await self._scribe.delete(row.path, permanent=permanent, why="delete")

    def _rows(self) -> list[Row]:
        with self._mirror.lock:
            slots = np.flatnonzero(self._mirror.columns.role == ROLE_CODES[Role.CONVERSATION])
            return list(map(self._mirror.at, slots.tolist()))

    def _parts(self, conversation_id: str) -> list[Row]:
        """The rows of a conversation's notes, first part first."""
        if CONVERSATION_ID.fullmatch(conversation_id) is None:
            return []
        parts = [row for row in self._rows() if _stem(row).partition(_PART)[0] == conversation_id]
        return sorted(parts, key=lambda row: (len(_stem(row)), row.path))

    def _read(self, rows: Sequence[Row]) -> Conversation | None:
        notes = [note for note in map(self._reader.read, [row.path for row in rows]) if note is not None]
        if not notes:
            return None
        first = notes[0]
        messages = [said for note in notes for said in _messages(note)]
        return Conversation(
            id=first.path.rpartition("/")[2].removesuffix(".md"),
            title=str(first.properties.get(_TITLE) or ""),
            created=parse_moment(str(first.properties.get(_CREATED) or "")),
            updated=parse_moment(str(notes[-1].properties.get(_UPDATED) or "")),
            scope=str(first.properties.get(_SCOPE) or ""),
            summary=str(first.properties.get(_SUMMARY) or ""),
            path=first.path,
            messages=tuple(messages),
        )


def _stem(row: Row) -> str:
    return row.path.rpartition("/")[2].removesuffix(".md")


def _title(text: str) -> str:
    return " ".join(clean_text(strip_private(text)).split())[:TITLE_CHARACTERS] or "…"


def _shortened(said: Said) -> Said:
    text = strip_private(clean_text(said.text)).strip()
    if len(text) > MESSAGE_CHARACTERS:
        text = text[:MESSAGE_CHARACTERS].rstrip() + " …"
    return replace(said, text=text)


def _written(said: Said) -> str:
    mark = " · aborted" if said.aborted else ""
    memories = ""
    if said.injected:
        pairs = [{"id": card_id, "topic": topic} for card_id, topic in said.injected]
        memories = f"%%injected_memories {json.dumps(pairs, ensure_ascii=False)}%%\n"
    return f"## {said.role} · {said.at.isoformat(timespec='seconds')}{mark}\n{memories}{_body_of(said)}\n\n"


def _body_of(said: Said) -> str:
    """The text, with lines that would read as one of our headings or memory lines moved in by a space."""
    lines = said.text.split("\n")
    return "\n".join(f" {line}" if line.startswith(("## user · ", "## assistant · ", "%%")) else line for line in lines)


def _messages(note: Note) -> list[Said]:
    headings = list(_HEADING.finditer(note.body))
    out: list[Said] = []
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(note.body)
        text = note.body[heading.end() : end].lstrip("\n")
        injected: tuple[tuple[str, str], ...] = ()
        found = _INJECTED.match(text)
        if found:
            text = text[found.end() :]
            injected = _pairs(found["json"])
        at = parse_moment(heading["at"])
        if at is not None:
            out.append(Said(heading["role"], at, text.strip(), injected, bool(heading["aborted"])))
    return out


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    return tuple((str(one.get("id", "")), str(one.get("topic", ""))) for one in found if isinstance(one, dict))
