"""Which cards are worth a place in the prompt: candidates by meaning and words, final score, variety; often none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.card import Intent
from vaultd.core.note import NotePath
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.index.tokens import weighted_words
from vaultd.index.vectors import NO_COSINE
from vaultd.scoring.cardfit import belonging, standing
from vaultd.scoring.constants import CARD_CANDIDATES, SCORE_GRAIN, FinalWeights
from vaultd.scoring.final import CardColumns, FinalColumns, final_scores, keyword_score, keyword_terms
from vaultd.scoring.final import lambdas_of as lambdas
from vaultd.scoring.intent import speaks_of_oneself
from vaultd.scoring.selection import mmr
from vaultd.services.cards import Cards, CardView
from vaultd.services.cardtable import CardTables
from vaultd.services.intents import Intents
from vaultd.services.meaning import Meaning
from vaultd.services.texts import Texts
from vaultd.settings import Settings

Floats = npt.NDArray[np.float32]
Slots = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

QUERY_CHARACTERS: Final = 2_000  # of a message that are compared with the cards
BODIES_KEPT: Final = 20_000
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
    """What is looked for. `intent` None: found from the message. `kept_only`: others need not be told of."""

    text: str
    sight: str | None = None
    scope: str | None = None
    conversation_id: str = ""
    category: str = ""
    intent: Intent | None = None
    limit: int = 3
    kept_only: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Cards worth a closer look, and how many could have been found. Similarity and coverage are 0…1."""

    rows: Sequence[Row]
    slots: Slots
    similarity: npt.NDArray[np.float64]
    coverage: npt.NDArray[np.float64]
    columns: CardColumns
    searched: int


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
        self._tables = CardTables(mirror)
        self._bodies: dict[str, tuple[str, str]] = {}

    async def __call__(self, query: CardQuery) -> Recalled:
        """The cards for a message; nothing relevant, nothing kept."""
        text = query.text[:QUERY_CHARACTERS]
        raw = await self._meaning.raw_of(text) if self._has_cards() else None
        vector = None if raw is None else self._meaning.centred(raw[None, :], [text])[0]
        usual = self._intents.usual()
        if vector is not None and usual is not None:
            vector = vector - usual  # a card that lies near to whatever is asked does not stand out by it
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
            found = self._candidates(text, query, vector)
        if not found.rows:
            return Recalled((), intent, found.searched)
        weights, now = self._settings().cards.weights, self._clock().timestamp()

        def scored(keyword: npt.NDArray[np.float64]) -> FinalColumns:
            return final_scores(found.similarity, keyword, found.columns, intent=intent, now=now, weights=weights)

        # reading a card costs a millisecond: only what may yet be worth a place is read
        near = (found.similarity >= LEAST_SIMILARITY) | (found.coverage >= LEAST_COVERAGE)
        if query.kept_only:
            near &= scored(np.ones(len(found.rows))).keep
        keyword = self._keywords(text, found.rows, near)
        scores = scored(keyword)
        here = np.array([_is_of(row, query.conversation_id) for row in found.rows], dtype=np.bool_)
        kept = self._chosen(scores, ~here, found, query.limit)
        order = [int(place) for place in np.argsort(-scores.total, kind="stable") if int(place) not in kept]
        hits = []
        for place in kept if query.kept_only else (*kept, *order):
            fate = _fate(scores, place, weights, here=bool(here[place]), kept=kept)
            parts = _parts(scores, place, float(found.similarity[place]), float(keyword[place]))
            view = self._cards.view(found.rows[place], self._body(found.rows[place]) if near[place] else None)
            hits.append(CardHit(view, parts, fate))
        return Recalled(tuple(hits), intent, found.searched)

    def _candidates(self, text: str, query: CardQuery, vector: Floats | None) -> _Candidates:
        """The best by meaning and the best by words of the cards that may be seen. Hold the mirror's lock."""
        table = self._tables()
        places = table.seen(query.sight, query.scope, query.category)
        slots = table.slots[places]
        found = self._mirror.word_scores(weighted_words(text))
        words = found.scores[slots].astype(np.float64)
        cosines = np.full(len(slots), NO_COSINE) if vector is None else self._mirror.meaning(vector, slots)[slots]
        known = cosines > NO_COSINE
        coverage = np.clip(words / (found.ideal or 1.0), 0.0, 1.0)
        stands = np.zeros(len(slots))
        stands[known] = standing(cosines[known].astype(np.float64), table.cjk[places][known])
        similarity = belonging(stands, known, coverage, oneself=speaks_of_oneself(text))
        chosen = _best_of_each(words, np.where(known, stands, -np.inf))
        rows = [self._mirror.at(slot) for slot in slots[chosen].tolist()]
        columns = CardColumns(
            category=table.category[places[chosen]],
            importance=np.array([row.importance for row in rows], dtype=np.float64),
            last_active=self._mirror.columns.last_active[slots[chosen]].astype(np.float64),
        )
        return _Candidates(rows, slots[chosen], similarity[chosen], coverage[chosen], columns, len(slots))

    def _keywords(self, text: str, rows: Sequence[Row], near: Flags) -> npt.NDArray[np.float64]:
        terms = keyword_terms(text)
        scores = [
            keyword_score(terms, self._content(row), row.tags) if may else 0.0
            for row, may in zip(rows, near, strict=True)
        ]
        return np.array(scores, dtype=np.float64)

    def _chosen(self, scores: FinalColumns, free: Flags, found: _Candidates, limit: int) -> list[int]:
        """Places of those to keep, by marginal relevance."""
        able = np.flatnonzero(scores.keep & free)
        if not len(able):
            return []
        vectors = self._mirror.first_vectors(found.slots[able].tolist())
        similar = np.nan_to_num(self._meaning.similarities((vectors @ vectors.T).astype(np.float32)))
        first = mmr(scores.total[able], similar, limit=limit, lambdas=lambdas(found.columns.category[able]))
        return [int(able[place]) for place in first]

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


def _best_of_each(words: npt.NDArray[np.float64], standings: npt.NDArray[np.float64]) -> Slots:
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


def _is_of(row: Row, conversation_id: str) -> bool:
    return bool(conversation_id) and row.card is not None and row.card.conversation_id == conversation_id


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
