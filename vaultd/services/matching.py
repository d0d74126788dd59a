"""Match a question against the index: evidence, scores, and what became of every candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from math import isnan
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Kind, Role
from vaultd.core.note import NotePath
from vaultd.core.query import Evidence as Spoke
from vaultd.core.query import Query, ScoreParts
from vaultd.index.columns import ROLE_CODES, Columns
from vaultd.index.mirror import Mirror
from vaultd.index.timeline import Timelines
from vaultd.scoring.constants import FUZZY_CUTOFF, MATCH_SCALE, SEMANTIC_SIMILARITY, MatchWeights
from vaultd.scoring.decay import KIND_CODES
from vaultd.scoring.fuzzy import Head, fuzzy_topics
from vaultd.scoring.match import EVIDENCE_CODES, kept, match_scores, rank_scores, topic_of
from vaultd.services.evidence import Evidence, Witness
from vaultd.services.filters import by_dates, by_domains, by_tags
from vaultd.services.likeness import COMPARED, likenesses
from vaultd.services.meaning import Meaning
from vaultd.services.texts import Texts
from vaultd.settings import Settings

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

CANDIDATES = 8  # notes scored beyond those that can be shown
OWN_TOPIC_FROM = 0.5  # of a person's own note: it has no importance, mood or use to lift it
OWN_LIMIT = 5


class Fate(StrEnum):
    """What became of a candidate."""

    KEPT = "kept"
    SEMANTIC = "semantic"
    OWN = "own"
    BELOW_THRESHOLD = "below_threshold"
    CORE = "core"
    BEYOND_LIMIT = "beyond_limit"


_FATES: Final = tuple(Fate)
_KEPT, _SEMANTIC, _OWN, _BELOW, _CORE, _BEYOND = range(len(_FATES))


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores of all candidates, a list a part; the names are those of `ScoreParts`, `value` is the topic 0…1."""

    total: list[float]
    topic: list[float]
    emotion: list[float]
    time: list[float]
    importance: list[float]
    rank: list[float]
    value: list[float]
    evidence: list[int]
    fuzzy: list[float]
    words: list[float]
    meaning: list[float]

    def similarity(self, i: int) -> float | None:
        """Of the question and a candidate; None where it is not known."""
        return _known(self.meaning[i])

    def parts(self, i: int) -> ScoreParts:
        """The scores of one candidate."""
        return ScoreParts(
            total=self.total[i],
            topic=self.topic[i],
            emotion=self.emotion[i],
            time=self.time[i],
            importance=self.importance[i],
            rank=self.rank[i],
            evidence=EVIDENCE_CODES[self.evidence[i]] if self.value[i] > 0 else Spoke.NONE,
            fuzzy=_known(self.fuzzy[i]),
            words=self.words[i],
            meaning=self.similarity(i),
        )


class Candidate(NamedTuple):
    """A note that was scored."""

    slot: int
    id: str
    fate: Fate
    scores: _Scores
    place: int

    @property
    def parts(self) -> ScoreParts:
        """Its scores."""
        return self.scores.parts(self.place)

    @property
    def similarity(self) -> float | None:
        """Of the question and the note; None where it is not known."""
        return self.scores.similarity(self.place)


@dataclass(frozen=True, slots=True)
class Matches:
    """All candidates, best first by rank; `domain_dropped` where the filter left nothing."""

    candidates: tuple[Candidate, ...]
    domain_dropped: bool
    searched: int

    def with_fate(self, fate: Fate) -> list[Candidate]:
        """Those that came to this end, in rank order."""
        return [candidate for candidate in self.candidates if candidate.fate is fate]


class Matching:
    """Scores notes against questions over the mirror's columns."""

    def __init__(
        self, mirror: Mirror, timelines: Timelines, meaning: Meaning, texts: Texts, settings: Callable[[], Settings]
    ) -> None:
        self._mirror = mirror
        self._witness = Witness(mirror, timelines, meaning)
        self._texts = texts
        self._settings = settings

    def match(
        self, query: Query, vector: npt.NDArray[np.float32] | None, now: datetime, *, likeness: bool = False
    ) -> Matches:
        """Candidates of a question with their scores. Blocks for some milliseconds.

        `likeness`: the query is a text to keep, with its vector as a passage; the topic is then how far a note says the
        same (`services.likeness`), not how well it answers.
        """
        weights = self._settings().match_weights
        with self._mirror.lock:
            columns = self._mirror.columns
            memory, own, dropped = self._eligible(columns, query)
            among = memory | own
            searched = int(np.count_nonzero(among))
            wide = searched if weights.topic_mode == "fuzzy" else query.limit + CANDIDATES
            evidence = self._witness.of(query.text, vector, now, among, wide)
            if likeness and weights.topic_mode == "best":
                evidence = self._as_likeness(evidence, query)
            candidates = self._score(evidence, columns, query, now, weights, fuzzy=not likeness)
        return Matches(candidates, dropped, searched)

    def body(self, path: NotePath) -> str | None:
        """The body of a note as it lies on disk."""
        return self._texts.body(path)

    # -- who may be found -----------------------------------------------------------------------------------------

    def _eligible(self, columns: Columns, query: Query) -> tuple[Flags, Flags, bool]:
        """Memories and own notes that the filters leave, and whether the domain filter was dropped."""
        kinds = (columns.kind == KIND_CODES[Kind.DYNAMIC]) | (columns.kind == KIND_CODES[Kind.PERMANENT])
        memory = (columns.role == ROLE_CODES[Role.BUCKET]) & kinds
        own = np.zeros_like(memory)
        if self._settings().memory.search_own_notes and query.mood is None and not query.domains:
            own = columns.role == ROLE_CODES[Role.OWN]
        memory, own = (by_tags(self._mirror, query, by_dates(self._mirror, query, some)) for some in (memory, own))
        narrowed = by_domains(self._mirror, query, memory)
        dropped = bool(query.domains) and not narrowed.any()
        return (memory if dropped else narrowed), own, dropped

    # -- evidence -------------------------------------------------------------------------------------------------

    def _fuzzy(self, query: Query, evidence: Evidence, weights: MatchWeights) -> Floats:
        """By the letters of each candidate; in mode `best` only where they say more than words and meaning."""
        rows = [self._mirror.at(slot) for slot in evidence.slots.tolist()]
        heads = [Head(row.name, row.domain, row.tags) for row in rows]
        if weights.topic_mode == "best":
            least = FUZZY_CUTOFF + (1 - FUZZY_CUTOFF) * evidence.topic
            least[[row.is_core for row in rows]] = 0.0  # they are shown by what their letters say alone
            return fuzzy_topics(query.text, heads, weights, least=least.tolist())
        return fuzzy_topics(query.text, heads, weights, [self._texts.body(row.path) or "" for row in rows])

    def _as_likeness(self, evidence: Evidence, query: Query) -> Evidence:
        """The evidence with likeness for a topic: of the notes nearest to the text, 0 for the others."""
        nearest = np.argsort(-evidence.topic, kind="stable")[:COMPARED]
        nearest = np.union1d(nearest, np.argsort(-np.nan_to_num(evidence.similarity), kind="stable")[:COMPARED])
        bodies = [self._texts.body(self._mirror.at(int(slot)).path) or "" for slot in evidence.slots[nearest]]
        topic = np.zeros(len(evidence.slots))
        topic[nearest] = likenesses(query.text, bodies, evidence.similarity[nearest])
        return replace(evidence, topic=topic)

    # -- scores ---------------------------------------------------------------------------------------------------

    def _score(
        self,
        evidence: Evidence,
        columns: Columns,
        query: Query,
        now: datetime,
        weights: MatchWeights,
        *,
        fuzzy: bool,
    ) -> tuple[Candidate, ...]:
        """All candidates, best first."""
        slots = evidence.slots
        with_names = fuzzy or weights.topic_mode == "fuzzy"
        letters = self._fuzzy(query, evidence, weights) if with_names else np.full(len(slots), np.nan)
        by_words = np.where(evidence.by_words, evidence.topic, 0.0)
        topic = topic_of(letters, by_words, evidence.topic - by_words, mode=weights.topic_mode)
        scored = match_scores(
            topic.value,
            columns.valence[slots],
            columns.arousal[slots],
            columns.last_active[slots],
            columns.importance[slots],
            mood=query.mood,
            now=now.timestamp(),
            weights=weights,
        )
        own = columns.role[slots] == ROLE_CODES[Role.OWN]
        ranks = rank_scores(scored, topic.value, columns.resolved[slots], mode=weights.topic_mode)
        ranks = np.where(own, topic.value * MATCH_SCALE, ranks)
        fates = np.full(len(slots), _BELOW)
        fates[evidence.similarity > SEMANTIC_SIMILARITY] = _SEMANTIC
        fates[kept(scored.total, weights)] = _KEPT
        fates[columns.pinned[slots] | columns.protected[slots]] = _CORE
        fates[own] = _BELOW
        fates[own & (topic.value >= OWN_TOPIC_FROM)] = _OWN
        parts = (scored.total, scored.topic, scored.emotion, scored.time, scored.importance, ranks, topic.value)
        spoke = (topic.evidence, letters, evidence.coverage, evidence.similarity)
        scores = _Scores(*(column.tolist() for column in (*parts, *spoke)))
        order = (-ranks).argsort(kind="stable").tolist()
        places, ends = slots.tolist(), fates.tolist()
        _limit(ends, order, query.limit)
        return tuple(Candidate(places[i], self._mirror.at(places[i]).id, _FATES[ends[i]], scores, i) for i in order)


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _limit(ends: list[int], order: Sequence[int], limit: int) -> None:
    """Mark those beyond the limit, by place in `ends`: kept ones come first, semantic ones after, own notes apart."""
    room = {_KEPT: limit, _SEMANTIC: max(0, limit - ends.count(_KEPT)), _OWN: OWN_LIMIT}
    for place in order:
        end = ends[place]
        if end in room:
            if room[end] == 0:
                ends[place] = _BEYOND
            else:
                room[end] -= 1
