"""Answer a question: find, show, count what was shown, and now and then let something old drift in."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Bucket, Role
from vaultd.core.query import Answer, Hit, Mark, Mode, Noted, Notice, Query
from vaultd.index.mirror import Mirror
from vaultd.scoring.constants import DriftRules
from vaultd.scoring.decay import decay_scores
from vaultd.scoring.match import tint
from vaultd.scoring.selection import drift, drifts
from vaultd.services.matching import Candidate, Fate, Matches, Matching
from vaultd.services.meaning import Meaning
from vaultd.services.reinforce import Reinforce
from vaultd.services.showing import Bodies, Showing
from vaultd.settings import Settings

MATCHED_AT_ONCE = 20_000  # notes whose words are scored in about the time that it takes to wake a thread


@dataclass(frozen=True, slots=True)
class _Found:
    """Hits of a question in their groups: memories, own notes, drifted ones."""

    groups: tuple[Sequence[Hit], ...]
    domain_dropped: bool


class Recall:
    """Answers a query that has a text."""

    def __init__(
        self,
        mirror: Mirror,
        matching: Matching,
        meaning: Meaning,
        showing: Showing,
        reinforce: Reinforce,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        rng: random.Random,
    ) -> None:
        self._mirror = mirror
        self._matching = matching
        self._meaning = meaning
        self._showing = showing
        self._reinforce = reinforce
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._drift_rules = DriftRules()

    async def __call__(self, query: Query) -> Answer:
        """The best matches, then what is related by meaning, then own notes; each bucket shown counts as a recall."""
        now = self._clock()
        named = query.bucket_id
        if named is not None and (row := self._mirror.get(named)) is not None and row.role is Role.BUCKET:
            return await self._one(named, query, now)
        vector = await self._meaning.of(query.text)
        read: Bodies | None = None
        if vector is None and self._mirror.slots <= MATCHED_AT_ONCE and self._reads_no_bodies:
            found = self._find(query, None, now)
        else:
            found, read = await asyncio.to_thread(self._find_and_read, query, vector, now)
        notices = self._showing.state_notices(vector is not None)
        if found.domain_dropped:
            notices.append(Noted(Notice.DOMAIN_DROPPED, {"domains": ", ".join(query.domains)}))
        fitted = await self._showing.fit(found.groups, query.token_budget, focus=query.text, read=read)
        shown, shown_own, shown_drifted = fitted.groups
        self._reinforce(hit.bucket.id for hit in shown)
        return Answer(
            mode=Mode.RECALL, hits=shown, own=shown_own, drifted=shown_drifted, notices=(*notices, *fitted.notices)
        )

    @property
    def _reads_no_bodies(self) -> bool:
        return self._settings().match_weights.topic_mode == "best"

    async def _one(self, note_id: str, query: Query, now: datetime) -> Answer:
        with self._mirror.lock:
            bucket, (score,) = self._showing.bucket(note_id), self._showing.decay_scores([note_id], now)
        hit = Hit(bucket=bucket, decay_score=score)
        fitted = await self._showing.fit([[hit]], query.token_budget)
        self._reinforce(shown.bucket.id for shown in fitted.groups[0])
        return Answer(mode=Mode.RECALL, hits=fitted.groups[0], notices=fitted.notices)

    def _find(self, query: Query, vector: npt.NDArray[np.float32] | None, now: datetime) -> _Found:
        """What answers a question. Blocks for a millisecond or, with many notes or a vector, some milliseconds."""
        with self._mirror.lock:
            matches = self._matching.match(query, vector, now)
            wanted = matches.with_fate(Fate.KEPT) + matches.with_fate(Fate.SEMANTIC)
            own = matches.with_fate(Fate.OWN)
            hits = self._hits([*wanted, *own], query, now)
            drifted = self._drifted(matches, now) if drifts(len(wanted), self._rng, self._drift_rules) else ()
        return _Found((hits[: len(wanted)], hits[len(wanted) :], drifted), matches.domain_dropped)

    def _find_and_read(
        self, query: Query, vector: npt.NDArray[np.float32] | None, now: datetime
    ) -> tuple[_Found, Bodies]:
        found = self._find(query, vector, now)
        return found, self._showing.first_bodies(found.groups, query.token_budget)

    def _hits(self, candidates: Sequence[Candidate], query: Query, now: datetime) -> list[Hit]:
        ids = [candidate.id for candidate in candidates]
        buckets, scores = map(self._showing.bucket, ids), self._showing.decay_scores(ids, now)
        return [self._hit(*one, query) for one in zip(candidates, buckets, scores, strict=True)]

    @staticmethod
    def _hit(candidate: Candidate, bucket: Bucket, score: float, query: Query) -> Hit:
        return Hit(
            bucket=bucket,
            decay_score=score,
            shown_valence=tint(bucket.emotion.valence, query.mood),
            parts=candidate.parts,
            similarity=candidate.similarity,
            marks=frozenset({Mark.SEMANTIC}) if candidate.fate is Fate.SEMANTIC else frozenset(),
            role=Role.OWN if candidate.fate is Fate.OWN else Role.BUCKET,
        )

    def _drifted(self, matches: Matches, now: datetime) -> Sequence[Hit]:
        shown = {candidate.slot for candidate in matches.candidates if candidate.fate is not Fate.BELOW_THRESHOLD}
        with self._mirror.lock:
            columns = self._mirror.columns.decay()
            scores = decay_scores(columns, now.timestamp(), self._settings().decay.weights)
            eligible = columns.fading & (self._mirror.memories())
            eligible[list(shown)] = False
            slots = drift(scores, eligible, rng=self._rng, rules=self._drift_rules)
            ids = [self._mirror.at(slot).id for slot in slots]
        return [
            Hit(
                bucket=self._showing.bucket(note_id),
                decay_score=float(scores[slot]),
                marks=frozenset({Mark.RANDOM}),
            )
            for note_id, slot in zip(ids, slots, strict=True)
        ]
