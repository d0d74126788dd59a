"""The word index in memory: BM25 over postings in numpy arrays, with a small tail of recent changes.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); the idf is Lucene's
log(1 + (N − df + 0.5)/(df + 0.5)), which is never negative.

    base   word ─► [document, count] sorted by word, immutable          tail   word ─► lists, since the last fold

A changed document gets a new number and its old one dies; `folded` drops the dead and takes the tail into the base.
Only one thread changes the postings; readers hold the mirror's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

K1 = 1.2  # term frequency saturation; the usual value
B = 0.75  # length normalisation; the usual value
FOLD_AT_LEAST = 2_000  # documents in the tail
FOLD_SHARE = 0.2  # of the base

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WordScores:
    """BM25 of each slot for one question, and `ideal`: what a text of average length scores that has each word once."""

    scores: Floats
    ideal: float


class Postings:
    """Word → documents. A document is one note, at `slot` of the mirror."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._offsets: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        self._documents: Ints = np.zeros(0, np.int32)
        self._counts: npt.NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._tail: dict[int, tuple[list[int], list[int]]] = {}
        self._slot_of: Ints = np.zeros(256, np.int32)
        self._length_of: Floats = np.zeros(256, np.float32)
        self._alive: npt.NDArray[np.bool_] = np.zeros(256, np.bool_)
        self._document_of: dict[int, int] = {}
        self._next = 0
        self._based = 0
        self._total_length = 0.0

    def __len__(self) -> int:
        return len(self._document_of)

    @property
    def average_length(self) -> float:
        """Mean length of the living documents in words; 1 where there is none."""
        return self._total_length / len(self._document_of) if self._document_of and self._total_length else 1.0

    def _grow(self, size: int) -> None:
        if size <= len(self._slot_of):
            return
        capacity = max(size, len(self._slot_of) * 2)
        for name in ("_slot_of", "_length_of", "_alive"):
            old = getattr(self, name)
            new = np.zeros(capacity, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def put(self, slot: int, counts: Mapping[str, int], length: int) -> None:
        """Make `slot`'s document hold these words; an earlier one dies."""
        self.remove(slot)
        document = self._next
        self._grow(document + 1)
        self._next += 1
        words, tail = self._words, self._tail
        for word, count in counts.items():
            number = words.setdefault(word, len(words))
            entry = tail.get(number)
            if entry is None:
                tail[number] = ([document], [min(count, 65_535)])
            else:
                entry[0].append(document)
                entry[1].append(min(count, 65_535))
        self._slot_of[document] = slot
        self._length_of[document] = length
        self._alive[document] = True
        self._document_of[slot] = document
        self._total_length += length

    def remove(self, slot: int) -> None:
        """Forget `slot`'s document; nothing happens where there is none."""
        document = self._document_of.pop(slot, None)
        if document is not None:
            self._alive[document] = False
            self._total_length -= float(self._length_of[document])

    @property
    def wants_fold(self) -> bool:
        """Whether tail and dead have grown enough to make folding worth its cost."""
        recent = self._next - self._based
        return recent > max(FOLD_AT_LEAST, FOLD_SHARE * self._based)

    def load(self, words: Sequence[str], slots: Ints, lengths: Floats, sizes: Ints, codes: Ints, counts: Ints) -> None:
        """Fill empty postings at once: document i is at slots[i] and owns sizes[i] consecutive entries.

        `codes` indexes `words`; `counts` goes with it.
        """
        self._words = {str(word): i for i, word in enumerate(words)}
        self._adopt(slots, lengths)
        documents = np.repeat(np.arange(len(slots), dtype=np.int32), sizes)
        self._set_base(codes.astype(np.int32, copy=False), documents, counts)

    def _set_base(self, codes: Ints, documents: Ints, counts: npt.NDArray[Any]) -> None:
        order = np.argsort(codes, kind="stable")
        self._documents = documents[order]
        self._counts = np.minimum(counts[order], 65_535).astype(np.uint16)
        per_word = np.bincount(codes, minlength=len(self._words))
        self._offsets = np.concatenate([[0], np.cumsum(per_word)]).astype(np.int64)
        self._tail = {}

    def folded(self) -> Postings:
        """New postings with the tail in the base, without the dead, numbered anew. Costs a sort of all entries.

        This one stays as it is, so that readers may go on with it meanwhile.
        """
        living = np.flatnonzero(self._alive[: self._next])
        codes, documents, counts = self._all_entries()
        keep = self._alive[documents]
        codes, documents, counts = codes[keep], documents[keep], counts[keep]
        number = np.zeros(max(1, self._next), np.int32)
        number[living] = np.arange(len(living), dtype=np.int32)
        used = np.zeros(len(self._words), np.bool_)
        used[codes] = True
        code_of = (np.cumsum(used) - 1).astype(np.int32)

        fresh = Postings()
        fresh._words = {word: int(code_of[code]) for word, code in self._words.items() if used[code]}
        fresh._adopt(self._slot_of[living], self._length_of[living])
        fresh._set_base(code_of[codes], number[documents], counts)
        return fresh

    def _all_entries(self) -> tuple[Ints, Ints, npt.NDArray[np.uint16]]:
        based = np.repeat(np.arange(len(self._offsets) - 1, dtype=np.int32), np.diff(self._offsets))
        tail = self._tail
        sizes = [len(entry[0]) for entry in tail.values()]
        codes = np.repeat(np.fromiter(tail, np.int32, len(tail)), sizes)
        documents = np.fromiter((d for entry in tail.values() for d in entry[0]), np.int32, sum(sizes))
        counts = np.fromiter((c for entry in tail.values() for c in entry[1]), np.uint16, sum(sizes))
        return (
            np.concatenate([based, codes]),
            np.concatenate([self._documents, documents]),
            np.concatenate([self._counts, counts]),
        )

    def _adopt(self, slots: Ints, lengths: Floats) -> None:
        n = len(slots)
        self._grow(n)
        self._slot_of[:n] = slots
        self._length_of[:n] = lengths
        self._alive[:n] = True
        self._document_of = {int(slot): i for i, slot in enumerate(slots)}
        self._next = self._based = n
        self._total_length = float(lengths.sum(dtype=np.float64))

    def _entries(self, word: str) -> tuple[Ints, npt.NDArray[np.float32]]:
        """Living documents that hold the word, with counts."""
        number = self._words.get(word)
        if number is None:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        documents: Ints = np.zeros(0, np.int32)
        counts: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        if number < len(self._offsets) - 1:
            low, high = self._offsets[number], self._offsets[number + 1]
            documents = self._documents[low:high]
            counts = self._counts[low:high].astype(np.float32)
        entry = self._tail.get(number)
        if entry is not None:
            documents = np.concatenate([documents, np.array(entry[0], np.int32)])
            counts = np.concatenate([counts, np.array(entry[1], np.float32)])
        alive = self._alive[documents]
        return (documents, counts) if alive.all() else (documents[alive], counts[alive])

    def frequency(self, word: str) -> int:
        """How many living documents hold the word."""
        return len(self._entries(word)[0])

    def score(self, words: Mapping[str, float], slots: int) -> WordScores:
        """BM25 of all `slots` for weighted words; `ideal` is the sum of weight · idf."""
        scores = np.zeros(slots, np.float32)
        ideal = 0.0
        n, average = len(self._document_of), self.average_length
        for word, weight in words.items():
            documents, counts = self._entries(word)
            df = len(documents)
            idf = float(np.log1p((n - df + 0.5) / (df + 0.5)))
            ideal += weight * idf
            if not df:
                continue
            norm = K1 * (1 - B + B * self._length_of[documents] / average)
            scores[self._slot_of[documents]] += np.float32(weight * idf * (K1 + 1)) * counts / (counts + norm)
        return WordScores(scores, ideal)
