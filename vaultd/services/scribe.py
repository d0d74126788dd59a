"""Writes through to the files and waits until the index says what they say. The one road for writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from vaultd.core.note import NotePath, PropertyValue, Receipt
from vaultd.vault import codec
from vaultd.vault.codec import Remove
from vaultd.vault.writer import VaultWriter
from vaultd.watch.pipeline import Pipeline

Changes = Mapping[str, "PropertyValue | datetime | Remove"]


class Scribe:
    """Every method returns once the change is in the index. Raises VaultError as the writer does."""

    def __init__(self, writer: VaultWriter, pipeline: Pipeline) -> None:
        self._writer = writer
        self._pipeline = pipeline

    async def create(self, path: NotePath, raw: bytes, *, why: str, free_name: bool = True) -> Receipt:
        """A new note; where the name is taken, the next free one."""
        receipt = await asyncio.to_thread(self._writer.create, path, raw, why=why, free_name=free_name)
        await self._pipeline.settled(receipt)
        return receipt

    async def change(
        self, path: NotePath, edit: Callable[[bytes], bytes], *, why: str, versions: int | None = None
    ) -> Receipt:
        """Read, edit, compare and swap."""
        receipt = await asyncio.to_thread(self._writer.change, path, edit, why=why, versions=versions)
        await self._pipeline.settled(receipt)
        return receipt

    async def set_properties(self, path: NotePath, changes: Changes, *, why: str) -> Receipt:
        """Change properties, each its own line, and nothing else."""
        return await self.change(path, lambda raw: codec.set_properties(path, raw, changes), why=why)

    async def move(self, path: NotePath, target: NotePath, *, why: str) -> Receipt:
        """Give a note another path."""
        receipt = await asyncio.to_thread(self._writer.move, path, target, why=why)
        await self._pipeline.look(path, receipt.path)
        return receipt

    async def delete(self, path: NotePath, *, permanent: bool, why: str) -> Receipt:
        """Into the vault's trash, or away for good."""
        receipt = await asyncio.to_thread(self._writer.delete, path, permanent=permanent, why=why)
        await self._pipeline.settled(receipt)
        return receipt

    async def change_and_move(self, path: NotePath, changes: Changes, target: NotePath, *, why: str) -> Receipt:
        """Change properties and give the note another path, undone together; links to it are kept alive."""
        with self._writer.log.together(why):
            await self.set_properties(path, changes, why=why)
            return await self.move(path, target, why=why)
