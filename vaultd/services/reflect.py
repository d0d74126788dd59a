"""Look back over recent memories: what is new, what belongs together, what has become a conviction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Bucket, Kind, Role
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror
from vaultd.scoring.constants import CONNECTION_SIMILARITY, CRYSTAL_FELLOWS, CRYSTAL_SIMILARITY
from vaultd.scoring.decay import KIND_CODES
from vaultd.services.meaning import Meaning
from vaultd.services.showing import Showing
from vaultd.services.texts import Texts

RECENT = 10  # INTERNALS §3.8
CHARACTERS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent memory and the beginning of its text."""

    bucket: Bucket
    text: str


@dataclass(frozen=True, slots=True)
class Connection:
    """Two memories that seem to belong together."""

    first: Bucket
    second: Bucket
    similarity: float


@dataclass(frozen=True, slots=True)
class Crystal:
    """A feel that others agree with: worth pinning."""

    feel: Bucket
    text: str
    companions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reflection:
    """What there is to reflect on."""

    recent: tuple[Recent, ...]
    connection: Connection | None
    crystals: tuple[Crystal, ...]


class Reflect:
    """Reads only."""

    def __init__(self, mirror: Mirror, texts: Texts, meaning: Meaning, showing: Showing) -> None:
        self._mirror = mirror
        self._texts = texts
        self._meaning = meaning
        self._showing = showing

    async def __call__(self) -> Reflection:
        """The ten newest undigested memories, the closest pair among them, and crystals among the feels."""
        with self._mirror.lock:
            columns = self._mirror.columns
            dynamic = (columns.role == ROLE_CODES[Role.BUCKET]) & (columns.kind == KIND_CODES[Kind.DYNAMIC])
            dynamic &= ~columns.digested & ~columns.pinned & ~columns.protected
            slots = np.flatnonzero(dynamic)
            slots = slots[np.argsort(-columns.created[slots], kind="stable")][:RECENT]
            feels = np.flatnonzero((columns.role == ROLE_CODES[Role.BUCKET]) & (columns.kind == KIND_CODES[Kind.FEEL]))
            rows = [self._mirror.at(int(slot)) for slot in slots]
            feel_rows = [self._mirror.at(int(slot)) for slot in feels]
            alike = self._alike(slots)
            alike_feels = self._alike(feels)
        buckets = [self._showing.bucket(row.id) for row in rows]
        bodies = await self._texts.bodies([row.path for row in rows])
        recent = tuple(Recent(b, (text or "")[:CHARACTERS_SHOWN]) for b, text in zip(buckets, bodies, strict=True))
        crystals: list[Crystal] = []
        for i, companions in _crystals(alike_feels):
            (text,) = await self._texts.bodies([feel_rows[i].path])
            ids = tuple(feel_rows[j].id for j in companions)
            crystals.append(Crystal(self._showing.bucket(feel_rows[i].id), text or "", ids))
        return Reflection(recent, _closest(buckets, alike), tuple(crystals))

    def _alike(self, slots: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """(n, n) calibrated similarities; NaN where an embedding is missing and on the diagonal."""
        n = len(slots)
        out = np.full((n, n), np.nan)
        if n < 2:
            return out
        vectors = self._mirror.first_vectors([int(slot) for slot in slots])
        if not vectors.shape[1]:
            return out
        there = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
        cosines = (vectors[there] @ vectors[there].T).astype(np.float32)
        out[np.ix_(there, there)] = self._meaning.similarities(cosines)
        np.fill_diagonal(out, np.nan)
        return out


def _closest(buckets: list[Bucket], alike: npt.NDArray[np.float64]) -> Connection | None:
    if not np.isfinite(alike).any():
        return None
    i, j = np.unravel_index(int(np.nanargmax(alike)), alike.shape)
    best = float(alike[i, j])
    if best <= CONNECTION_SIMILARITY:
        return None
    return Connection(buckets[min(i, j)], buckets[max(i, j)], best)


def _crystals(alike: npt.NDArray[np.float64]) -> list[tuple[int, list[int]]]:
    """Feels with enough companions, most of them first; one crystal of each group."""
    close = np.nan_to_num(alike, nan=0.0) > CRYSTAL_SIMILARITY
    out: list[tuple[int, list[int]]] = []
    told: set[int] = set()
    for i in np.argsort(-close.sum(axis=1), kind="stable"):
        companions = np.flatnonzero(close[i]).tolist()
        if len(companions) >= CRYSTAL_FELLOWS and int(i) not in told:
            out.append((int(i), companions))
            told.update([int(i), *companions])
    return out
