"""What is written into cards when they are quiet: counters, an id that was given twice, what a hand-made card lacks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.bucket import Role
from vaultd.core.errors import LostRace, VaultError
from vaultd.core.note import Note
from vaultd.core.properties import PropertyReader, moment_text
from vaultd.index.indexer import BatchReport
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row, own_name
from vaultd.services.active import ActiveFiles
from vaultd.services.cardhistory import CardHistory
from vaultd.services.cardids import CARD_ID, CardNumbers
from vaultd.services.cards import Cards
from vaultd.services.projection import Moments, period
from vaultd.services.refusals import Refusals
from vaultd.services.scribe import Scribe
from vaultd.settings import Settings
from vaultd.vault import codec, sync
from vaultd.vault.layout import Layout
from vaultd.vault.reader import VaultReader

log = logging.getLogger(__name__)

CLOCKS_DIFFER: Final = timedelta(days=1)  # a file dated further ahead says nothing about when it was changed


class CardCare:
    """Rounds over the cards. Call `heard` with every batch, `__call__` now and then."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        reader: VaultReader,
        mirror: Mirror,
        cards: Cards,
        numbers: CardNumbers,
        history: CardHistory,
        active: ActiveFiles,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        state: Path,
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._reader = reader
        self._mirror = mirror
        self._cards = cards
        self._numbers = numbers
        self._history = history
        self._active = active
        self._settings = settings
        self._clock = clock
        self._projected = Moments(state / "projected-cards.json")
        self._refusals = Refusals(clock)
        self._looked = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()

    def heard(self, report: BatchReport) -> None:
        """A batch was applied: what its cards said before becomes a version, soon and in order."""
        ids = [note_id for note_id in report.put if self._is_card(note_id)]
        if ids:
            task = asyncio.get_running_loop().create_task(self._look(ids))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def settled(self) -> None:
        """Returns when the versions of all batches heard of are kept."""
        await asyncio.gather(*self._under_way)

    def close(self) -> None:
        """Let go of what is kept beside the index. Blocks."""
        self._history.close()

    async def _look(self, ids: list[str]) -> None:
        async with self._looked:
            await asyncio.to_thread(self._history.looked_at, ids)

    def _is_card(self, note_id: str) -> bool:
        row = self._mirror.get(note_id)
        return row is not None and row.role is Role.CARD

    async def catch_up(self) -> int:
        """Look at the cards that changed while nobody listened."""
        async with self._looked:
            return await asyncio.to_thread(self._history.catch_up)

    async def __call__(self) -> int:
        """One round; how many notes it wrote. What must not be written now is left for later."""
        if sync.merge_under_way(self._layout.root) is not None:
            return 0
        await self.settled()
        done = 0
        every = period(self._settings().journal.project_every_s, in_git=sync.is_git_synced(self._layout.root))
        for row in self._mirror.having(Role.CARD):
            wants_id = not row.has_id or CARD_ID.fullmatch(row.id) is None
            if (wants_id or self._owes(row, every)) and self._may_be_written(row):
                done += await self._tried(row, wants_id=wants_id)
        await asyncio.to_thread(self._projected.save)
        return done

    async def _tried(self, row: Row, *, wants_id: bool) -> bool:
        try:
            if wants_id:
                return await self._identify(row)
            return await self._project(row)
        except LostRace:
            return False
        except VaultError as exc:
            self._refusals.note(row)
            log.warning("%s", exc)
            return False

    def _may_be_written(self, row: Row) -> bool:
        if row.stale or not row.writable or self._refusals.holds(row):
            return False
        changed = datetime.fromtimestamp(row.stamp.mtime_ns / 1e9, UTC)
        quiet = timedelta(seconds=self._settings().journal.quiet_s)
        if -CLOCKS_DIFFER < self._clock() - changed < quiet:
            return False
        return not self._active.is_active(row.path)

    # -- counters -------------------------------------------------------------------------------------------------

    def _owes(self, row: Row, every: timedelta) -> bool:
        last = self._projected.get(row.id)
        if last is not None and self._clock() - last < every:
            return False
        return bool(self._gain(row))

    def _gain(self, row: Row) -> dict[str, object]:
        card = self._cards.view(row).card
        changes: dict[str, object] = {}
        if card.use_count > int(row.count_floor):
            changes[keys.USE_COUNT] = card.use_count
        known = row.card.last_used if row.card else None
        if card.last_used is not None and int(card.last_used.timestamp()) > int(known or 0):
            changes[keys.LAST_USED_AT] = card.last_used
        return changes

    async def _project(self, row: Row) -> bool:
        changes = self._gain(row)

        def edit(raw: bytes) -> bytes:
            return codec.set_properties(row.path, raw, changes)  # type: ignore[arg-type]

        await self._scribe.change(row.path, edit, why="counters", keep=False)
        self._projected.note(row.id, self._clock())
        return True

    # -- ids ------------------------------------------------------------------------------------------------------

    async def _identify(self, row: Row) -> bool:
        """Give a card the id that it lacks, or another than the one that an older card has."""
        note = await asyncio.to_thread(self._reader.read, row.path)
        if note is None or note.problem is not None or note.checksum != row.checksum:
            return False
        wanted = PropertyReader(note.properties).text(keys.ID)
        holder = self._mirror.get(wanted) if wanted else None
        if holder is None:
            return await self._adopt(row, note) if not wanted else False
        if CARD_ID.fullmatch(wanted) is None:
            return await self._adopt(row, note)
        later = max((row, holder), key=lambda one: (one.created, len(one.path), one.path))
        if later.id != row.id and not self._may_be_written(later):
            return False
        return await self._renumber(later, wanted)

    async def _renumber(self, row: Row, card_id: str) -> bool:
        created = datetime.fromtimestamp(row.created, UTC)
        new_id = await asyncio.to_thread(self._numbers.instead, card_id, moment_text(created), row.path)
        name = row.path.rpartition("/")[2]
        rest = name.removeprefix(card_id).removesuffix(".md").strip()
        target = self._layout.card_path(new_id, rest or own_name(row.path)) if name.startswith(card_id) else row.path
        note = await asyncio.to_thread(self._reader.read, row.path)
        written = None if note is None else note.properties.get(keys.CREATED_AT)

        def edit(raw: bytes) -> bytes:
            if codec.checksum(raw) != row.checksum:
                raise LostRace(row.path)
            return codec.set_properties(row.path, raw, {keys.ID: new_id})

        await asyncio.to_thread(self._history.follow, card_id, new_id, written)
        with self._scribe.together("renumber"):
            await self._scribe.change(row.path, edit, why="renumber", keep=False)
            if target != row.path:
                await self._scribe.move(row.path, target, why="renumber")
        log.info("card %s was given twice; the later one, %s, is %s now", card_id, row.path, new_id)
        left = self._mirror.get(card_id)
        if left is None:  # the older card had stood in the later one's shadow
            rows = [one for one in self._mirror.having(Role.CARD) if CARD_ID.fullmatch(one.id) is None]
            await self._scribe.look(*(one.path for one in rows))
        return True

    async def _adopt(self, row: Row, note: Note) -> bool:
        """Give a card that a person made what it lacks to be one."""
        created = datetime.fromtimestamp(int(row.created), row.zone())
        new_id = await asyncio.to_thread(self._numbers.next, created)
        record: dict[str, object] = {
            keys.TOPIC: list(row.domain) or [own_name(row.path)],
            keys.IMPORTANCE: row.importance,
            keys.CREATED_AT: created,
            keys.UPDATED_AT: created,
        }
        changes = {keys.ID: new_id} | {
            key: value for key, value in record.items() if note.properties.get(key) in (None, "", [])
        }

        def edit(raw: bytes) -> bytes:
            if codec.checksum(raw) != row.checksum:
                raise LostRace(row.path)
            return codec.set_properties(row.path, raw, changes)  # type: ignore[arg-type]

        await self._scribe.change(row.path, edit, why="adopt", keep=False)
        return True
