"""The index in memory, kept equal to the tables: rows, columns to score over, words and vectors.

Every note has a *slot*, a number that stays its own while it is in the index; columns and scores are arrays over
slots. One thread changes the mirror (the indexer); readers hold `lock` while they compute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.note import path_key
from vaultd.index.columns import NO_NOTE, ROLE_CODES, VALUES, Columns
from vaultd.index.labels import Labels
from vaultd.index.postings import Postings, Shares, WordScores
from vaultd.index.rows import Row
from vaultd.index.tokens import counted_words, normalise, query_words
from vaultd.index.vectors import Batch, Centre, PassageRef, Vectors, as_they_are

TITLE_WEIGHT = 0.4  # of words in names, domains and tags beside words in bodies; flat from 0.3 to 0.7
LONGEST_NAME = 120  # characters; a longer question names nothing
TYPO_WEIGHT = 0.5  # of a word that is one letter away from the one asked for
TYPOS_MENDED = 4  # words of one question
COUNT_DIGITS = 6  # after the point, as the journals count


@dataclass(frozen=True, slots=True)
class Content:
    """What a body gives the index: its words with counts, its length in words, its passages."""

    words: Mapping[str, int]
    length: int
    passages: tuple[PassageRef, ...]


@dataclass(frozen=True, slots=True)
class Heads:
    """What is found of names, domains and tags: their words, and who has which label."""

    title_words: Postings
    tags: Labels
    domains: Labels

    @classmethod
    def of(cls, rows: Sequence[Row], slots: Sequence[int]) -> Heads:
        """Of some rows and their slots."""
        words, tags, domains = Postings(), Labels(), Labels()
        for slot, row in zip(slots, rows, strict=True):
            tags.change(slot, (), row.tags)
            domains.change(slot, (), row.domain)
            words.put(slot, *counted_words(_title(row)))
        return cls(words.folded(), tags, domains)


@dataclass(frozen=True, slots=True)
class Loaded:
    """All that a mirror is filled with at start: rows with their slots, passages, words; `heads` where they were kept."""

    rows: Sequence[Row]
    slots: Sequence[int]
    passages: Sequence[tuple[PassageRef, ...]]
    body_words: Postings
    heads: Heads | None = None


class Use(NamedTuple):
    """What the journals say of a note: recalls summed over machines, last use in epoch seconds (None: never)."""

    activations: float
    last: float | None


class Changed:
    """Ids of the notes that came, went or were counted, until somebody takes them out."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._ids: set[str] = set()

    def add(self, *note_ids: str) -> None:
        """Called by the mirror, which holds the lock."""
        self._ids.update(note_ids)

    def take(self) -> set[str]:
        """Those since the last time."""
        with self._lock:
            taken, self._ids = self._ids, set()
        return taken


class Mirror:
    """Rows by id and path, columns, words and vectors of one vault."""

    def __init__(self, centre: Centre = as_they_are) -> None:
        self.lock = threading.RLock()
        self.vectors = Vectors(centre)
        self.body_words = Postings()
        self.title_words = Postings()
        self.tags = Labels()
        self.domains = Labels()
        self.generation = 0
        self._rows: list[Row | None] = []
        self._slot_of_id: dict[str, int] = {}
        self._slot_of_path: dict[str, int] = {}
        self._slot_of_body: dict[str, int] = {}
        self._free: list[int] = []
        self._columns = Columns()
        self._followers: list[Changed] = []

    # -- reading --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._slot_of_id)

    @property
    def slots(self) -> int:
        """Length of the arrays over slots."""
        return len(self._rows)

    @property
    def columns(self) -> Columns:
        """Columns over all slots. Hold the lock while you use them."""
        return self._columns.upto(len(self._rows))

    def rows(self) -> Iterator[Row]:
        """All rows, in the order of their slots."""
        return (row for row in list(self._rows) if row is not None)

    def having(self, role: Role) -> list[Row]:
        """The rows of one role, in the order of their slots."""
        with self.lock:
            return [self.at(slot) for slot in np.flatnonzero(self.columns.role == ROLE_CODES[role]).tolist()]

    def follow(self) -> Changed:
        """Hear from now on of every note that is put, removed or counted."""
        changed = Changed(self.lock)
        with self.lock:
            changed.add(*self._slot_of_id)
            self._followers.append(changed)
        return changed

    def at(self, slot: int) -> Row:
        """The row at a slot. Raises KeyError where it is empty."""
        row = self._rows[slot]
        if row is None:
            raise KeyError(slot)
        return row

    def get(self, note_id: str) -> Row | None:
        """The row with this id."""
        slot = self._slot_of_id.get(note_id)
        return None if slot is None else self._rows[slot]

    def slot_of(self, note_id: str) -> int | None:
        """The slot of this id."""
        return self._slot_of_id.get(note_id)

    def by_path(self, path: str) -> Row | None:
        """The row of the note at this path; NFC and NFD spellings are one."""
        slot = self._slot_of_path.get(path_key(path))
        return None if slot is None else self._rows[slot]

    def with_body(self, body_key: str) -> Row | None:
        """The row of the note that last came with this very body."""
        slot = self._slot_of_body.get(body_key)
        row = None if slot is None else self._rows[slot]
        return row if row is not None and row.body_key == body_key else None

    def is_only_one(self, path: str) -> bool:
        """Whether a note is here whose body no other note came with since."""
        row = self.by_path(path)
        if row is None:
            return False
        other = self.with_body(row.body_key)
        return other is None or other.id == row.id

    def below(self, folder: str) -> list[Row]:
        """The rows of notes in a folder or below it; "" is the whole vault."""
        prefix = f"{path_key(folder)}/" if folder else ""
        with self.lock:
            return [self.at(slot) for path, slot in self._slot_of_path.items() if path.startswith(prefix)]

    def activation_count(self, note_id: str) -> float:
        """Combined count of a note, 0 where it is not in the index."""
        slot = self._slot_of_id.get(note_id)
        return 0.0 if slot is None else float(self._columns.activation_count[slot])

    def last_active(self, note_id: str) -> float:
        """Combined last use of a note in epoch seconds, 0 where it is not in the index."""
        slot = self._slot_of_id.get(note_id)
        return 0.0 if slot is None else float(self._columns.last_active[slot])

    def memories(self) -> npt.NDArray[np.bool_]:
        """Which slots hold buckets. Hold the lock."""
        buckets: npt.NDArray[np.bool_] = self.columns.role == ROLE_CODES[Role.BUCKET]
        return buckets

    def passages(self, slot: int) -> tuple[PassageRef, ...]:
        """The passages of a note."""
        return self.vectors.passages(slot)

    def word_scores(self, words: Mapping[str, float], *, title_weight: float = TITLE_WEIGHT) -> WordScores:
        """BM25 over bodies plus `title_weight` times BM25 over names, domains and tags, for all slots.

        A plain word that no note has is taken for a misspelling of the words one letter away from it, if there are any.
        """
        with self.lock:
            fields = (self.body_words, self.title_words)
            found = [field.found(words) for field in fields]
            frequencies = {word: max(len(one[word][0]) for one in found) for word in words}
            known = self._spelt(words, frequencies)
            for field, one in zip(fields, found, strict=True):
                one |= field.found(known.keys() - words.keys())
            body, title = (field.shares(known, frequencies, one) for field, one in zip(fields, found, strict=True))
            values = np.concatenate((body.values, np.float32(title_weight) * title.values))
            both = Shares(np.concatenate((body.slots, title.slots)), values, body.ideal)
            return WordScores(both.summed(self.slots), both.ideal)

    def named(self, text: str) -> list[int]:
        """The slots of the notes whose name is this text, capitals and widths of letters aside."""
        sought = normalise(text).strip()
        if not 0 < len(sought) <= LONGEST_NAME:
            return []
        with self.lock:
            slots = self.title_words.having_all(query_words(text))
            return [slot for slot in slots if normalise(self.at(slot).name).strip() == sought]

    def _spelt(self, words: Mapping[str, float], frequencies: dict[str, int]) -> dict[str, float]:
        """The words, with those that no note has exchanged for what may be meant; adds frequencies of the new ones."""
        known = dict(words)
        unknown = [word for word in words if not frequencies[word]]
        for word in unknown[:TYPOS_MENDED]:
            near = {*self.body_words.misspelt(word), *self.title_words.misspelt(word)} - known.keys()
            if near:
                weight = known.pop(word) * TYPO_WEIGHT
                for guess in sorted(near):
                    known[guess] = weight
                    frequencies[guess] = max(self.body_words.frequency(guess), self.title_words.frequency(guess))
        return known

    def meaning(
        self, query: npt.NDArray[np.float32], among: npt.NDArray[np.intp] | None = None
    ) -> npt.NDArray[np.float32]:
        """Cosine of each slot's best passage with a (centred) query vector; NO_COSINE where there is none yet.

        Where only the slots `among` are looked at, the others need not be right.
        """
        with self.lock:
            return self.vectors.best_cosines(query, self.slots, among)

    def first_vectors(self, slots: Sequence[int]) -> npt.NDArray[np.float32]:
        """First passage's centred embedding of each slot, (n, d); zeros where there is none yet."""
        with self.lock:
            out = np.zeros((len(slots), self.vectors.dimension), np.float32)
            for i, slot in enumerate(slots):
                refs = self.vectors.passages(slot)
                vector = self.vectors.vector(refs[0].key) if refs else None
                if vector is not None:
                    out[i] = vector
            return out

    # -- changing -------------------------------------------------------------------------------------------------

    def put(self, row: Row, content: Content | None, use: Use) -> None:
        """Insert or replace a row; `content` None keeps the words and passages of the id as they are."""
        key = path_key(row.path)
        with self.lock:
            slot = self._slot_of_id.get(row.id)
            if slot is None:
                slot = self._take_slot()
                self._slot_of_id[row.id] = slot
            else:
                self._leave_path(slot)
            before = self._rows[slot]
            other = self._slot_of_path.get(key)
            if other is not None and other != slot:
                self._clear(other)
            self._rows[slot] = row
            self._slot_of_path[key] = slot
            self._slot_of_body[row.body_key] = slot
            for name, value_of in VALUES.items():
                getattr(self._columns, name)[slot] = value_of(row)
            self._set_use(slot, row, use)
            self._set_title(slot, before, row)
            if content is not None:
                self.body_words.put(slot, content.words, content.length)
                self.vectors.put(slot, content.passages)
            self._changed()

    def remove(self, note_id: str) -> Row | None:
        """Take a row out; None where it was not there."""
        with self.lock:
            slot = self._slot_of_id.get(note_id)
            if slot is None:
                return None
            row = self._rows[slot]
            self._clear(slot)
            self._changed()
            return row

    def set_use(self, note_id: str, use: Use) -> None:
        """New counters of a note; nothing happens where it is not in the index."""
        with self.lock:
            slot = self._slot_of_id.get(note_id)
            if slot is not None:
                self._set_use(slot, self.at(slot), use)

    def stir(self, gains: Mapping[int, float], used: Iterable[int], now: float) -> None:
        """Add activations by slot; those `used` were used at `now`, in epoch seconds. Counts have six digits."""
        with self.lock:
            slots = np.fromiter(gains, np.intp, len(gains))
            counts = self._columns.activation_count
            counts[slots] = np.round(counts[slots] + np.fromiter(gains.values(), np.float64, len(gains)), COUNT_DIGITS)
            for slot in used:
                self._columns.last_active[slot] = max(self._columns.last_active[slot], now)
            self._tell(*[self.at(slot).id for slot in gains])

    def add_vectors(
        self, keys: Sequence[bytes], vectors: npt.NDArray[np.float32], shares: npt.NDArray[np.float32]
    ) -> None:
        """Take in embeddings that were computed."""
        with self.lock:
            self.vectors.add(keys, vectors, shares)
            self._changed()

    def recentre(self, centre: Centre, batches: Iterable[Batch]) -> None:
        """Go over to another centring. Called by the one thread that adds embeddings."""
        matrix = self.vectors.recentred(centre, batches)
        with self.lock:
            self.vectors.take(centre, matrix)
            self._changed()

    def fold(self) -> None:
        """Fold the word indexes where they want it. Called by the one thread that changes the mirror."""
        for name in ("body_words", "title_words"):
            postings: Postings = getattr(self, name)
            if postings.wants_fold:
                with self.lock:
                    postings.settle()
                folded = postings.folded()
                with self.lock:
                    setattr(self, name, folded)

    def load(self, loaded: Loaded, use_of: Callable[[str], Use]) -> None:
        """Fill an empty mirror."""
        rows, slots = loaded.rows, loaded.slots
        heads = loaded.heads or Heads.of(rows, slots)
        size = max(slots, default=-1) + 1
        columns = Columns(size * 5 // 4 + 256)
        for name, value_of in VALUES.items():
            getattr(columns, name)[slots] = [value_of(row) for row in rows]
        with self.lock:
            self._columns = columns
            self._rows = [None] * size
            self.body_words = loaded.body_words
            self.title_words, self.tags, self.domains = heads.title_words, heads.tags, heads.domains
            self.vectors.reserve(sum(map(len, loaded.passages)))
            for slot, row, passages in zip(slots, rows, loaded.passages, strict=True):
                self._rows[slot] = row
                self._slot_of_id[row.id] = slot
                self._slot_of_path[path_key(row.path)] = slot
                self._slot_of_body[row.body_key] = slot
                self._set_use(slot, row, use_of(row.id))
                self.vectors.put(slot, passages)
            self._free = [slot for slot, row in enumerate(self._rows) if row is None]
            self._changed()

    def loaded(self) -> Loaded:
        """All that another mirror would be filled with to be as this one, embeddings aside."""
        with self.lock:
            placed = [(slot, row) for slot, row in enumerate(self._rows) if row is not None]
            slots = [slot for slot, _ in placed]
            return Loaded(
                rows=[row for _, row in placed],
                slots=slots,
                passages=[self.vectors.passages(slot) for slot in slots],
                body_words=self.body_words,
                heads=self.heads,
            )

    @property
    def heads(self) -> Heads:
        """What is found of names, domains and tags."""
        return Heads(self.title_words, self.tags, self.domains)

    def _changed(self) -> None:
        self.generation += 1

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        self._rows.append(None)
        if len(self._rows) > len(self._columns.role):
            self._columns.grow(len(self._rows) * 2)
        return len(self._rows) - 1

    def _leave_path(self, slot: int) -> None:
        row = self._rows[slot]
        if row is not None and self._slot_of_path.get(path_key(row.path)) == slot:
            del self._slot_of_path[path_key(row.path)]

    def _clear(self, slot: int) -> None:
        row = self._rows[slot]
        if row is None:
            return
        self._leave_path(slot)
        del self._slot_of_id[row.id]
        self._tell(row.id)
        if self._slot_of_body.get(row.body_key) == slot:
            del self._slot_of_body[row.body_key]
        self._rows[slot] = None
        self._columns.role[slot] = NO_NOTE
        self.vectors.remove(slot)
        self.body_words.remove(slot)
        self._set_title(slot, row, None)
        self._free.append(slot)

    def _set_title(self, slot: int, before: Row | None, row: Row | None) -> None:
        """Labels and words of a row's head, where they are others than `before`."""
        self.tags.change(slot, before.tags if before else (), row.tags if row else ())
        self.domains.change(slot, before.domain if before else (), row.domain if row else ())
        if before is not None and row is not None and _title(before) == _title(row):
            return
        if row is None:
            self.title_words.remove(slot)
        else:
            self.title_words.put(slot, *counted_words(_title(row)))

    def _tell(self, *note_ids: str) -> None:
        for follower in self._followers:
            follower.add(*note_ids)

    def _set_use(self, slot: int, row: Row, use: Use) -> None:
        self._tell(row.id)
        self._columns.activation_count[slot] = max(row.count_floor, use.activations)
        self._columns.last_active[slot] = row.last_active if use.last is None else max(row.last_active, use.last)


def _title(row: Row) -> str:
    return " ".join((row.name, *row.domain, *row.tags))
