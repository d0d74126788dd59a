"""How well notes fit a question, from words, meaning, dates and their neighbours in time, over columns.

    words      BM25, as a share of the best note's            ┐
    meaning    cosine, from the farthest note to the nearest  ├─► sum ─► + neighbours ─► relevance ─► share of the best
    dates      `scoring.datefit`                              ┘                                            │
    trust      does anything here speak to the question at all? 0…1 ──────────────────────────────────────►topic

The sum is of scores scaled for each question, not of ranks: ranks make much of small differences, and joining by rank
loses to BM25 alone where the model is weak. Relevance orders notes within one question; trust, which is absolute, keeps
a question about something else from being answered with whatever lies nearest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vaultd.scoring.decay import Flags, Floats, Indices, Reals

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Straight between its points (from, to)."""

WORDS_SHARE: Final = 0.45  # of words beside meaning; flat from 0.4 to 0.5
MEANING_SHARE: Final = 0.55
DATES_SHARE: Final = 0.35  # added where the question names a date; flat from 0.3 to 0.5
WORDS_WORTH: Final = 0.35  # share of the question's ideal that is scaled to 1 where the best note has less: weak words
# must not count as strong ones only because nothing else was found, as across two languages
FAR_COSINE: Final = -0.2  # scaled to 0 where no note is farther; a small vault has no far notes
SAID_FROM: Final = 0.6  # coverage from which a note's own words bring it near in meaning: a name or a number that a
SAID_AT: Final = 0.9  # question asks for says nothing to a model, whose nearest notes are then any; full from SAID_AT
SAID_MEANING: Final = 0.8  # of the nearest note's meaning
NAMED_WORTH: Final = 1.25  # of the best note's relevance, for one whose name is the question: it comes first, and what
# was the best keeps 0.8 of it, which is shown as well
NEIGHBOUR_SHARE: Final = 0.2  # of what the note before or after has above the mean
DAY_SHARE: Final = 0.2  # of what the others of the same day have above the mean
MOST_A_DAY: Final = 100  # a day with more memories is an import, not a day
CHANCE_OF_ONE: Final = (
    -1.6
)  # log odds of the best evidence that a vault of one note shows for a stray question; measured
CHANCE_PER_LOG: Final = 0.42  # more of it for each factor of e in notes: of many notes, some come near any question
SURE_FROM: Final = -0.5  # log odds above chance at which trust in a question begins
SURE_AT: Final = 0.5  # log odds above chance from which a question is trusted in full
_TOPIC_CURVE: Final = ((0.0, 0.0), (0.3, 0.05), (0.4, 0.25), (0.5, 0.75), (1.0, 1.0))  # share of the best ─► topic:
# nine of ten answers among the first ten have 0.67 of the best or more, and half of the tenth places 0.6 or less
_COVERAGE_CURVE: Final = (
    (0.0, 0.0),
    (0.15, 0.2),
    (0.3, 0.5),
    (0.5, 0.8),
    (0.7, 0.95),
    (1.0, 0.97),
)  # coverage ─► evidence
_ALONE_CURVE: Final = ((0.0, 0.0), (0.05, 0.4), (0.15, 0.6), (0.3, 0.8), (0.5, 1.0))  # the same without a model
LEAST_ODDS: Final = 1e-6
DATES_EVIDENCE: Final = 0.5  # of a note that fits all dates of a question


def scaled_words(scores: Reals, ideal: float, among: Flags) -> Floats:
    """BM25 as a share of the best row's among those eligible, or of WORDS_WORTH of the ideal where that is more; 0…1."""
    kept = np.where(among, scores, 0.0)
    best = max(float(kept.max(initial=0.0)), WORDS_WORTH * ideal)
    return kept / best if best > 0 else kept


def scaled_meaning(cosines: Reals | None, known: Flags) -> Floats:
    """Cosines from the farthest row (or FAR_COSINE) at 0 to the nearest at 1; 0 for rows that are not `known`."""
    if cosines is None or not known.any():
        return np.zeros(len(known))
    some = cosines[known]
    low, high = min(float(some.min()), FAR_COSINE), float(some.max())
    scaled: Floats = np.where(known, (cosines - low) / max(high - low, 1e-9), 0.0)
    return scaled


def with_said(meaning: Floats, scores: Reals, ideal: float, among: Flags) -> Floats:
    """The meaning (0…1), where a note says the question's words at least what `meaning_of_said` gives it.

    `scores`: BM25, of which the question's `ideal` is full coverage. Changes `meaning`.
    """
    said = np.flatnonzero(scores > SAID_FROM * ideal) if ideal > 0 else ()
    if len(said):
        said = said[among[said]]
        meaning[said] = np.maximum(meaning[said], meaning_of_said(scores[said] / ideal))
    return meaning


def meaning_of_said(coverage: Reals) -> Floats:
    """The meaning, 0…SAID_MEANING, that a note has at least, since it says the question's words so far (0…1)."""
    return SAID_MEANING * np.clip((coverage.astype(np.float64) - SAID_FROM) / (SAID_AT - SAID_FROM), 0.0, 1.0)


def joined(words: Floats, meaning: Floats, known: Flags, dates: Floats | None) -> Floats:
    """Words, meaning and dates as one number, 0…1.3. Where a row has no embedding, words stand for its meaning."""
    both = words if not known.any() else WORDS_SHARE * words + MEANING_SHARE * np.where(known, meaning, words)
    return both if dates is None else both + DATES_SHARE * dates


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Who is whose neighbour, of n rows in the order in which they were made; made once for many questions.

    `order` (n): the rows; `group` (n): a number for the day of each; `of_day` (n): what a row gets of what another one
    of its day has; `of_next` (n − 1): what a row and the one after it get of each other's.
    """

    order: Indices
    group: NDArray[np.intp]
    of_day: Floats
    of_next: Floats

    @classmethod
    def of(cls, order: Indices, days: NDArray[np.int64]) -> Neighbours:
        """Of rows as they were made, and the day of each of these."""
        together = days[1:] == days[:-1]
        group = np.zeros(len(order), np.intp)
        np.cumsum(~together, out=group[1:])
        size = np.bincount(group)[group]
        fit = size <= MOST_A_DAY
        return cls(order, group, DAY_SHARE * fit / np.maximum(size - 1, 1), NEIGHBOUR_SHARE * (together & fit[1:]))


def with_neighbours(relevance: Floats, neighbours: Neighbours) -> Floats:
    """Relevance with a share of what the memories before and after, and the others of the day, have above the mean.

    A turn of a talk is often understood, and found, by the turns around it. Rows that are not among the neighbours stay
    as they are.
    """
    order = neighbours.order
    if len(order) < 2:
        return relevance
    own = relevance.take(order).astype(np.float64, copy=False)
    above = np.maximum(own - own.mean(), 0.0)
    if not above.any():
        return relevance
    of_days = np.bincount(neighbours.group, above).astype(np.float64, copy=False)
    gained: Floats = of_days.take(neighbours.group)
    gained -= above
    np.multiply(gained, neighbours.of_day, out=gained)
    gained += own
    gained[:-1] += neighbours.of_next * above[1:]
    gained[1:] += neighbours.of_next * above[:-1]
    out = relevance.copy()
    out[order] = gained
    return out


def with_named(relevance: Floats, named: Sequence[int]) -> Floats:
    """Relevance, in which the rows whose name is the question have NAMED_WORTH of the best one."""
    if not named:
        return relevance
    out = relevance.copy()
    out[named] = NAMED_WORTH * (float(relevance.max(initial=0.0)) or 1.0)
    return out


def on_curve(curve: Curve, values: Floats) -> Floats:
    """What a curve makes of each value."""
    out: Floats = np.interp(values, *_points(curve))
    return out


@lru_cache(maxsize=16)
def _points(curve: Curve) -> tuple[Floats, Floats]:
    at, to = zip(*curve, strict=True)
    return np.array(at), np.array(to)


def evidence(coverage: Floats, similarity: Floats | None, dates: Floats | None) -> Floats:
    """How surely each row speaks to the question, 0…1: of words, meaning and dates, one is enough.

    `coverage`: BM25 as a share of the question's ideal; `similarity`: calibrated, NaN where it is not known.
    """
    if similarity is None:
        doubt = 1 - on_curve(_ALONE_CURVE, coverage)
    else:
        doubt = (1 - on_curve(_COVERAGE_CURVE, coverage)) * (1 - np.nan_to_num(similarity, nan=0.0))
    if dates is not None:
        doubt *= 1 - DATES_EVIDENCE * dates
    surely: Floats = 1 - doubt
    return surely


def trust(surely: Floats, notes: int) -> float:
    """Whether a vault of so many notes has anything to say to a question, 0…1: its best evidence against chance."""
    best = min(max(float(surely.max(initial=0.0)), LEAST_ODDS), 1 - LEAST_ODDS)
    above = math.log(best / (1 - best)) - CHANCE_OF_ONE - CHANCE_PER_LOG * math.log(max(notes, 1))
    return min(max((above - SURE_FROM) / (SURE_AT - SURE_FROM), 0.0), 1.0)


def topics(relevance: Floats, best: float, trusted: float) -> Floats:
    """Topic part of rows, 0…1: their share of the best relevance on the curve, times the trust in the question."""
    shares = relevance / best if best > 0 else np.zeros_like(relevance)
    curved: Floats = trusted * on_curve(_TOPIC_CURVE, shares)
    return curved
