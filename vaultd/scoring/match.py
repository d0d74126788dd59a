"""Fit of a bucket to a query, 0…100: topic, emotion, time, importance.

The topic is the best of three kinds of evidence, each scaled to 0…1:

    fuzzy     the letters of name, domain, tags: from FUZZY_CUTOFF at 0 to 1 at 1, for below it short names match by chance
    words,    the relevance of `scoring.relevance`, in which both and dates and neighbours are joined, as a share of the
    meaning   best note's, times the trust in the question; it counts as the evidence of the one that says more

The score decides what is found (threshold); the order is by topic, and the other parts only order what fits equally.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from vaultd.core.emotion import Emotion
from vaultd.core.query import Evidence, Mood
from vaultd.scoring.constants import (
    FUZZY_CUTOFF,
    MATCH_RATE_PER_DAY,
    MATCH_SCALE,
    NEUTRAL_EMOTION,
    OTHERS_IN_RANK,
    RESOLVED_RANK_FACTOR,
    SCORE_GRAIN,
    TINT_FACTOR,
    TOP_IMPORTANCE,
    MatchWeights,
    TopicMode,
)
from vaultd.scoring.decay import Codes, Flags, Floats, Reals, days_since

EVIDENCE_CODES: Final[tuple[Evidence, ...]] = (Evidence.NONE, Evidence.FUZZY, Evidence.WORDS, Evidence.MEANING)
"""What a code in `Topic.evidence` stands for: its place in this tuple."""


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """Topic part of each row, 0…1, and which evidence won (codes of EVIDENCE_CODES)."""

    value: Floats
    evidence: Codes


def topic_of(
    fuzzy: Floats, words: Floats | None = None, meaning: Floats | None = None, *, mode: TopicMode = "best"
) -> Topic:
    """The best of three kinds of evidence, each 0…1; NaN or a missing column is none, and never counts against a row.

    Of equal ones the first of fuzzy, words, meaning wins. In mode `fuzzy` the other two are not looked at, and `fuzzy`
    is taken as it is.
    """
    stacked = np.zeros((len(EVIDENCE_CODES), len(fuzzy)))
    if mode == "fuzzy":
        stacked[1] = fuzzy
    else:
        stacked[1] = (fuzzy - FUZZY_CUTOFF) / (1 - FUZZY_CUTOFF)
        for row, column in enumerate((words, meaning), start=2):
            if column is not None:
                stacked[row] = column
    np.fmin(np.fmax(stacked, 0.0, out=stacked), 1.0, out=stacked)  # NaN becomes 0
    return Topic(stacked.max(axis=0), np.argmax(stacked, axis=0).astype(np.uint8))


def emotion_parts(valence: Reals, arousal: Reals, mood: Mood | Emotion | None) -> Floats:
    """1 − √((Δvalence² + Δarousal²)/2), 0…1; an axis the mood lacks is left out of the mean; 0.5 without a mood."""
    if mood is None:
        return np.full(len(valence), NEUTRAL_EMOTION)
    gaps = [column - asked for column, asked in ((valence, mood.valence), (arousal, mood.arousal)) if asked is not None]
    if not gaps:
        return np.full(len(valence), NEUTRAL_EMOTION)
    squares: Floats = np.mean([gap * gap for gap in gaps], axis=0, dtype=np.float64)
    return 1.0 - np.sqrt(squares)


def time_parts(last_active: Reals, now: float) -> Floats:
    """e^(−0.02·days since last active), 0…1."""
    parts: Floats = np.exp(-MATCH_RATE_PER_DAY * days_since(last_active, now))
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class MatchColumns:
    """Match scores 0…100 and what each part adds to them: the four parts sum up to `total`."""

    total: Floats
    topic: Floats
    emotion: Floats
    time: Floats
    importance: Floats


def match_scores(
    topic: Floats,
    valence: Reals,
    arousal: Reals,
    last_active: Reals,
    importance: Reals,
    *,
    mood: Mood | Emotion | None,
    now: float,
    weights: MatchWeights,
) -> MatchColumns:
    """Match score of each row at `now` (epoch s): 100 · (4·topic + 2·emotion + 1.5·time + importance/10) / 8.5."""
    scale = MATCH_SCALE / weights.total
    parts = (
        topic * (weights.topic * scale),
        emotion_parts(valence, arousal, mood) * (weights.emotion * scale),
        time_parts(last_active, now) * (weights.time * scale),
        importance.astype(np.float64, copy=False) * (weights.importance * scale / TOP_IMPORTANCE),
    )
    return MatchColumns(parts[0] + parts[1] + parts[2] + parts[3], *parts)


def kept(total: Floats, weights: MatchWeights) -> Flags:
    """Which rows reach the threshold; a resolved bucket does so by its full score."""
    reached: Flags = total >= weights.threshold - SCORE_GRAIN * MATCH_SCALE
    return reached


def rank_scores(scored: MatchColumns, topic: Floats, resolved: Flags, *, mode: TopicMode = "best") -> Floats:
    """What hits are ordered by, 0…100 and a little: the topic, and OTHERS_IN_RANK of the points of the other parts.

    So relevance leads, and mood, time and importance order what is about equally relevant. In mode `fuzzy` it is the
    match score itself. A resolved bucket sinks to 0.3 of it, after the threshold let it in.
    """
    ranks = scored.total
    if mode == "best":
        ranks = MATCH_SCALE * topic + OTHERS_IN_RANK * (scored.emotion + scored.time + scored.importance)
    return np.where(resolved, ranks * RESOLVED_RANK_FACTOR, ranks)


def tint(valence: float, mood: Mood | Emotion | None) -> float:
    """The valence to show, 0…1: shifted by (mood − 0.5)·0.2, so at most 0.1. The stored one never changes."""
    if mood is None or mood.valence is None:
        return valence
    return min(max(valence + (mood.valence - 0.5) * TINT_FACTOR, 0.0), 1.0)
