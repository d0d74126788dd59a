"""Why an answer is what it is: every candidate with its four parts, its evidence and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Kind
from vaultd.core.query import Mode, Query
from vaultd.index.mirror import Mirror
from vaultd.index.tokens import query_words
from vaultd.scoring.constants import MatchWeights
from vaultd.scoring.decay import KIND_CODES, decay_scores
from vaultd.services.items import Item, item_at
from vaultd.services.matching import Candidate, Fate, Matching
from vaultd.services.meaning import Meaning
from vaultd.settings import Settings

SURFACING_SHOWN = 60  # memories


@dataclass(frozen=True, slots=True)
class Explained:
    """A candidate and the memory. `candidate` is None where nothing was asked: then the decay score orders."""

    item: Item
    candidate: Candidate | None
    fate: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The five steps of an answer: the question, who may be found, candidates, scores, the choice."""

    mode: Mode
    words: tuple[str, ...]
    has_meaning: bool
    meaning_problem: str
    memories: int
    searched: int
    domain_dropped: bool
    by_evidence: dict[str, int]
    by_fate: dict[str, int]
    weights: MatchWeights
    candidates: tuple[Explained, ...]


class Explain:
    """Answers like recall does, and tells how. Counts as no recall."""

    def __init__(
        self,
        mirror: Mirror,
        matching: Matching,
        meaning: Meaning,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._mirror = mirror
        self._matching = matching
        self._meaning = meaning
        self._settings = settings
        self._clock = clock

    async def __call__(self, query: Query) -> Explanation:
        """The explanation of what a question finds, or of what surfaces where none is asked."""
        if not query.text:
            return await asyncio.to_thread(self._surfacing, query)
        now = self._clock()
        vector = await self._meaning.of(query.text)
        matches = await asyncio.to_thread(self._matching.match, query, vector, now)
        with self._mirror.lock:
            scores = decay_scores(self._mirror.columns.decay(), now.timestamp(), self._settings().decay.weights)
            shown = [
                Explained(self._item(candidate.slot, scores), candidate, candidate.fate.value)
                for candidate in matches.candidates
                if self._mirror.slot_of(candidate.id) == candidate.slot
            ]
        evidence = [one.parts.evidence.value for one in matches.candidates]
        return Explanation(
            mode=Mode.RECALL,
            words=tuple(query_words(query.text)),
            has_meaning=vector is not None,
            meaning_problem=self._meaning.problem,
            memories=int(self._mirror.memories().sum()),
            searched=matches.searched,
            domain_dropped=matches.domain_dropped,
            by_evidence=_counts(evidence),
            by_fate={fate.value: len(matches.with_fate(fate)) for fate in Fate},
            weights=self._settings().match_weights,
            candidates=tuple(shown),
        )

    def _item(self, slot: int, scores: npt.NDArray[np.float64]) -> Item:
        return item_at(self._mirror, slot, self._mirror.columns, float(scores[slot]))

    def _surfacing(self, query: Query) -> Explanation:
        now = self._clock()
        with self._mirror.lock:
            columns = self._mirror.columns
            decay = columns.decay()
            scores = decay_scores(decay, now.timestamp(), self._settings().decay.weights)
            memories = self._mirror.memories()
            live = memories & (columns.kind != KIND_CODES[Kind.ARCHIVED]) & (columns.kind != KIND_CODES[Kind.FEEL])
            slots = np.flatnonzero(live)
            slots = slots[np.argsort(-scores[slots], kind="stable")][:SURFACING_SHOWN]
            shown: list[Explained] = []
            room = query.limit
            for slot in slots.tolist():
                row = self._mirror.at(slot)
                fate = "core" if row.is_core else "resolved" if row.resolved else "kept" if room > 0 else "beyond_limit"
                room -= fate == "kept"
                shown.append(Explained(self._item(slot, scores), None, fate))
            searched = int(live.sum())
        return Explanation(
            mode=Mode.SURFACE,
            words=(),
            has_meaning=False,
            meaning_problem="",
            memories=int(memories.sum()),
            searched=searched,
            domain_dropped=False,
            by_evidence={},
            by_fate=_counts([one.fate for one in shown]),
            weights=self._settings().match_weights,
            candidates=tuple(shown),
        )


def _counts(words: Sequence[str]) -> dict[str, int]:
    return {word: words.count(word) for word in dict.fromkeys(words)}
