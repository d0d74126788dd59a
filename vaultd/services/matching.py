"""Match a question against the index: evidence, scores, and what became of every candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Kind, Role
from vaultd.core.note import NotePath
from vaultd.core.query import Evidence, Query, ScoreParts
from vaultd.index.mirror import ROLE_CODES, Columns, Mirror
from vaultd.index.tokens import query_words
from vaultd.scoring.constants import MatchWeights
from vaultd.scoring.decay import KIND_CODES
from vaultd.scoring.fuzzy import FuzzyColumns, fuzzy_topics
from vaultd.scoring.match import EVIDENCE_CODES, kept, match_scores, rank_scores, topic_of
from vaultd.services.filters import by_dates, by_domains, by_tags
from vaultd.services.meaning import Meaning
from vaultd.services.texts import Texts
from vaultd.settings import Settings

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CANDIDATES = 60  # from each kind of evidence
SEMANTIC_ABOVE = 0.5  # similarity; INTERNALS §3.3
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that was scored."""

    slot: int
    id: str
    parts: ScoreParts
    similarity: float | None
    fate: Fate


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

    def __init__(self, mirror: Mirror, meaning: Meaning, texts: Texts, settings: Callable[[], Settings]) -> None:
        self._mirror = mirror
        self._meaning = meaning
        self._texts = texts
        self._settings = settings

    def match(self, query: Query, vector: npt.NDArray[np.float32] | None, now: datetime) -> Matches:
        """Candidates of a question with their scores. Blocks for some milliseconds."""
        weights = self._settings().match_weights
        with self._mirror.lock:
            columns = self._mirror.columns
            memory, own, dropped = self._eligible(columns, query)
            coverage, similarity = self._evidence(query, vector)
            slots = self._pool(memory | own, coverage, similarity, weights)
            fuzzy = self._fuzzy(query, slots, weights)
            candidates = self._score(slots, columns, fuzzy, coverage, similarity, query, now, weights)
        ordered = sorted(candidates, key=lambda c: -c.parts.rank)
        return Matches(tuple(self._limited(ordered, query.limit)), dropped, int(memory.sum() + own.sum()))

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
        in_dates = by_dates(self._mirror, query)
        memory = by_tags(self._mirror, query, memory & in_dates)
        own = by_tags(self._mirror, query, own & in_dates)
        narrowed = by_domains(self._mirror, query, memory)
        dropped = bool(query.domains) and not narrowed.any()
        return (memory if dropped else narrowed), own, dropped

    # -- evidence -------------------------------------------------------------------------------------------------

    def _evidence(self, query: Query, vector: npt.NDArray[np.float32] | None) -> tuple[Floats, Floats]:
        found = self._mirror.word_scores(dict.fromkeys(query_words(query.text), 1.0))
        coverage: Floats = np.clip(found.scores.astype(np.float64) / (found.ideal or 1.0), 0, 1)
        if vector is None:
            return coverage, np.full(len(coverage), np.nan, np.float64)
        cosines = self._mirror.meaning(vector)
        return coverage, self._meaning.similarities(cosines)

    @staticmethod
    def _pool(eligible: Flags, coverage: Floats, similarity: Floats, weights: MatchWeights) -> npt.NDArray[np.intp]:
        """Slots worth scoring: the best by words, by meaning; all of them for the seeds' pure formula."""
        slots = np.flatnonzero(eligible)
        if weights.topic_mode == "fuzzy" or len(slots) <= 2 * CANDIDATES:
            return slots
        chosen: set[int] = set()
        for evidence in (coverage, np.nan_to_num(similarity, nan=-1.0)):
            values = evidence[slots]
            best = np.argpartition(-values, CANDIDATES)[:CANDIDATES]
            chosen.update(slots[best[values[best] > 0]].tolist())
        return np.array(sorted(chosen), np.intp)

    def _fuzzy(self, query: Query, slots: npt.NDArray[np.intp], weights: MatchWeights) -> Floats:
        rows = [self._mirror.at(int(slot)) for slot in slots]
        bodies = None
        if weights.topic_mode == "fuzzy":
            bodies = [self._texts.body(row.path) or "" for row in rows]
        columns = FuzzyColumns.of([r.name for r in rows], [r.domain for r in rows], [r.tags for r in rows], bodies)
        return fuzzy_topics(query.text, columns, weights)

    # -- scores ---------------------------------------------------------------------------------------------------

    def _score(
        self,
        slots: npt.NDArray[np.intp],
        columns: Columns,
        fuzzy: Floats,
        coverage: Floats,
        similarity: Floats,
        query: Query,
        now: datetime,
        weights: MatchWeights,
    ) -> list[Candidate]:
        topic = topic_of(fuzzy, coverage[slots], similarity[slots], mode=weights.topic_mode)
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
        passed = kept(scored.total, weights)
        ranks = rank_scores(scored.total, columns.resolved[slots])
        out: list[Candidate] = []
        for i, slot in enumerate(slots.tolist()):
            row = self._mirror.at(slot)
            alike = None if np.isnan(similarity[slot]) else float(similarity[slot])
            own = row.role is Role.OWN
            if own:
                fate = Fate.OWN if topic.value[i] >= OWN_TOPIC_FROM else Fate.BELOW_THRESHOLD
            elif row.is_core:
                fate = Fate.CORE
            elif passed[i]:
                fate = Fate.KEPT
            else:
                fate = Fate.SEMANTIC if alike is not None and alike > SEMANTIC_ABOVE else Fate.BELOW_THRESHOLD
            parts = ScoreParts(
                total=float(scored.total[i]),
                topic=float(scored.topic[i]),
                emotion=float(scored.emotion[i]),
                time=float(scored.time[i]),
                importance=float(scored.importance[i]),
                rank=float(topic.value[i]) * 100 if own else float(ranks[i]),
                evidence=EVIDENCE_CODES[topic.evidence[i]] if topic.value[i] > 0 else Evidence.NONE,
                fuzzy=float(fuzzy[i]),
                words=float(coverage[slot]),
                meaning=alike,
            )
            out.append(Candidate(slot, row.id, parts, alike, fate))
        return out

    @staticmethod
    def _limited(ordered: Sequence[Candidate], limit: int) -> list[Candidate]:
        """Those beyond the limit are marked as such: kept ones first, semantic ones after, own notes apart."""
        room = {Fate.KEPT: limit, Fate.OWN: OWN_LIMIT}
        room[Fate.SEMANTIC] = max(0, limit - sum(1 for c in ordered if c.fate is Fate.KEPT))
        out: list[Candidate] = []
        for c in ordered:
            left = room.get(c.fate)
            if left == 0:
                c = Candidate(c.slot, c.id, c.parts, c.similarity, Fate.BEYOND_LIMIT)
            elif left is not None:
                room[c.fate] = left - 1
            out.append(c)
        return out
