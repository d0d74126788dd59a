"""Answers without a question: what surfaces by itself, all feels, and what is important."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime

import numpy as np

from vaultd.core.bucket import Kind, Role
from vaultd.core.query import Answer, Hit, Mark, Mode, Notice, Query
from vaultd.index.mirror import Mirror
from vaultd.scoring.constants import SurfaceRules
from vaultd.scoring.decay import KIND_CODES, Flags, Floats, decay_scores
from vaultd.scoring.selection import surfacing_order
from vaultd.services.filters import by_dates, by_domains, by_tags
from vaultd.services.showing import Showing
from vaultd.settings import Settings

IMPORTANT_LIMIT = 20  # INTERNALS, scene 11


class Surface:
    """Surfacing never counts as a recall."""

    def __init__(
        self,
        mirror: Mirror,
        showing: Showing,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        rng: random.Random,
    ) -> None:
        self._mirror = mirror
        self._showing = showing
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._rules = SurfaceRules()

    async def surface(self, query: Query) -> Answer:
        """The core always; then cold starts, then what is most alive."""
        now = self._clock()
        with self._mirror.lock:
            columns = self._mirror.columns.decay()
            scores = decay_scores(columns, now.timestamp(), self._settings().decay.weights)
            eligible = self._mirror.memories() & (columns.kind != KIND_CODES[Kind.ARCHIVED])
            eligible = self._filtered(query, eligible)
            order = surfacing_order(columns, scores, rng=self._rng, rules=self._rules, eligible=eligible)
            cold = set(order.cold)
            core = [self._hit(slot, scores, {Mark.CORE}) for slot in order.core]
            floating = [
                self._hit(slot, scores, {Mark.COLD_START} if slot in cold else set())
                for slot in order.floating[: query.limit]
            ]
        fitted = await self._showing.fit([core, floating], query.token_budget)
        notices = [n for n in self._showing.state_notices(True) if n.notice is not Notice.PENDING_EMBEDDINGS]
        return Answer(
            mode=Mode.SURFACE, core=fitted.groups[0], hits=fitted.groups[1], notices=(*notices, *fitted.notices)
        )

    async def feels(self, query: Query) -> Answer:
        """All feels, newest first, verbatim, as far as the budget goes."""
        with self._mirror.lock:
            columns = self._mirror.columns
            slots = np.flatnonzero(self._mirror.memories() & (columns.kind == KIND_CODES[Kind.FEEL]))
            slots = slots[np.argsort(-columns.created[slots], kind="stable")]
            hits = [Hit(bucket=self._showing.bucket(self._mirror.at(int(slot)).id)) for slot in slots]
        fitted = await self._showing.fit([hits], query.token_budget, verbatim=True)
        return Answer(mode=Mode.FEEL, hits=fitted.groups[0], notices=fitted.notices)

    async def important(self, query: Query) -> Answer:
        """All but feels and the archive with at least the given importance, highest first."""
        now = self._clock()
        with self._mirror.lock:
            columns = self._mirror.columns
            scores = decay_scores(columns.decay(), now.timestamp(), self._settings().decay.weights)
            mask = self._mirror.memories() & (columns.importance >= (query.importance_min or 1))
            for kind in (Kind.FEEL, Kind.ARCHIVED):
                mask &= columns.kind != KIND_CODES[kind]
            slots = np.flatnonzero(self._filtered(query, mask))
            order = np.lexsort((-columns.last_active[slots], -columns.importance[slots]))
            chosen = slots[order][: min(IMPORTANT_LIMIT, query.limit)]
            hits = [self._hit(int(slot), scores, set()) for slot in chosen]
        fitted = await self._showing.fit([hits], query.token_budget)
        return Answer(mode=Mode.IMPORTANCE, hits=fitted.groups[0], notices=fitted.notices)

    def _filtered(self, query: Query, among: Flags) -> Flags:
        mask = by_tags(self._mirror, query, by_dates(self._mirror, query, among))
        return by_domains(self._mirror, query, mask)

    def _hit(self, slot: int, scores: Floats, marks: set[Mark]) -> Hit:
        bucket = self._showing.bucket(self._mirror.at(slot).id)
        return Hit(bucket=bucket, decay_score=float(scores[slot]), marks=frozenset(marks), role=Role.BUCKET)
