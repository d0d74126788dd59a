"""Which cards are worth a place in the prompt: candidates by meaning and words, final score, variety; often none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.card import Category, Intent
from vaultd.core.note import NotePath
from vaultd.core.text import share_of_cjk
from vaultd.index.mirror import ROLE_CODES, Mirror
from vaultd.index.rows import Row
from vaultd.index.tokens import weighted_words
from vaultd.index.vectors import NO_COSINE
from vaultd.scoring.cardfit import belonging, standing
from vaultd.scoring.constants import CARD_CANDIDATES, SCORE_GRAIN, FinalWeights
from vaultd.scoring.final import CATEGORY_CODES, CardColumns, FinalColumns, final_scores, keyword_score, keyword_terms
from vaultd.scoring.final import lambdas_of as lambdas
from vaultd.scoring.intent import speaks_of_oneself
from vaultd.scoring.selection import mmr
from vaultd.services.cards import Cards, CardView, sees
from vaultd.services.intents import Intents
from vaultd.services.meaning import Meaning
from vaultd.services.texts import Texts
from vaultd.settings import Settings

Floats = npt.NDArray[np.float32]
Slots = npt.NDArray[np.intp]

QUERY_CHARACTERS: Final = 2_000  # of a message that are compared with the cards
BODIES_KEPT: Final = 20_000
HALF: Final = 0.5
LEAST_SIMILARITY: Final = 0.05  # below these two a card has no chance
LEAST_COVERAGE: Final = 0.25


class CardFate(StrEnum):
    """What became of a candidate."""

    KEPT = "kept"
    BELOW_THRESHOLD = "below_threshold"
    BELOW_FLOOR = "below_floor"
    THIS_CONVERSATION = "this_conversation"
    BEYOND_LIMIT = "beyond_limit"


@dataclass(frozen=True, slots=True)
class CardParts:
    """The final score of a card and what it is made of, all 0…1; `similarity` as in `scoring.cardfit`."""

    final: float
    relevance: float
    similarity: float
    keyword: float
    typefit: float
    importance: float
    recency: float


@dataclass(frozen=True, slots=True)
class CardHit:
    """A candidate with its score and what became of it."""

    view: CardView
    slot: int
    parts: CardParts
    fate: CardFate


@dataclass(frozen=True, slots=True)
class Recalled:
    """Hits, kept ones first and in the order of their choice; the intent; how many cards could have been found."""

    hits: tuple[CardHit, ...]
    intent: Intent
    searched: int

    @property
    def kept(self) -> tuple[CardHit, ...]:
        """Those worth a place."""
        return tuple(hit for hit in self.hits if hit.fate is CardFate.KEPT)


@dataclass(frozen=True, slots=True)
class CardQuery:
    """What is looked for. `intent` None: found from the message."""

    text: str
    sight: str | None = None
    scope: str | None = None
    conversation_id: str = ""
    category: str = ""
    intent: Intent | None = None
    limit: int = 3


class CardRecall:
    """Finds cards. `query.sight` is the caller's scope, `query.scope` one that the question asks for."""

    def __init__(
        self,
        mirror: Mirror,
        meaning: Meaning,
        intents: Intents,
        cards: Cards,
        texts: Texts,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._mirror = mirror
        self._meaning = meaning
        self._intents = intents
        self._cards = cards
        self._texts = texts
        self._settings = settings
        self._clock = clock
        self._table = (-1, np.zeros(0, np.intp), list[Row](), np.zeros(0, np.bool_))
        self._bodies: dict[str, tuple[str, str]] = {}

    async def __call__(self, query: CardQuery) -> Recalled:
        """The cards for a message; nothing relevant, nothing kept."""
        text = query.text[:QUERY_CHARACTERS]
        raw = await self._meaning.raw_of(text) if self._has_cards() else None
        vector = None if raw is None else await self._meaning.of(text)
        intent = query.intent or self._intents(text, raw)
        return await asyncio.to_thread(self._recall, text, query, vector, intent)

    def _has_cards(self) -> bool:
        with self._mirror.lock:
            return bool((self._mirror.columns.role == ROLE_CODES[Role.CARD]).any())

    def similarities(self, vector: Floats, card_ids: Iterable[str]) -> dict[str, float]:
        """Calibrated similarity, 0…1, of an embedding with these cards; 0 where a card has none yet."""
        with self._mirror.lock:
            slots = {card_id: self._mirror.slot_of(card_id) for card_id in card_ids}
            cosines = self._mirror.meaning(vector)
        there = {card_id: slot for card_id, slot in slots.items() if slot is not None}
        values = np.nan_to_num(self._meaning.similarities(cosines[list(there.values())])) if there else ()
        return {card_id: float(value) for card_id, value in zip(there, values, strict=True)}

    def embedding_of(self, card_id: str) -> list[float] | None:
        """The embedding of a card's first passage, as cards are compared by; None where there is none yet."""
        with self._mirror.lock:
            slot = self._mirror.slot_of(card_id)
            vector = None if slot is None else self._mirror.first_vectors([slot])[0]
        return None if vector is None or not vector.any() else [float(value) for value in vector]

    @property
    def relevance_floor(self) -> float:
        """The relevance that a card needs to be worth showing at all."""
        return self._settings().cards.relevance_floor

    # -- one question ---------------------------------------------------------------------------------------------

    def _recall(self, text: str, query: CardQuery, vector: Floats | None, intent: Intent) -> Recalled:
        with self._mirror.lock:
            slots, rows, scripts = self._cards_seen(query)
            if not len(slots):
                return Recalled((), intent, 0)
            columns = self._mirror.columns
            found_words = self._mirror.word_scores(weighted_words(text))
            words = found_words.scores[slots].astype(np.float64)
            cosines = np.full(len(slots), NO_COSINE) if vector is None else self._mirror.meaning(vector)[slots]
            known = cosines > NO_COSINE
            coverage = np.clip(words / (found_words.ideal or 1.0), 0.0, 1.0)
            stands = np.zeros(len(slots))
            stands[known] = standing(cosines[known].astype(np.float64), scripts[known])
            similarity = belonging(stands, known, coverage, oneself=speaks_of_oneself(text))
            chosen = _candidates(words, np.where(known, stands, -np.inf))
            last_active = columns.last_active[slots[chosen]].astype(np.float64)
            vectors = self._mirror.first_vectors([int(slot) for slot in slots[chosen]])
        found = [rows[int(place)] for place in chosen]
        terms = keyword_terms(text)
        # reading a card costs a millisecond: only what may yet be worth a place is read
        near = (similarity[chosen] >= LEAST_SIMILARITY) | (coverage[chosen] >= LEAST_COVERAGE)
        keyword = np.array(
            [
                keyword_score(terms, self._content(row), row.tags) if may else 0.0
                for row, may in zip(found, near, strict=True)
            ],
            dtype=np.float64,
        )
        card_columns = CardColumns(
            category=np.array([_code(row) for row in found], dtype=np.uint8),
            importance=np.array([row.importance for row in found], dtype=np.float64),
            last_active=last_active,
        )
        weights = self._settings().cards.weights
        now = self._clock().timestamp()
        scores = final_scores(similarity[chosen], keyword, card_columns, intent=intent, now=now, weights=weights)
        here = np.array([_is_of(row, query.conversation_id) for row in found], dtype=np.bool_)
        kept, rest = self._chosen(scores, ~here, vectors, card_columns, query.limit)
        hits = []
        for place in (*kept, *rest):
            fate = _fate(scores, place, weights, here=bool(here[place]), kept=kept)
            parts = _parts(scores, place, float(similarity[chosen[place]]), float(keyword[place]))
            view = self._cards.view(found[place], self._body(found[place]) if near[place] else None)
            hits.append(CardHit(view, int(slots[chosen[place]]), parts, fate))
        return Recalled(tuple(hits), intent, len(slots))

    def _cards_seen(self, query: CardQuery) -> tuple[Slots, list[Row], npt.NDArray[np.bool_]]:
        """Slots, rows and scripts (True: CJK) of the cards that credential and question leave. Hold the mirror's lock."""
        if self._table[0] != self._mirror.generation:
            slots = np.flatnonzero(self._mirror.columns.role == ROLE_CODES[Role.CARD])
            rows = [self._mirror.at(int(slot)) for slot in slots]
            # topics are at hand, and in the language of their cards
            scripts = np.array([share_of_cjk(row.name) > HALF for row in rows], dtype=np.bool_)
            self._table = (self._mirror.generation, slots, rows, scripts)
        _, slots, rows, scripts = self._table
        if query.sight is None and query.scope is None and not query.category:
            return slots, rows, scripts
        places = [place for place, row in enumerate(rows) if _is_wanted(row, query)]
        return slots[places], [rows[place] for place in places], scripts[places]

    def _chosen(
        self, scores: FinalColumns, free: npt.NDArray[np.bool_], vectors: Floats, columns: CardColumns, limit: int
    ) -> tuple[list[int], list[int]]:
        """Places of those to keep, by marginal relevance, and of the rest, by score."""
        able = np.flatnonzero(scores.keep & free)
        similar = np.nan_to_num(self._meaning.similarities((vectors[able] @ vectors[able].T).astype(np.float32)))
        first = mmr(scores.total[able], similar, limit=limit, lambdas=lambdas(columns.category[able]))
        kept = [int(able[place]) for place in first]
        rest = [int(place) for place in np.argsort(-scores.total, kind="stable") if int(place) not in kept]
        return kept, rest

    # -- texts ----------------------------------------------------------------------------------------------------

    def _content(self, row: Row) -> str:
        return "\n".join((*row.domain, self._body(row)))

    def _body(self, row: Row) -> str:
        """A card's text, from memory where it did not change since."""
        kept = self._bodies.get(row.id)
        if kept is not None and kept[0] == row.body_key:
            return kept[1]
        body = self._texts.body(NotePath(row.path)) or ""
        if len(self._bodies) >= BODIES_KEPT:
            self._bodies.clear()
        self._bodies[row.id] = (row.body_key, body)
        return body


def _candidates(words: npt.NDArray[np.float64], standings: npt.NDArray[np.float64]) -> Slots:
    """Places of the best by words and the best by meaning, united."""
    chosen: set[int] = set()
    for evidence in (words, standings):
        best = np.arange(len(evidence))
        if len(evidence) > CARD_CANDIDATES:
            best = np.argpartition(-evidence, CARD_CANDIDATES)[:CARD_CANDIDATES]
        chosen.update(best[evidence[best] > 0].tolist())
    return np.array(sorted(chosen), np.intp)


def _fate(scores: FinalColumns, place: int, weights: FinalWeights, *, here: bool, kept: list[int]) -> CardFate:
    if here:
        return CardFate.THIS_CONVERSATION
    if scores.keep[place]:
        return CardFate.KEPT if place in kept else CardFate.BEYOND_LIMIT
    enough = scores.total[place] >= weights.threshold - SCORE_GRAIN
    return CardFate.BELOW_FLOOR if enough else CardFate.BELOW_THRESHOLD


def _is_wanted(row: Row, query: CardQuery) -> bool:
    fields = row.card
    scope = fields.scope if fields else ""
    if not sees(query.sight, scope) or (query.scope is not None and scope not in ("", query.scope)):
        return False
    return not query.category or (fields is not None and fields.category == query.category)


def _is_of(row: Row, conversation_id: str) -> bool:
    return bool(conversation_id) and row.card is not None and row.card.conversation_id == conversation_id


def _code(row: Row) -> int:
    category = row.card.category if row.card else ""
    return CATEGORY_CODES[Category(category)] if category in _KNOWN else CATEGORY_CODES[Category.REAL_WORLD]


_KNOWN: Final = frozenset(category.value for category in Category)


def _parts(scores: FinalColumns, place: int, similarity: float, keyword: float) -> CardParts:
    return CardParts(
        final=float(scores.total[place]),
        relevance=float(scores.relevance[place]),
        similarity=similarity,
        keyword=keyword,
        typefit=float(scores.type_fit[place]),
        importance=float(scores.importance[place]),
        recency=float(scores.recency[place]),
    )
