"""The list of memories as a person looks through it: filtered, sorted, page by page."""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Kind
from vaultd.core.errors import BadInput
from vaultd.index.columns import Columns
from vaultd.index.mirror import Mirror
from vaultd.index.tokens import query_words
from vaultd.scoring.decay import KIND_CODES, decay_scores
from vaultd.services.items import Item, item_at
from vaultd.settings import Settings

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]

PAGE_DEFAULT: Final = 50  # memories
PAGE_LIMIT: Final = 500
FADING_BELOW: Final = 1.0  # decay score; some three times the score at which a memory is archived
MOST_FACETS: Final = 200


class State(StrEnum):
    """The filters of the list beside kind, domain and tag."""

    UNRESOLVED = "unresolved"
    RESOLVED = "resolved"
    PINNED = "pinned"
    DIGESTED = "digested"
    FADING = "fading"
    PROBLEM = "problem"


class Sort(StrEnum):
    """What the list is ordered by; a minus in front turns the order around."""

    SCORE = "score"
    CREATED = "created"
    ACTIVE = "last_active"
    IMPORTANCE = "importance"
    COUNT = "activation_count"
    VALENCE = "valence"
    AROUSAL = "arousal"
    NAME = "name"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list. Without `kinds`, all but the archive."""

    text: str = ""
    kinds: tuple[Kind, ...] = ()
    domain: str = ""
    tag: str = ""
    state: State | None = None
    sort: Sort | None = None
    ascending: bool = False
    limit: int = PAGE_DEFAULT
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list. `cursor` leads to the next one, "" at the end; `total` counts what the filters leave."""

    items: tuple[Item, ...]
    total: int
    cursor: str


@dataclass(frozen=True, slots=True)
class Facets:
    """How many memories there are of each kind, state, domain and tag; the archive counts in its kind alone."""

    kinds: Mapping[str, int]
    states: Mapping[str, int]
    domains: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, int], ...]


class MemoryList:
    """Reads only; looking at a memory here is no recall."""

    def __init__(self, mirror: Mirror, settings: Callable[[], Settings], clock: Callable[[], datetime]) -> None:
        self._mirror = mirror
        self._settings = settings
        self._clock = clock
        self._facets: tuple[int, Facets] | None = None
        self._words: tuple[int, dict[str, dict[str, list[int]]]] | None = None
        self._ranks: _Ranks | None = None

    def page(self, listing: Listing) -> Page:
        """One page. Blocks for some milliseconds. Raises BadInput for a cursor that is none of ours."""
        at = _Cursor.read(listing.cursor)
        now = at.now if at else self._clock().timestamp()
        with self._mirror.lock:
            columns = self._mirror.columns
            scores = decay_scores(columns.decay(), now, self._settings().decay.weights)
            mask, relevance = self._mask(listing, columns, scores)
            slots = np.flatnonzero(mask)
            sort = listing.sort or (Sort.RELEVANCE if listing.text.strip() else Sort.SCORE)
            ranks = self._order_of_words()
            names = ranks.names if sort is Sort.NAME else None
            keys = ranks.name_rank[slots] if names is not None else self._keys(sort, slots, columns, scores, relevance)
            if not listing.ascending:
                keys = -keys
            # the id decides among equals: an order that lasts from page to page
            order = np.lexsort((ranks.id_rank[slots], keys))
            start = 0 if at is None else _behind(at, keys, ranks.id_rank[slots], ranks, names, listing.ascending)
            chosen = slots[order[start : start + min(max(listing.limit, 1), PAGE_LIMIT)]]
            items = tuple(item_at(self._mirror, int(slot), columns, float(scores[slot])) for slot in chosen)
            more = start + len(chosen) < len(slots)
            cursor = ""
            if more and len(chosen):
                last = (
                    float(abs(keys[order[start + len(chosen) - 1]])) if names is None else items[-1].row.name.casefold()
                )
                cursor = _Cursor(now, last, items[-1].row.id).written()
        return Page(items, len(slots), cursor)

    def _order_of_words(self) -> _Ranks:
        """Where each slot's id and name stand among all; computed anew when the index has changed."""
        generation = self._mirror.generation
        if self._ranks is None or self._ranks.generation != generation:
            self._ranks = _Ranks.of(self._mirror, generation)
        return self._ranks

    def facets(self) -> Facets:
        """Counts for the filters; computed anew when the index has changed."""
        with self._mirror.lock:
            generation = self._mirror.generation
            if self._facets is not None and self._facets[0] == generation:
                return self._facets[1]
            found = self._counted()
            self._facets = (generation, found)
            return found

    def _counted(self) -> Facets:
        columns = self._mirror.columns
        memories = self._mirror.memories()
        live = memories & (columns.kind != KIND_CODES[Kind.ARCHIVED])
        words = self._slots_by_word()
        return Facets(
            kinds={kind.value: int((memories & (columns.kind == KIND_CODES[kind])).sum()) for kind in Kind},
            states={state.value: int((live & self._state(state, columns, None)).sum()) for state in State},
            domains=_most(words["domain"], live),
            tags=_most(words["tag"], live),
        )

    def _slots_by_word(self) -> dict[str, dict[str, list[int]]]:
        generation = self._mirror.generation
        if self._words is not None and self._words[0] == generation:
            return self._words[1]
        found: dict[str, dict[str, list[int]]] = {"domain": {}, "tag": {}}
        for slot in np.flatnonzero(self._mirror.memories()).tolist():
            row = self._mirror.at(slot)
            for domain in row.domain:
                found["domain"].setdefault(domain, []).append(slot)
            for tag in row.tags:
                found["tag"].setdefault(tag, []).append(slot)
        self._words = (generation, found)
        return found

    def _mask(self, listing: Listing, columns: Columns, scores: Floats) -> tuple[Flags, Floats]:
        mask = self._mirror.memories()
        kinds = listing.kinds or tuple(kind for kind in Kind if kind is not Kind.ARCHIVED)
        mask = mask & np.isin(columns.kind, [KIND_CODES[kind] for kind in kinds])
        for kind, wanted in (("domain", listing.domain), ("tag", listing.tag)):
            if wanted:
                having = np.zeros_like(mask)
                having[self._slots_by_word()[kind].get(wanted, [])] = True
                mask = mask & having
        if listing.state is not None:
            mask = mask & self._state(listing.state, columns, scores)
        relevance: Floats = np.zeros(len(mask))
        text = listing.text.strip()
        if text:
            relevance = self._relevance(text, mask)
            mask = mask & (relevance > 0)
        return mask, relevance

    def _state(self, state: State, columns: Columns, scores: Floats | None) -> Flags:
        fades = (columns.kind == KIND_CODES[Kind.DYNAMIC]) & ~columns.pinned & ~columns.protected
        mask: Flags
        match state:
            case State.UNRESOLVED:
                mask = fades & ~columns.resolved
            case State.RESOLVED:
                mask = columns.resolved
            case State.PINNED:
                mask = columns.pinned | columns.protected | (columns.kind == KIND_CODES[Kind.PERMANENT])
            case State.DIGESTED:
                mask = columns.digested
            case State.FADING:
                if scores is None:
                    now = self._clock().timestamp()
                    scores = decay_scores(columns.decay(), now, self._settings().decay.weights)
                mask = fades & (scores < FADING_BELOW)
            case State.PROBLEM:
                mask = np.zeros(len(columns.kind), np.bool_)
                for slot in np.flatnonzero(self._mirror.memories()).tolist():
                    mask[slot] = bool(self._mirror.at(slot).problem)
        return mask

    def _relevance(self, text: str, mask: Flags) -> Floats:
        """What every word of the text says for each slot; a name that holds the text comes first."""
        found = self._mirror.word_scores(dict.fromkeys(query_words(text), 1.0), title_weight=2.0)
        relevance: Floats = found.scores.astype(np.float64)
        folded = text.casefold()
        for slot in np.flatnonzero(mask).tolist():
            row = self._mirror.at(slot)
            if folded in row.name.casefold():
                relevance[slot] += 1_000.0
            elif row.id == folded or any(folded in word.casefold() for word in (*row.domain, *row.tags)):
                relevance[slot] += 100.0
        return relevance

    @staticmethod
    def _keys(sort: Sort, slots: npt.NDArray[np.intp], columns: Columns, scores: Floats, relevance: Floats) -> Floats:
        values: Mapping[Sort, npt.NDArray[Any]] = {
            Sort.SCORE: scores,
            Sort.CREATED: columns.created,
            Sort.ACTIVE: columns.last_active,
            Sort.IMPORTANCE: columns.importance,
            Sort.COUNT: columns.activation_count,
            Sort.VALENCE: columns.valence,
            Sort.AROUSAL: columns.arousal,
            Sort.RELEVANCE: relevance,
        }
        keys: Floats = values[sort][slots].astype(np.float64)
        return keys


def _most(slots_by_word: Mapping[str, list[int]], live: Flags) -> tuple[tuple[str, int], ...]:
    counts = Counter({word: int(live[slots].sum()) for word, slots in slots_by_word.items()})
    return tuple((word, count) for word, count in counts.most_common(MOST_FACETS) if count)


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ids and names in order, and the place of each slot's among them."""

    generation: int
    ids: npt.NDArray[np.str_]
    id_rank: Ints
    names: npt.NDArray[np.str_]
    name_rank: Ints

    @classmethod
    def of(cls, mirror: Mirror, generation: int) -> _Ranks:
        ids, names = [""] * mirror.slots, [""] * mirror.slots
        for slot in np.flatnonzero(mirror.memories()).tolist():
            row = mirror.at(slot)
            ids[slot], names[slot] = row.id, row.name.casefold()
        sorted_ids, id_rank = np.unique(np.array(ids, np.str_), return_inverse=True)
        sorted_names, name_rank = np.unique(np.array(names, np.str_), return_inverse=True)
        return cls(generation, sorted_ids, id_rank, sorted_names, name_rank)


def _behind(
    at: _Cursor,
    keys: npt.NDArray[Any],
    id_ranks: Ints,
    ranks: _Ranks,
    names: npt.NDArray[np.str_] | None,
    ascending: bool,
) -> int:
    """How many come up to the cursor; what it points at may be gone."""
    if isinstance(at.key, str) != (names is not None):
        raise BadInput("cursor: belongs to a list in another order")
    up_to_id = id_ranks < np.searchsorted(ranks.ids, at.id, side="right")
    if names is None:
        key = at.key if ascending else -at.key
        return int(((keys < key) | ((keys == key) & up_to_id)).sum())
    left, right = (np.searchsorted(names, at.key, side=side) for side in ("left", "right"))
    place = keys if ascending else -keys
    same = (place >= left) & (place < right)
    before = place < left if ascending else place >= right
    return int((before | (same & up_to_id)).sum())


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where a page ended, and the moment whose scores the list was ordered by."""

    now: float
    key: Any
    id: str

    def written(self) -> str:
        text = json.dumps([self.now, self.key, self.id], ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> _Cursor | None:
        if not text:
            return None
        try:
            now, key, note_id = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (ValueError, binascii.Error, TypeError) as exc:
            raise BadInput("cursor: is none that this list gave out; leave it out to begin again") from exc
        if not isinstance(now, int | float) or not isinstance(key, int | float | str) or not isinstance(note_id, str):
            raise BadInput("cursor: is none that this list gave out; leave it out to begin again")
        return cls(float(now), key, note_id)
