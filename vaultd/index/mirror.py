"""The index in memory, kept equal to the tables: rows, columns to score over, words and vectors.

Every note has a *slot*, a number that stays its own while it is in the index; columns and scores are arrays over
slots. One thread changes the mirror (the indexer); readers hold `lock` while they compute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.note import NotePath, path_key
from vaultd.index.labels import Labels
from vaultd.index.postings import Postings, WordScores
from vaultd.index.rows import Row
from vaultd.index.tokens import counted_words
from vaultd.index.vectors import Batch, Centre, PassageRef, Vectors, as_they_are
from vaultd.scoring.decay import KIND_CODES, DecayColumns

ROLES: tuple[Role, ...] = tuple(Role)
ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
NO_KIND = 255
NO_NOTE = 255  # role code of an empty slot
TITLE_WEIGHT = 0.4  # of words in names, domains and tags beside words in bodies; flat from 0.3 to 0.7
TYPO_WEIGHT = 0.5  # of a word that is one letter away from the one asked for
TYPOS_MENDED = 4  # words of one question

_COLUMNS: tuple[tuple[str, type], ...] = (
    ("role", np.uint8),
    ("kind", np.uint8),
    ("importance", np.float32),
    ("activation_count", np.float64),
    ("valence", np.float32),
    ("arousal", np.float32),
    ("resolved", np.bool_),
    ("digested", np.bool_),
    ("pinned", np.bool_),
    ("protected", np.bool_),
    ("created", np.float64),
    ("last_active", np.float64),
    ("offset_s", np.int32),
)


@dataclass(frozen=True, slots=True)
class Content:
    """What a body gives the index: its words with counts, its length in words, its passages."""

    words: Mapping[str, int]
    length: int
    passages: tuple[PassageRef, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What the journals say of a note: recalls summed over machines, last use in epoch seconds (None: never)."""

    count: float
    last: float | None


class Columns:
    """Arrays over slots; `role` is NO_NOTE where a slot is empty."""

    role: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.uint8]
    importance: npt.NDArray[np.float32]
    activation_count: npt.NDArray[np.float64]
    valence: npt.NDArray[np.float32]
    arousal: npt.NDArray[np.float32]
    resolved: npt.NDArray[np.bool_]
    digested: npt.NDArray[np.bool_]
    pinned: npt.NDArray[np.bool_]
    protected: npt.NDArray[np.bool_]
    created: npt.NDArray[np.float64]
    last_active: npt.NDArray[np.float64]
    offset_s: npt.NDArray[np.int32]

    def __init__(self, capacity: int = 256) -> None:
        for name, dtype in _COLUMNS:
            setattr(self, name, np.zeros(capacity, dtype))
        self.role[:] = NO_NOTE

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` slots."""
        size = len(self.role)
        for name, dtype in _COLUMNS:
            new: npt.NDArray[Any] = np.zeros(capacity, dtype)
            new[:size] = getattr(self, name)
            setattr(self, name, new)
        self.role[size:] = NO_NOTE

    def decay(self) -> DecayColumns:
        """The columns that the decay score looks at."""
        return DecayColumns(
            kind=self.kind,
            importance=self.importance.astype(np.float64),
            activation_count=self.activation_count,
            last_active=self.last_active,
            arousal=self.arousal.astype(np.float64),
            resolved=self.resolved,
            digested=self.digested,
            pinned=self.pinned,
            protected=self.protected,
        )

    def upto(self, size: int) -> Columns:
        """Views of the first `size` slots."""
        view = Columns.__new__(Columns)
        for name, _ in _COLUMNS:
            setattr(view, name, getattr(self, name)[:size])
        return view


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
            frequencies = {word: max(field.frequency(word) for field in fields) for word in words}
            known = self._spelt(words, frequencies)
            body, title = (field.score(known, self.slots, frequencies) for field in fields)
            return WordScores(body.scores + np.float32(title_weight) * title.scores, body.ideal)

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
            for name, value_of in _VALUES.items():
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

    def set_path(self, note_id: str, path: NotePath) -> None:
        """A move on disk that changed nothing else."""
        with self.lock:
            slot = self._slot_of_id[note_id]
            self._leave_path(slot)
            self._rows[slot] = replace(self.at(slot), path=path)
            self._slot_of_path[path_key(path)] = slot

    def set_use(self, note_id: str, use: Use) -> None:
        """New counters of a note; nothing happens where it is not in the index."""
        with self.lock:
            slot = self._slot_of_id.get(note_id)
            if slot is not None:
                self._set_use(slot, self.at(slot), use)

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

    def load(self, rows: Sequence[Row], contents: Sequence[tuple[PassageRef, ...]], uses: Mapping[str, Use]) -> None:
        """Fill an empty mirror with rows and their passages; words are loaded into `body_words` by the caller."""
        with self.lock:
            self._rows = list(rows)
            self._columns = columns = Columns(len(rows) * 5 // 4 + 256)
            for name, value_of in _VALUES.items():
                getattr(columns, name)[: len(rows)] = [value_of(row) for row in rows]
            self.vectors.reserve(sum(map(len, contents)))
            for slot, (row, passages) in enumerate(zip(rows, contents, strict=True)):
                self._slot_of_id[row.id] = slot
                self._slot_of_path[path_key(row.path)] = slot
                self._slot_of_body[row.body_key] = slot
                self._set_use(slot, row, uses.get(row.id, _NO_USE))
                self.tags.change(slot, (), row.tags)
                self.domains.change(slot, (), row.domain)
                self.title_words.put(slot, *counted_words(_title(row)))
                self.vectors.put(slot, passages)
            self.title_words = self.title_words.folded()
            self._changed()

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

    def _set_use(self, slot: int, row: Row, use: Use) -> None:
        self._columns.activation_count[slot] = max(row.count_floor, use.count)
        self._columns.last_active[slot] = row.last_active if use.last is None else max(row.last_active, use.last)


_VALUES: dict[str, Callable[[Row], object]] = {
    "role": lambda row: ROLE_CODES[row.role],
    "kind": lambda row: NO_KIND if row.kind is None else KIND_CODES[row.kind],
    "importance": attrgetter("importance"),
    "valence": attrgetter("valence"),
    "arousal": attrgetter("arousal"),
    "resolved": attrgetter("resolved"),
    "digested": attrgetter("digested"),
    "pinned": attrgetter("pinned"),
    "protected": attrgetter("protected"),
    "created": attrgetter("created"),
    "offset_s": lambda row: row.offset_minutes * 60,
}
"""The columns that a row alone says; counters are set with its use."""

_NO_USE = Use(0.0, None)


def _title(row: Row) -> str:
    return " ".join((row.name, *row.domain, *row.tags))
