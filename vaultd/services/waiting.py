"""Texts that wait for a chat model: kept in `inbox/` at once, split and remembered when a model is back."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from vaultd.core.bucket import Role
from vaultd.core.errors import ModelError, NoSuchMemory, VaultError
from vaultd.core.note import NotePath
from vaultd.core.properties import parse_moment
from vaultd.index.mirror import Mirror
from vaultd.services.scribe import Scribe
from vaultd.services.texts import NoteReader
from vaultd.vault import codec
from vaultd.vault.edits import NewValue
from vaultd.vault.layout import Layout

log = logging.getLogger(__name__)

WAITING_SINCE = "waiting_since"
ATTEMPTS = "attempts"
REASON = "reason"
NEXT_TRY = "next_try"
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Waits:
    """A text in the inbox."""

    path: NotePath
    since: datetime | None
    attempts: int
    next_try: datetime | None
    reason: str


class Waiting:
    """The inbox. `split` turns a text into memories and raises ModelError where it cannot."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        reader: NoteReader,
        mirror: Mirror,
        clock: Callable[[], datetime],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._reader = reader
        self._mirror = mirror
        self._clock = clock
        self._working = asyncio.Lock()

    async def keep(self, text: str, reason: str) -> NotePath:
        """Put a text into the inbox, as a note a person can read. Raises VaultError."""
        now = self._clock()
        first = re.sub(r"\s+", " ", text)[:24]
        path = self._layout.waiting_path(f"{now:%Y-%m-%d %H%M%S} {first}")
        record: dict[str, NewValue] = {
            WAITING_SINCE: now,
            ATTEMPTS: 1,
            REASON: reason[:200],
            NEXT_TRY: now + FIRST_RETRY,
        }
        receipt = await self._scribe.create(path, codec.new_note(record, text.rstrip() + "\n"), why="wait for a model")
        return receipt.path

    def all(self) -> list[Waits]:
        """What waits, oldest first. Blocks."""
        out: list[Waits] = []
        for row in self._mirror.having(Role.WAITING):
            note = self._reader.read(row.path)
            if note is None:
                continue
            get = note.properties.get
            attempts = get(ATTEMPTS)
            out.append(
                Waits(
                    path=row.path,
                    since=parse_moment(str(get(WAITING_SINCE))),
                    attempts=attempts if isinstance(attempts, int) else 0,
                    next_try=parse_moment(str(get(NEXT_TRY))),
                    reason=str(get(REASON) or ""),
                )
            )
        return sorted(out, key=lambda waits: str(waits.since))

    async def retry(self, split: Callable[[str], Awaitable[object]], *, all_now: bool = False) -> int:
        """Try what is due; a text that went through leaves the inbox. How many went through."""
        done = 0
        async with self._working:
            now = self._clock()
            for waits in await asyncio.to_thread(self.all):
                if not all_now and waits.next_try is not None and waits.next_try > now:
                    continue
                done += await self._try(waits, split)
        return done

    async def _try(self, waits: Waits, split: Callable[[str], Awaitable[object]]) -> bool:
        note = await asyncio.to_thread(self._reader.read, waits.path)
        if note is None or not note.body.strip():
            return False
        try:
            await split(note.body.strip())
        except ModelError as exc:
            await self._put_off(waits, str(exc))
            return False
        except (VaultError, NoSuchMemory) as exc:
            log.warning("a text in the inbox could not be kept: %s", exc)
            return False
        await self._scribe.delete(waits.path, permanent=False, why="kept as memories")
        return True

    async def _put_off(self, waits: Waits, reason: str) -> None:
        delay = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(waits.attempts, 10))
        changes: dict[str, NewValue] = {
            ATTEMPTS: waits.attempts + 1,
            REASON: reason[:200],
            NEXT_TRY: self._clock() + delay,
        }
        try:
            await self._scribe.set_properties(waits.path, changes, why="wait for a model")
        except VaultError as exc:
            log.warning("%s", exc)
