"""Choose and order: what surfaces, what fits the budget, what adds something new, what drifts in."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultd.core.bucket import Kind
from vaultd.scoring.constants import COLD_START_BELOW, MMR_LAMBDA, DriftRules, SurfaceRules
from vaultd.scoring.decay import KIND_CODES, DecayColumns, Flags, Floats, Indices, Reals


@dataclass(frozen=True, slots=True)
class Surfacing:
    """Rows in the order in which they surface: `core` always, then `cold` starts, then the `others`."""

    core: tuple[int, ...]
    cold: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def floating(self) -> tuple[int, ...]:
        """What surfaces below the core: cold starts, then the others."""
        return self.cold + self.others


def surfacing_order(
    columns: DecayColumns, scores: Floats, *, rng: random.Random, rules: SurfaceRules, eligible: Flags | None = None
) -> Surfacing:
    """The order of what surfaces without a query, of rows that are `eligible` (default: all).

    Core buckets first, by importance, then freshest. Of the unresolved dynamic ones at most two cold starts (never
    recalled, importance ≥ 8) stand in front; of the rest, by decay score, rank 1 stays, ranks 2 to 20 are shuffled.
    """
    allowed = np.ones(len(columns), dtype=np.bool_) if eligible is None else eligible
    core = np.flatnonzero(columns.core & allowed)
    core = core[np.lexsort((-columns.last_active[core], -columns.importance[core]))]
    live = (columns.kind == KIND_CODES[Kind.DYNAMIC]) & ~columns.core & ~columns.resolved & allowed
    unseen = live & (columns.activation_count < COLD_START_BELOW) & (columns.importance >= rules.cold_start_importance)
    cold = _by_score(unseen, scores)[: rules.cold_start_limit]
    live[cold] = False
    others = _by_score(live, scores).tolist()
    shuffled = others[1 : rules.shuffled_to_rank]
    rng.shuffle(shuffled)
    others[1 : rules.shuffled_to_rank] = shuffled
    return Surfacing(tuple(core.tolist()), tuple(cold.tolist()), tuple(others))


def _by_score(chosen: Flags, scores: Floats) -> Indices:
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(-scores[rows], kind="stable")]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits: places in the given order, the tokens they take, and how many were left out for want of tokens."""

    kept: tuple[int, ...]
    spent: int
    left_out: int


def fit(costs: Sequence[int], budget: int, *, limit: int | None = None) -> Fitted:
    """Keep items in order while their tokens fit the budget, at most `limit` of them.

    An item that does not fit is left out whole, and smaller ones after it may still fit. Those after the limit are
    not counted as left out.
    """
    kept: list[int] = []
    spent = left_out = 0
    for place, cost in enumerate(costs):
        if limit is not None and len(kept) >= limit:
            break
        if spent + cost > budget:
            left_out += 1
            continue
        kept.append(place)
        spent += cost
    return Fitted(tuple(kept), spent, left_out)


def mmr(relevance: Reals, similarity: Reals, *, limit: int, lambdas: Reals | float = MMR_LAMBDA) -> tuple[int, ...]:
    """Rows in the order of maximal marginal relevance, at most `limit`: λ·relevance − (1 − λ)·nearest chosen.

    `similarity` is the square matrix between rows, `lambdas` one λ for all or one a row. The first is the most
    relevant one, as nothing is chosen yet; of equal ones the first row wins.
    """
    count = len(relevance)
    weight = np.broadcast_to(np.asarray(lambdas, dtype=np.float64), (count,))
    nearest = np.zeros(count)
    free = np.ones(count, dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(limit, count):
        gain = weight * relevance - (1.0 - weight) * nearest if chosen else relevance
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        nearest = similarity[best] if not chosen else np.maximum(nearest, similarity[best])
        free[best] = False
        chosen.append(best)
    return tuple(chosen)


def drifts(hits: int, rng: random.Random, rules: DriftRules) -> bool:
    """Whether old memories drift in beside so many hits: with probability 0.4 where they are few."""
    return hits < rules.below_hits and rng.random() < rules.probability


def drift(scores: Floats, eligible: Flags, *, rng: random.Random, rules: DriftRules) -> tuple[int, ...]:
    """Old rows that drift in: one to three eligible ones with a score below 2.0.

    `eligible` leaves out what is shown already and what must not drift (core, feels, archived, the person's notes).
    """
    pool = np.flatnonzero(eligible & (scores < rules.below_score))
    chosen = rng.sample(range(len(pool)), min(rng.randint(1, rules.limit), len(pool)))
    return tuple(int(pool[i]) for i in chosen)
