"""Embeddings in memory, and which passages of which notes they belong to.

embedding key ─► matrix row        one row per distinct text: a moved or restored note needs no new one
passage number ─► (slot, row)      row −1 while the embedding is on its way
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Centre = Callable[[Floats, Floats], Floats]
"""(vectors (n, d), shares of CJK (n,)) → unit vectors (n, d), ready to be compared."""
Batch = tuple[Sequence[bytes], Floats, Floats]
"""Embeddings as the model gave them: keys, vectors (n, d), their texts' shares of CJK (n,)."""

FEW = 0.3  # share of the slots below which their vectors are picked out: a copy costs about two reads
CENTRED_AT_ONCE = 512  # vectors: what is worked out on the way stays in the processor's cache
NO_COSINE = -2.0  # below every cosine: a note without an embedding


def as_they_are(vectors: Floats, shares: Floats) -> Floats:
    """No centring: for models other than the built-in one."""
    return vectors


@dataclass(frozen=True, slots=True)
class PassageRef:
    """A passage of a body: the key of its embedding, and where it stands (characters)."""

    key: bytes
    start: int
    end: int


class Vectors:
    """Embeddings by key, passages by slot. One thread changes it; readers hold the mirror's lock.

    `dimension` is 0 until the first embedding comes in.
    """

    def __init__(self, centre: Centre = as_they_are) -> None:
        self.dimension = 0
        self.centre = centre
        self._matrix: Floats = np.zeros((0, 0), np.float32)
        self._row_of: dict[bytes, int] = {}
        self._refs: dict[int, tuple[PassageRef, ...]] = {}
        self._first: dict[int, int] = {}  # a slot's first passage number; the others follow it
        self._waiting: dict[bytes, list[int]] = {}
        self._slot: Ints = np.zeros(64, np.int32)
        self._row: Ints = np.full(64, -1, np.int32)
        self._used = 0
        self._dead = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._row_of

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def pending(self) -> Mapping[bytes, list[int]]:
        """Keys that passages wait for."""
        return self._waiting

    def keys(self) -> Iterable[bytes]:
        """The keys of all embeddings."""
        return self._row_of.keys()

    def passages(self, slot: int) -> tuple[PassageRef, ...]:
        """The passages of a note, in order."""
        return self._refs.get(slot, ())

    def vector(self, key: bytes) -> Floats | None:
        """The (centred) embedding of a key, (d,)."""
        row = self._row_of.get(key)
        return None if row is None else self._matrix[row]

    def best_cosines(self, query: Floats, slots: int, among: npt.NDArray[np.intp] | None = None) -> Floats:
        """Per slot, the cosine of its best passage with a (centred) unit query; NO_COSINE where there is none.

        Where `among` are few of the slots, the others are left out.
        """
        best = np.full(slots, NO_COSINE, np.float32)
        rows, owners = self._row[: self._used], self._slot[: self._used]
        if among is not None and len(among) < FEW * slots and len(query) == self.dimension:
            wanted = np.zeros(slots, np.bool_)
            wanted[among] = True
            there = wanted[owners] & (rows >= 0)
            np.maximum.at(best, owners[there], self._matrix[rows[there]] @ query)
            return best
        if self._dead or self._waiting:
            there = rows >= 0
            rows, owners = rows[there], owners[there]
        if len(rows) and len(query) == self.dimension:
            cosines = self._matrix[: len(self._row_of)] @ query
            if self._used - self._dead == len(self._first):  # one passage a note
                best[owners] = cosines[rows]
            else:
                np.maximum.at(best, owners, cosines[rows])
        return best

    def waiting_slots(self) -> set[int]:
        """The slots that have a passage without an embedding."""
        return {int(self._slot[number]) for numbers in self._waiting.values() for number in numbers}

    # -- changing -------------------------------------------------------------------------------------------------

    def put(self, slot: int, refs: tuple[PassageRef, ...]) -> None:
        """Make these the passages of a slot."""
        self.remove(slot)
        if not refs:
            return
        start = self._used
        self.reserve(start + len(refs))
        for number, ref in enumerate(refs, start):
            row = self._row_of.get(ref.key, -1)
            self._slot[number], self._row[number] = slot, row
            if row < 0:
                self._waiting.setdefault(ref.key, []).append(number)
        self._used += len(refs)
        self._refs[slot] = refs
        self._first[slot] = start

    def remove(self, slot: int) -> None:
        """Forget the passages of a slot; their embeddings stay."""
        refs = self._refs.pop(slot, None)
        if refs is None:
            return
        for number, ref in enumerate(refs, self._first.pop(slot)):
            self._row[number] = -1
            waiting = self._waiting.get(ref.key)
            if waiting and number in waiting:
                waiting.remove(number)
                if not waiting:
                    del self._waiting[ref.key]
        self._dead += len(refs)
        if self._dead > 1_000 and self._dead > self._used // 2:
            self._renumber()

    def add(self, keys: Sequence[bytes], vectors: Floats, shares: Floats) -> None:
        """Take in embeddings (n, d) with their texts' shares of CJK; known keys are left alone."""
        fresh = {key: i for i, key in enumerate(keys) if key not in self._row_of}
        if not fresh:
            return
        chosen = list(fresh.values())
        start = len(self._row_of)
        self.dimension = self.dimension or vectors.shape[1]
        self._reserve_rows(start + len(chosen))
        for at in range(0, len(chosen), CENTRED_AT_ONCE):
            part = chosen[at : at + CENTRED_AT_ONCE]
            self._matrix[start + at : start + at + len(part)] = self.centre(vectors[part], shares[part])
        for row, key in enumerate(fresh, start):
            self._row_of[key] = row
            for number in self._waiting.pop(key, ()):
                self._row[number] = row

    def recentred(self, centre: Centre, batches: Iterable[Batch]) -> Floats:
        """The matrix as another centring makes it, out of the vectors as the model gave them; nothing is changed yet."""
        fresh: Floats = np.zeros_like(self._matrix)
        for keys, vectors, shares in batches:
            rows = np.array([self._row_of.get(key, -1) for key in keys])
            known = rows >= 0
            if known.any():
                fresh[rows[known]] = centre(vectors[known], shares[known])
        return fresh

    def take(self, centre: Centre, matrix: Floats) -> None:
        """Go over to another centring, with the matrix that `recentred` made while no embedding came in."""
        self.centre = centre
        self._matrix = matrix

    def _renumber(self) -> None:
        refs = self._refs
        self._refs, self._first, self._waiting = {}, {}, {}
        self._used = self._dead = 0
        for slot, passages in refs.items():
            self.put(slot, passages)

    def reserve(self, size: int) -> None:
        """Make room for so many passages."""
        if size > len(self._slot):
            extra = max(size, len(self._slot) * 2) - len(self._slot)
            self._slot = np.concatenate([self._slot, np.zeros(extra, np.int32)])
            self._row = np.concatenate([self._row, np.full(extra, -1, np.int32)])

    def _reserve_rows(self, rows: int) -> None:
        if rows > len(self._matrix):
            grown = np.zeros((max(rows, int(len(self._matrix) * 1.25) + 64), self.dimension), np.float32)
            if self._row_of:
                grown[: len(self._row_of)] = self._matrix[: len(self._row_of)]
            self._matrix = grown
