"""One memory in full, and the memories that are like it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.errors import NoSuchMemory
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.scoring.decay import decay_scores
from vaultd.services.items import Item, item_at
from vaultd.services.meaning import Meaning
from vaultd.settings import Settings
from vaultd.vault.reader import VaultReader

SIMILAR_ABOVE: Final = 0.35  # similarity
SIMILAR_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Detail:
    """One memory with its file as it lies on disk. `checksum` is what a change must name to be sure of it."""

    item: Item
    body: str
    raw: str
    checksum: str
    problem: str
    problem_line: int | None


@dataclass(frozen=True, slots=True)
class Alike:
    """A memory that is close to another. `similarity` is 0…1."""

    item: Item
    similarity: float


class Browse:
    """Reads only; looking at a memory here is no recall."""

    def __init__(
        self,
        mirror: Mirror,
        reader: VaultReader,
        meaning: Meaning,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._mirror = mirror
        self._reader = reader
        self._meaning = meaning
        self._settings = settings
        self._clock = clock

    def item(self, note_id: str) -> Item:
        """A memory as the list shows it. Raises NoSuchMemory."""
        with self._mirror.lock:
            slot = self._mirror.slot_of(note_id)
            if slot is None or self._mirror.at(slot).role not in (Role.BUCKET, Role.OWN):
                raise NoSuchMemory(note_id)
            columns = self._mirror.columns
            scores = decay_scores(
                columns.decay().take(np.array([slot])), self._clock().timestamp(), self._settings().decay.weights
            )
            return item_at(self._mirror, slot, columns, float(scores[0]))

    def id_at(self, path: str) -> str:
        """The id of the note at a path, relative to the vault. Raises NoSuchMemory."""
        row = self._mirror.by_path(path)
        if row is None:
            raise NoSuchMemory(path)
        return row.id

    async def detail(self, note_id: str) -> Detail:
        """A memory with its file. Raises NoSuchMemory."""
        item = self.item(note_id)
        note, raw = await asyncio.to_thread(self._file, item.row.path)
        if note is None or raw is None:
            raise NoSuchMemory(note_id)
        problem = note.problem
        return Detail(
            item=item,
            body=note.body,
            raw=raw.decode("utf-8", "replace"),
            checksum=note.checksum,
            problem=problem.reason if problem else item.row.problem,
            problem_line=problem.line if problem else item.row.problem_line,
        )

    def _file(self, path: NotePath) -> tuple[Any, bytes | None]:
        return self._reader.read(path), self._reader.read_bytes(path)

    # -- what is alike --------------------------------------------------------------------------------------------

    def similar_to(self, note_id: str, *, limit: int = SIMILAR_SHOWN, least: float = SIMILAR_ABOVE) -> list[Alike]:
        """Memories like this one, closest first; none while it has no embedding. Raises NoSuchMemory."""
        self.item(note_id)
        with self._mirror.lock:
            slot = self._mirror.slot_of(note_id)
            assert slot is not None
            vector = self._mirror.first_vectors([slot])
            if not vector.shape[1] or not vector.any():
                return []
            return self._near(vector[0], limit, least, without=slot)

    async def similar_to_text(
        self, text: str, *, limit: int = SIMILAR_SHOWN, least: float = SIMILAR_ABOVE
    ) -> list[Alike]:
        """Memories like a text, closest first; none where there is no model."""
        vector = await self._meaning.of_passage(text)
        if vector is None:
            return []
        with self._mirror.lock:
            return self._near(vector, limit, least, without=None)

    def _near(self, vector: npt.NDArray[np.float32], limit: int, least: float, without: int | None) -> list[Alike]:
        alike = self._meaning.similarities(self._mirror.meaning(vector))
        alike = np.where(self._mirror.memories() & np.isfinite(alike), alike, -1.0)
        if without is not None:
            alike[without] = -1.0
        columns = self._mirror.columns
        scores = decay_scores(columns.decay(), self._clock().timestamp(), self._settings().decay.weights)
        slots = np.argsort(-alike, kind="stable")[: max(limit, 0)]
        return [
            Alike(item_at(self._mirror, int(slot), columns, float(scores[slot])), float(alike[slot]))
            for slot in slots
            if alike[slot] >= least
        ]
