"""Writes through to the files and waits until the index says what they say. The one road for writes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, ParamSpec, TypeVar

from vaultd.core.errors import LostRace, VaultError
from vaultd.core.note import NotePath, PropertyValue, Receipt
from vaultd.index.indexer import BatchReport
from vaultd.vault import codec
from vaultd.vault.codec import Remove
from vaultd.vault.layout import Layout
from vaultd.vault.log import ENTRIES_KEPT, Entry, Operation
from vaultd.vault.moving import DeadLink, Moved, Mover
from vaultd.vault.reader import VaultReader
from vaultd.vault.undo import undo
from vaultd.vault.writer import VaultWriter
from vaultd.watch.pipeline import Pipeline

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Changes = Mapping[str, "PropertyValue | datetime | Remove"]
FRESH_FOR_S: Final = 60.0  # no change of a note escapes us; of an attachment it may
MOST_HEARD: Final = 1_000  # batches; beyond, looking through the whole vault is no dearer


class Scribe:
    """Every method returns once the change is in the index. Raises VaultError as the writer does."""

    def __init__(self, layout: Layout, reader: VaultReader, writer: VaultWriter, pipeline: Pipeline) -> None:
        self._layout = layout
        self._reader = reader
        self._writer = writer
        self._pipeline = pipeline
        self._mover = Mover(layout, reader, writer)
        self._moving = threading.Lock()
        self._links_read_at: float | None = None
        self._heard: deque[tuple[NotePath, ...]] = deque()

    def heard(self, report: BatchReport) -> None:
        """A batch was applied: who links to whom may have changed, whoever did it."""
        if len(self._heard) < MOST_HEARD:
            self._heard.append(report.looked)
        else:
            self._links_read_at = None

    async def look(self, *paths: NotePath) -> None:
        """Have these paths looked at again; returns when the index says what the files say."""
        await self._pipeline.look(*paths)

    async def _write(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Nothing is written that could not be looked at afterwards: it would be told as failed, and be there."""
        await self._pipeline.opened()
        return await asyncio.to_thread(work, *args, **kwargs)

    async def create(self, path: NotePath, raw: bytes, *, why: str, free_name: bool = True) -> Receipt:
        """A new note; where the name is taken, the next free one."""
        receipt = await self._write(self._writer.create, path, raw, why=why, free_name=free_name)
        await self._pipeline.settled(receipt)
        return receipt

    async def change(
        self,
        path: NotePath,
        edit: Callable[[bytes], bytes],
        *,
        why: str,
        keep: bool | None = None,
        versions: int | None = None,
    ) -> Receipt:
        """Read, edit, compare and swap. `keep` and `versions` say what the history keeps, as the writer has it."""
        receipt = await self._write(self._writer.change, path, edit, why=why, keep=keep, versions=versions)
        await self._pipeline.settled(receipt)
        return receipt

    async def set_properties(self, path: NotePath, changes: Changes, *, why: str) -> Receipt:
        """Change properties, each its own line, and nothing else."""
        return await self.change(path, lambda raw: codec.set_properties(path, raw, changes), why=why)

    async def move(self, path: NotePath, target: NotePath, *, why: str) -> Receipt:
        """Give a note another path, the next free one where it is taken; links to it, in any note, are kept alive."""
        moved = await self._write(self._move, path, target, why)
        for left in moved.left:
            log.warning("%s: %s", left.path, left.reason)
        await self._pipeline.look(path, *(receipt.path for receipt in moved.receipts))
        return moved.receipt

    def _move(self, path: NotePath, target: NotePath, why: str) -> Moved:
        with self._moving:
            self._freshen_links()
            try:
                return self._mover.move(path, target, why=why)
            except LostRace:
                free = self._layout.free_path(target)
                if free == target or self._reader.stamp(path) is None:
                    raise
                return self._mover.move(path, free, why=why)

    def _freshen_links(self) -> None:
        """Have the mover know the links as they are now: of what was heard of, else of the whole vault."""
        now, known = time.monotonic(), False
        try:
            if self._links_read_at is None or now - self._links_read_at > FRESH_FOR_S:
                self._links_read_at = now  # before, so that what is heard meanwhile counts
                self._heard.clear()
                self._mover.refresh()
            while self._heard:
                self._mover.look(self._heard.popleft())
            self._writer.presence.demand()  # an empty mount point has no links, and is none to go by
            known = True
        finally:
            if not known:
                self._links_read_at = None

    def left_behind(self) -> list[DeadLink]:
        """Links that lead nowhere since this machine moved what they meant, as far as the write log goes back. Blocks."""
        moved: dict[NotePath, NotePath] = {}
        for entry in self._writer.log.entries(limit=ENTRIES_KEPT):  # the newest first
            if entry.operation is Operation.MOVE and entry.target is not None:
                moved[entry.path] = moved.get(entry.target, entry.target)
        there = {old: new for old, new in moved.items() if self._is_at(new) and not self._is_at(old)}
        with self._moving:
            self._links_read_at = None
            self._freshen_links()
            return self._mover.left_behind(there)

    def _is_at(self, path: NotePath) -> bool:
        return self._reader.stamp(path) is not None

    async def delete(self, path: NotePath, *, permanent: bool, why: str) -> Receipt:
        """Into the vault's trash, or away for good."""
        receipt = await self._write(self._writer.delete, path, permanent=permanent, why=why)
        await self._pipeline.settled(receipt)
        return receipt

    async def change_and_move(self, path: NotePath, changes: Changes, target: NotePath, *, why: str) -> Receipt:
        """Change properties and give the note another path, undone together."""
        return await self.edit_and_move(path, lambda raw: codec.set_properties(path, raw, changes), target, why=why)

    async def edit_and_move(
        self, path: NotePath, edit: Callable[[bytes], bytes], target: NotePath, *, why: str
    ) -> Receipt:
        """Change a note and give it another path, undone together."""
        with self.together(why):
            await self._write(self._writer.change, path, edit, why=why)
            try:
                return await self.move(path, target, why=why)
            except VaultError:
                await self._pipeline.look(path)
                raise

    def together(self, why: str) -> contextlib.AbstractContextManager[str]:
        """What is written inside is undone together."""
        return self._writer.log.together(why)

    async def undo(self, entry: str) -> tuple[Receipt, ...]:
        """Take back an entry of the write log and what was written with it. Raises BadInput, VaultError."""
        entries, receipts = await self._write(self._undo, entry)
        touched = {path for one in entries for path in (one.path, one.target) if path is not None}
        await self._pipeline.look(*sorted(touched | {receipt.path for receipt in receipts}))
        return receipts

    def _undo(self, entry: str) -> tuple[tuple[Entry, ...], tuple[Receipt, ...]]:
        return self._writer.log.group(entry), undo(self._writer, self._reader, entry)
