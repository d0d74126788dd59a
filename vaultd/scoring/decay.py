"""How alive a bucket is; what the forgetting cycle resolves and archives; whom a recall stirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vaultd.core.bucket import Bucket, Kind
from vaultd.scoring.constants import (
    AUTO_RESOLVE_DAYS,
    AUTO_RESOLVE_IMPORTANCE,
    CONSOLIDATION_EXPONENT,
    CORE_SCORE,
    DIGESTED_FACTOR,
    FEEL_SCORE,
    FRESHNESS_TIME_CONSTANT_HOURS,
    HOURS_PER_DAY,
    LEADING_SHARE,
    LEAST_ACTIVATION,
    RESOLVED_FACTOR,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SHORT_TERM_DAYS,
    URGENCY_FACTOR,
    URGENT_AROUSAL,
    DecayWeights,
    RippleRules,
)

Floats = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]
"""A column as it is kept, of whatever precision; what comes of it is computed in double precision."""
Codes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

KIND_CODES: Final[Mapping[Kind, int]] = {kind: code for code, kind in enumerate(Kind)}
_DYNAMIC = KIND_CODES[Kind.DYNAMIC]
_PERMANENT = KIND_CODES[Kind.PERMANENT]
_FEEL = KIND_CODES[Kind.FEEL]
_CLOCK_GRAIN_S = 1e-3  # so that rounding does not lose the cycle that falls on the horizon itself


@dataclass(frozen=True, slots=True, eq=False)
class DecayColumns:
    """The properties that decay looks at, one row a bucket, all of one length.

    `kind` holds KIND_CODES, `last_active` epoch seconds; `activation_count` is a float and never truncated.
    """

    kind: Codes
    importance: Reals
    activation_count: Reals
    last_active: Reals
    arousal: Reals
    resolved: Flags
    digested: Flags
    pinned: Flags
    protected: Flags

    @classmethod
    def of(cls, buckets: Sequence[Bucket]) -> DecayColumns:
        """The columns of these buckets, in their order."""
        return cls(
            kind=np.array([KIND_CODES[b.kind] for b in buckets], dtype=np.uint8),
            importance=np.array([b.importance for b in buckets], dtype=np.float64),
            activation_count=np.array([b.activation_count for b in buckets], dtype=np.float64),
            last_active=np.array([b.last_active.timestamp() for b in buckets], dtype=np.float64),
            arousal=np.array([b.emotion.arousal for b in buckets], dtype=np.float64),
            resolved=np.array([b.resolved for b in buckets], dtype=np.bool_),
            digested=np.array([b.digested for b in buckets], dtype=np.bool_),
            pinned=np.array([b.pinned for b in buckets], dtype=np.bool_),
            protected=np.array([b.protected for b in buckets], dtype=np.bool_),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: Indices) -> DecayColumns:
        """These rows only, in this order."""
        return DecayColumns(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})

    @property
    def core(self) -> Flags:
        """Pinned, protected or permanent: what never fades."""
        core: Flags = self.pinned | self.protected | (self.kind == _PERMANENT)
        return core

    @property
    def fading(self) -> Flags:
        """What the forgetting cycle may touch: dynamic, neither pinned nor protected."""
        fading: Flags = (self.kind == _DYNAMIC) & ~self.pinned & ~self.protected
        return fading


def days_since(moments: Reals, now: float) -> Floats:
    """Days from epoch-second moments to `now`; 0 for moments in the future."""
    days: Floats = np.maximum((now - moments.astype(np.float64, copy=False)) / SECONDS_PER_DAY, 0.0)
    return days


def decay_scores(columns: DecayColumns, now: float, weights: DecayWeights) -> Floats:
    """Decay score of each row at `now` (epoch seconds), ≥ 0; 999 for core buckets, 50 for feels.

    importance · max(1, count)^0.3 · e^(−λ·days) · mix · resolved · urgency. The mix of freshness and emotion changes
    hands after day 3, so the score steps there; on either side it only falls.
    """
    days = days_since(columns.last_active, now)
    freshness = 1.0 + np.exp(days * (-HOURS_PER_DAY / FRESHNESS_TIME_CONSTANT_HOURS))
    emotion = weights.emotion_base + columns.arousal * weights.arousal_boost
    share_of_time = np.where(days <= SHORT_TERM_DAYS, LEADING_SHARE, 1.0 - LEADING_SHARE)
    counted = np.maximum(columns.activation_count, LEAST_ACTIVATION, dtype=np.float64)
    scores: Floats = columns.importance * counted**CONSOLIDATION_EXPONENT
    scores *= np.exp(days * -weights.rate_per_day)
    scores *= share_of_time * freshness + (1.0 - share_of_time) * emotion
    sunk = np.where(columns.digested, DIGESTED_FACTOR, RESOLVED_FACTOR)
    urgent = np.where(columns.arousal > URGENT_AROUSAL, URGENCY_FACTOR, 1.0)
    scores *= np.where(columns.resolved, sunk, urgent)
    scores[columns.kind == _FEEL] = FEEL_SCORE
    scores[columns.core] = CORE_SCORE
    return scores


def decay_score(bucket: Bucket, now: datetime, weights: DecayWeights) -> float:
    """Decay score of one bucket at an aware moment; the same as its row in `decay_scores`."""
    return float(decay_scores(DecayColumns.of([bucket]), now.timestamp(), weights)[0])


def auto_resolved(columns: DecayColumns, now: float) -> Flags:
    """What a cycle at `now` marks as resolved: fading, importance ≤ 4, more than 30 days without use."""
    forgotten = days_since(columns.last_active, now) > AUTO_RESOLVE_DAYS
    return columns.fading & ~columns.resolved & (columns.importance <= AUTO_RESOLVE_IMPORTANCE) & forgotten


def held_by_floor(columns: DecayColumns, weights: DecayWeights) -> Flags:
    """What is too important to be archived, however low its score; nothing where no floor is set."""
    if weights.protect_importance_floor is None:
        return np.zeros(len(columns), dtype=np.bool_)
    return columns.importance >= weights.protect_importance_floor


def archived(columns: DecayColumns, scores: Floats, weights: DecayWeights) -> Flags:
    """What a cycle archives at these scores: fading, below the threshold, not held by the floor."""
    return columns.fading & (scores < weights.archive_below) & ~held_by_floor(columns, weights)


@dataclass(frozen=True, slots=True, eq=False)
class CyclePlan:
    """What one forgetting cycle does. `scores` are those after auto-resolving; `lowest` is None where nothing fades."""

    checked: int
    resolve: Indices
    archive: Indices
    scores: Floats
    lowest: float | None


def cycle(columns: DecayColumns, now: float, weights: DecayWeights) -> CyclePlan:
    """The plan of a forgetting cycle at `now`: what it auto-resolves counts as resolved in the same cycle."""
    resolve = auto_resolved(columns, now)
    scores = decay_scores(replace(columns, resolved=columns.resolved | resolve), now, weights)
    fading = columns.fading
    checked = int(np.count_nonzero(fading))
    return CyclePlan(
        checked=checked,
        resolve=np.flatnonzero(resolve),
        archive=np.flatnonzero(archived(columns, scores, weights)),
        scores=scores,
        lowest=float(scores[fading].min()) if checked else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What the coming cycles do if nothing is touched; days from now, infinity where not within the horizon.

    A row that is `held` would be archived on its `archive_day`, but for the importance floor.
    """

    archive_day: Floats
    resolve_day: Floats
    held: Flags

    def archived_within(self, days: float) -> Indices:
        """Rows that will be archived within `days`, soonest first."""
        return _soonest(np.where(self.held, np.inf, self.archive_day), days)

    def held_within(self, days: float) -> Indices:
        """Rows that the floor alone keeps from being archived within `days`, soonest first."""
        return _soonest(np.where(self.held, self.archive_day, np.inf), days)

    def resolved_within(self, days: float) -> Indices:
        """Rows that will be auto-resolved within `days`, soonest first."""
        return _soonest(self.resolve_day, days)


def _soonest(day: Floats, days: float) -> Indices:
    rows = np.flatnonzero(day <= days)
    return rows[np.argsort(day[rows], kind="stable")]


def forecast(
    columns: DecayColumns, now: float, weights: DecayWeights, *, days: float, next_cycle: float | None = None
) -> Forecast:
    """What the cycles of the next `days` will resolve and archive, by running them on the clock of the future.

    `next_cycle` is the epoch second of the first one (default: now); the others follow at the check interval. A row
    that one cycle archives is not looked at again, as its file has left.
    """
    first = now if next_cycle is None else max(next_cycle, now)
    step = weights.check_interval_hours * SECONDS_PER_HOUR
    archive_day = np.full(len(columns), np.inf)
    resolve_day = np.full(len(columns), np.inf)
    held = held_by_floor(columns, weights)
    rows = np.flatnonzero(columns.fading)
    rest = columns.take(rows)
    for moment in np.arange(first, now + days * SECONDS_PER_DAY + _CLOCK_GRAIN_S, step):
        plan = cycle(rest, float(moment), weights)
        day = (moment - now) / SECONDS_PER_DAY
        resolve_day[rows[plan.resolve]] = day
        below = rows[plan.scores < weights.archive_below]
        archive_day[below] = np.minimum(archive_day[below], day)
        rest.resolved[plan.resolve] = True
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[plan.archive] = False
        rows, rest = rows[kept], rest.take(np.flatnonzero(kept))
    return Forecast(archive_day, resolve_day, held & np.isfinite(archive_day))


def ripple_targets(made: Reals, stirs: Callable[[int], bool], source: int, rules: RippleRules) -> list[int]:
    """Rows that a recall of row `source` stirs: those that `stirs` admits, nearest in time, within the window.

    `made`: when each row was made (epoch seconds), ascending. Nearest first; of two at the same distance the earlier one.
    """
    window_s, moment, end = rules.window_hours * SECONDS_PER_HOUR, made.item(source), len(made)
    targets: list[int] = []
    before, after = source - 1, source + 1
    while len(targets) < rules.limit:
        to_before = moment - made.item(before) if before >= 0 else math.inf
        to_after = made.item(after) - moment if after < end else math.inf
        if min(to_before, to_after) > window_s:
            break
        if to_before <= to_after:
            row, before = before, before - 1
        else:
            row, after = after, after + 1
        if stirs(row):
            targets.append(row)
    return targets
