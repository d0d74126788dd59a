"""The word index in memory: BM25 over postings in numpy arrays.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); the idf is Lucene's
log(1 + (N − df + 0.5)/(df + 0.5)), which is never negative.

    fresh      documents put since the last question, as they came
    hot        word ─► lists, of a few documents
    segments   word ─► (document, count), sorted by word, immutable; the first one is the bulk

A changed document gets a new number and its old one dies; `folded` drops the dead and makes one segment of all.
Only one thread changes the postings; readers hold the mirror's lock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

K1 = 1.2  # term frequency saturation; the usual value
B = 0.6  # length normalisation; below the usual 0.75, since memories are short and a long one holds more; measured
IDEAL_WORDS = 6  # the words of a question that a note can be expected to hold: long questions ramble
NEGLIGIBLE = 0.02  # of the weightiest word's worth: words below it are passed over, for they cost most and say least
TYPO_LETTERS = 5  # shortest word that may be a misspelling
FOLD_AT_LEAST = 5_000  # documents put since the last fold
FOLD_SHARE = 0.5  # of those before
SEGMENT_FROM = 64  # fresh documents that are worth a segment of their own; fewer go into the hot lists
HOT_LIMIT = 256  # documents in the hot lists before they become a segment
MOST_COUNT = 255  # of one word in one note; more would add less than half a percent to its score

Ints = npt.NDArray[np.int32]
Counts = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Found = dict[str, tuple[Ints, Counts]]
"""Word → documents and counts."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """BM25 of each slot for one question, and `ideal`: what its weightiest words are worth, at most IDEAL_WORDS of them.

    A text of average length that has each of these words once scores `ideal`.
    """

    scores: Floats
    ideal: float


@dataclass(frozen=True, slots=True)
class Shares:
    """What single words add to the scores of slots: `values[i]` to that of `slots[i]`; `ideal` as in WordScores."""

    slots: Ints
    values: Floats
    ideal: float

    def summed(self, size: int) -> Floats:
        """The scores of all `size` slots."""
        return np.bincount(self.slots, self.values, size).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Entries sorted by word: those of `codes[i]` are `documents[offsets[i]:offsets[i + 1]]`."""

    codes: Ints
    offsets: npt.NDArray[np.int64]
    documents: Ints
    counts: Counts

    @classmethod
    def of(cls, codes: Ints, documents: Ints, counts: npt.NDArray[Any]) -> _Segment:
        """A segment of entries in any order; documents keep their order within a word."""
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
        return cls(
            codes=ordered[starts],
            offsets=np.append(starts, len(ordered)).astype(np.int64),
            documents=documents[order],
            counts=np.minimum(counts[order], MOST_COUNT).astype(np.uint8),
        )

    def entries(self, code: int) -> tuple[Ints, Counts]:
        """Documents and counts of one word."""
        at, end = code, len(self.codes)
        if at >= end or self.codes.item(at) != code:  # the bulk has all words, each at its number
            at = int(self.codes.searchsorted(np.int32(code)))  # a plain int would have the codes copied as 64 bits
            if at == end or self.codes.item(at) != code:
                return self.documents[:0], self.counts[:0]
        low, high = self.offsets.item(at), self.offsets.item(at + 1)
        return self.documents[low:high], self.counts[low:high]

    def all(self) -> tuple[Ints, Ints, Counts]:
        """Code, document and count of every entry."""
        return np.repeat(self.codes, np.diff(self.offsets)), self.documents, self.counts


_NOWHERE: tuple[Ints, Counts] = np.zeros(0, np.int32), np.zeros(0, np.uint8)


class _Codes(dict[str, int]):
    """Word → its number; a new word takes the next one."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class Postings:
    """Word → documents. A document is one note, at `slot` of the mirror."""

    def __init__(self) -> None:
        self._words = _Codes()
        self._segments: list[_Segment] = []
        self._fresh: list[tuple[int, Ints, Ints]] = []
        self._hot: dict[int, tuple[list[int], list[int]]] = {}
        self._hot_documents = 0
        self._slot_of: Ints = np.zeros(256, np.int32)
        self._length_of: Floats = np.zeros(256, np.float32)
        self._alive: npt.NDArray[np.bool_] = np.zeros(256, np.bool_)
        self._document_of: dict[int, int] = {}
        self._next = 0
        self._based = 0
        self._total_length = 0.0
        self._norms_of: tuple[int, float, int] | None = None
        self._norm_of: Floats = np.zeros(0, np.float32)

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
        size = len(counts)
        codes = np.fromiter(map(self._words.__getitem__, counts), np.int32, size)
        self._fresh.append((document, codes, np.fromiter(counts.values(), np.int32, size)))
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
        """Whether enough documents have come to make folding worth its cost."""
        recent = self._next - self._based
        return recent > max(FOLD_AT_LEAST, FOLD_SHARE * self._based)

    def load(self, words: Sequence[str], slots: Ints, lengths: Floats, sizes: Ints, codes: Ints, counts: Ints) -> None:
        """Fill empty postings at once: document i is at slots[i] and owns sizes[i] consecutive entries.

        `codes` indexes `words`; `counts` goes with it.
        """
        self._words = _Codes(zip(words, range(len(words)), strict=True))
        self._adopt(slots, lengths)
        documents = np.repeat(np.arange(len(slots), dtype=np.int32), sizes)
        self._segments = [_Segment.of(codes.astype(np.int32, copy=False), documents, counts)]

    def flat(self) -> dict[str, Any]:
        """All of it as plain values and arrays, for `of`."""
        self.settle()
        self._freeze_hot()
        number = np.min_scalar_type(
            self._next
        )  # documents are most of it: two bytes each, where there are not too many
        return {
            "words": list(self._words),
            "slots": self._slot_of[: self._next],
            "lengths": self._length_of[: self._next],
            "alive": self._alive[: self._next],
            "based": self._based,
            "number": number.str,
            "segments": [(s.codes, s.offsets, s.documents.astype(number), s.counts) for s in self._segments],
        }

    @classmethod
    def of(cls, flat: Mapping[str, Any]) -> Postings:
        """What `flat` came from; arrays may be given as their bytes."""
        postings = cls()
        postings._words = _Codes(zip(flat["words"], range(len(flat["words"])), strict=True))
        slots, lengths = np.frombuffer(flat["slots"], np.int32), np.frombuffer(flat["lengths"], np.float32)
        postings._adopt(slots, lengths, np.frombuffer(flat["alive"], np.bool_))
        postings._based = flat["based"]
        for codes, offsets, documents, counts in flat["segments"]:
            segment = _Segment(
                codes=np.frombuffer(codes, np.int32),
                offsets=np.frombuffer(offsets, np.int64),
                documents=np.frombuffer(documents, flat["number"]).astype(np.int32),
                counts=np.frombuffer(counts, np.uint8),
            )
            postings._segments.append(segment)
        return postings

    def folded(self) -> Postings:
        """New postings of one segment, without the dead, numbered anew. Costs a sort of all entries.

        This one stays as it is, so that readers may go on with it meanwhile; `settle` it before, for a question moves
        what was put since the last one.
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
        kept = [word for word, code in self._words.items() if used[code]]
        fresh._words = _Codes(zip(kept, range(len(kept)), strict=True))
        fresh._adopt(self._slot_of[living], self._length_of[living])
        fresh._segments = [_Segment.of(code_of[codes], number[documents], counts)]
        return fresh

    def _all_entries(self) -> tuple[Ints, Ints, Counts]:
        parts = [segment.all() for segment in self._segments]
        columns = self._hot_entries()
        parts.append((columns[:, 0], columns[:, 1], np.minimum(columns[:, 2], MOST_COUNT).astype(np.uint8)))
        if self._fresh:
            parts.append(_columns(self._fresh))
        codes, documents, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return codes, documents, counts

    def settle(self) -> None:
        """Make what was put since the last question findable. Hold the mirror's lock."""
        if not self._fresh:
            return
        if len(self._fresh) >= SEGMENT_FROM:
            self._segments.append(_Segment.of(*_columns(self._fresh)))
        else:
            for document, codes, counts in self._fresh:
                for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                    entry = self._hot.setdefault(code, ([], []))
                    entry[0].append(document)
                    entry[1].append(min(count, MOST_COUNT))
            self._hot_documents += len(self._fresh)
        self._fresh = []
        if self._hot_documents >= HOT_LIMIT:
            self._freeze_hot()

    def _freeze_hot(self) -> None:
        if self._hot:
            columns = self._hot_entries()
            self._segments.append(_Segment.of(columns[:, 0], columns[:, 1], columns[:, 2]))
            self._hot, self._hot_documents = {}, 0

    def _hot_entries(self) -> Ints:
        """Code, document and count of every entry of the hot lists, (n, 3)."""
        hot = [(code, d, c) for code, lists in self._hot.items() for d, c in zip(*lists, strict=True)]
        return np.array(hot, np.int32).reshape(-1, 3)

    def _adopt(self, slots: Ints, lengths: Floats, alive: npt.NDArray[np.bool_] | None = None) -> None:
        """Take documents over, number i at slots[i]; all of them live where nothing else is said."""
        n = len(slots)
        self._grow(n)
        self._slot_of[:n] = slots
        self._length_of[:n] = lengths
        self._alive[:n] = True if alive is None else alive
        living = np.flatnonzero(self._alive[:n])
        self._document_of = dict(zip(slots[living].tolist(), living.tolist(), strict=True))
        self._next = self._based = n
        self._total_length = float(lengths[living].sum(dtype=np.float64))

    def _entries(self, word: str) -> tuple[Ints, Counts]:
        """Living documents that hold the word, with counts."""
        number = self._words.get(word)
        if number is None:
            return _NOWHERE
        found = [entries for segment in self._segments if len((entries := segment.entries(number))[0])]
        hot = self._hot.get(number)
        if hot is not None:
            found.append((np.array(hot[0], np.int32), np.array(hot[1], np.uint8)))
        documents, counts = found[0] if found else _NOWHERE
        if len(found) > 1:
            documents = np.concatenate([one for one, _ in found])
            counts = np.concatenate([one for _, one in found])
        if self._next == len(self._document_of):
            return documents, counts
        alive = self._alive[documents]
        return (documents, counts) if alive.all() else (documents[alive], counts[alive])

    def found(self, words: Iterable[str]) -> Found:
        """The living documents that hold each of these words, as they are now. Hold the mirror's lock."""
        self.settle()
        return {word: self._entries(word) for word in words}

    def having_all(self, words: Collection[str]) -> list[int]:
        """The slots of the living documents that hold every one of these words; none for no words."""
        self.settle()
        if not all(word in self._words for word in words):
            return []
        slots: set[int] | None = None
        for word in words:
            these = self._slot_of[self._entries(word)[0]].tolist()
            slots = set(these) if slots is None else slots.intersection(these)
            if not slots:
                break
        return sorted(slots or ())

    def frequency(self, word: str) -> int:
        """How many living documents hold the word."""
        return len(self.found((word,))[word][0])

    def misspelt(self, word: str) -> tuple[str, ...]:
        """Words of the index that are one letter away from a plain word and begin alike; none for short words.

        One letter is left out, put in or changed, or two neighbours are swapped. The index is asked for every word that
        can come of it (some hundreds), which costs the same however many words it has.
        """
        if len(word) < TYPO_LETTERS or not (word.isascii() and word.isalpha()):
            return ()
        known = sorted(near for near in _one_letter_away(word) if near in self._words)
        return tuple(near for near in known if self.frequency(near))

    def score(self, words: Mapping[str, float], slots: int) -> WordScores:
        """BM25 of all `slots` for weighted words. Hold the mirror's lock."""
        found = self.found(words)
        shares = self.shares(words, {word: len(documents) for word, (documents, _) in found.items()}, found)
        return WordScores(shares.summed(slots), shares.ideal)

    def shares(self, words: Mapping[str, float], frequencies: Mapping[str, int], found: Found) -> Shares:
        """What each of the weighted words adds to the BM25 of those that have it.

        `frequencies` are the document frequencies to reckon with, where a note is more than these postings know;
        `found` is what was looked up of the words just now.
        """
        worth = {word: weight * self._idf(frequencies[word]) for word, weight in words.items()}
        least = NEGLIGIBLE * max(worth.values(), default=0.0)
        told = [(value, *found[word]) for word, value in worth.items() if value >= least and len(found[word][0])]
        ideal = sum(sorted(worth.values(), reverse=True)[:IDEAL_WORDS])
        if not told:
            return Shares(np.zeros(0, np.int32), np.zeros(0, np.float32), ideal)
        documents = np.concatenate([entries for _, entries, _ in told])
        counts = np.concatenate([entries for *_, entries in told]).astype(np.float32)
        values = np.array([value * (K1 + 1) for value, *_ in told], np.float32).repeat([len(d) for _, d, _ in told])
        values *= counts
        counts += self._norms().take(documents)
        values /= counts
        return Shares(self._slot_of.take(documents), values, ideal)

    def _norms(self) -> Floats:
        """What a document's length adds to a count, by document; kept until a document comes or goes."""
        state = (self._next, self._total_length, len(self._document_of))
        if self._norms_of != state:
            self._norms_of = state
            self._norm_of = K1 * (1 - B) + np.float32(K1 * B / self.average_length) * self._length_of[: self._next]
        return self._norm_of

    def _idf(self, frequency: int) -> float:
        rest = max(len(self._document_of), frequency) - frequency
        return math.log1p((rest + 0.5) / (frequency + 0.5))


@lru_cache(maxsize=8)  # bodies and titles are asked for the same words, one after the other
def _one_letter_away(word: str) -> frozenset[str]:
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    swaps = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    gaps = {a + b[1:] for a, b in cuts if b}
    changes = {a + letter + b[1:] for a, b in cuts if b for letter in ascii_lowercase}
    return frozenset(swaps | gaps | changes | {a + letter + b for a, b in cuts for letter in ascii_lowercase})


def _columns(documents: Sequence[tuple[int, Ints, Ints]]) -> tuple[Ints, Ints, Counts]:
    """Code, document and count of every entry of some documents."""
    sizes = [len(codes) for _, codes, _ in documents]
    return (
        np.concatenate([codes for _, codes, _ in documents]),
        np.repeat(np.array([document for document, _, _ in documents], np.int32), sizes),
        np.minimum(np.concatenate([counts for _, _, counts in documents]), MOST_COUNT).astype(np.uint8),
    )
