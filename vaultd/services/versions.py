"""What was, and the way back: versions of a memory, the log of writes, undo."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from vaultd.core.errors import BadInput, NoSuchMemory
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.services.scribe import Scribe
from vaultd.vault.history import History, Version, history_key
from vaultd.vault.log import Entry, WriteLog
from vaultd.vault.reader import VaultReader


@dataclass(frozen=True, slots=True)
class Kept:
    """A version of a memory that was kept before a change. `at` is when it was about to be changed."""

    id: str
    at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class Write:
    """One write of the log, as faces show it."""

    number: int
    group: str
    at: datetime
    operation: str
    path: str
    target: str | None
    why: str
    note_id: str
    undoable: bool


class Versions:
    """Reads versions and the log, and takes writes back."""

    def __init__(
        self, mirror: Mirror, reader: VaultReader, history: History, write_log: WriteLog, scribe: Scribe
    ) -> None:
        self._mirror = mirror
        self._reader = reader
        self._history = history
        self._log = write_log
        self._scribe = scribe

    async def of(self, note_id: str) -> tuple[Kept, ...]:
        """The kept versions of a memory, newest first. Raises NoSuchMemory."""
        _, key = self._place(note_id)
        found = await asyncio.to_thread(self._history.versions, key)
        return tuple(Kept(version.id, version.at, version.size) for version in found)

    async def show(self, note_id: str, version_id: str) -> tuple[str, str]:
        """A version's text, and what changed since as a unified diff. Raises NoSuchMemory, BadInput."""
        path, key = self._place(note_id)
        return await asyncio.to_thread(self._shown, path, key, version_id)

    def _shown(self, path: NotePath, key: str, version_id: str) -> tuple[str, str]:
        version = self._version(key, version_id)
        current = self._reader.read_bytes(path) or b""
        text = self._history.read(version).decode("utf-8", "replace")
        return text, self._history.diff(version, current)

    async def revert(self, note_id: str, version_id: str) -> None:
        """Put a version back; what stands there now is kept in turn. Raises NoSuchMemory, BadInput, VaultError."""
        path, key = self._place(note_id)
        raw = await asyncio.to_thread(lambda: self._history.read(self._version(key, version_id)))
        await self._scribe.change(path, lambda _now: raw, why="restore", keep=True)

    async def log(self, *, note_id: str = "", limit: int = 50) -> tuple[Write, ...]:
        """The newest writes, newest first."""
        entries = await asyncio.to_thread(lambda: self._log.entries(note_id=note_id, limit=limit))
        return tuple(_written(entry) for entry in entries)

    async def newest(self, note_id: str) -> str:
        """The group of the newest write of a memory, to be undone; "" where there is none."""
        entries = await self.log(note_id=note_id, limit=1)
        return entries[0].group if entries and entries[0].undoable else ""

    async def undo(self, entry_id: str) -> tuple[str, ...]:
        """Take a write, or its group, back; the paths. Raises BadInput, VaultError; then nothing was changed."""
        return tuple(sorted(receipt.path for receipt in await self._scribe.undo(entry_id)))

    def _place(self, note_id: str) -> tuple[NotePath, str]:
        row = self._mirror.get(note_id)
        if row is None:
            raise NoSuchMemory(note_id)
        return row.path, history_key(row.id if row.has_id else "", row.path)

    def _version(self, key: str, version_id: str) -> Version:
        version = self._history.find(key, version_id)
        if version is None:
            raise BadInput(f"version: the memory has no version {version_id!r}")
        return version


def _written(entry: Entry) -> Write:
    return Write(
        number=entry.number,
        group=entry.group,
        at=entry.at,
        operation=entry.operation.value,
        path=entry.path,
        target=entry.target,
        why=entry.why,
        note_id=entry.note_id,
        undoable=entry.undoable,
    )
