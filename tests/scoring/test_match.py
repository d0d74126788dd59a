"""Fit of a bucket to a query: golden values by hand, then what must hold for every row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW
from vaultd.core.emotion import Emotion
from vaultd.core.query import Evidence, Mood
from vaultd.scoring.constants import MatchWeights
from vaultd.scoring.match import (
    EVIDENCE_CODES,
    MatchColumns,
    emotion_parts,
    kept,
    match_scores,
    rank_scores,
    time_parts,
    tint,
    topic_of,
)

NOW_S = NOW.timestamp()
DAY_S = 86_400.0
WEIGHTS = MatchWeights()


def score_one(*, topic=0.0, valence=0.5, arousal=0.3, days=0.0, importance=5, mood=None, weights=WEIGHTS):
    columns = (np.array([float(value)]) for value in (topic, valence, arousal, NOW_S - days * DAY_S, importance))
    return match_scores(*columns, mood=mood, now=NOW_S, weights=weights)


def test_match_score_of_a_bucket_that_fits_in_all_four_parts():
    scores = score_one(topic=0.9, valence=0.8, arousal=0.7, days=10, importance=7, mood=Emotion(0.7, 0.5))

    # emotion 1 − √((0.1² + 0.2²)/2) = 1 − 0.158114 = 0.841886;  time e^(−0.2) = 0.818731
    # 100 · (4·0.9 + 2·0.841886 + 1.5·0.818731 + 0.7) / 8.5 = 100 · 7.211868 / 8.5 = 84.8455
    assert scores.total[0] == pytest.approx(84.8455, abs=1e-3)
    assert scores.topic[0] == pytest.approx(42.35294, abs=1e-4)  # 100 · 3.6 / 8.5
    assert scores.emotion[0] == pytest.approx(19.80908, abs=1e-4)  # 100 · 1.683772 / 8.5
    assert scores.time[0] == pytest.approx(14.44819, abs=1e-4)  # 100 · 1.228096 / 8.5
    assert scores.importance[0] == pytest.approx(8.23529, abs=1e-4)  # 100 · 0.7 / 8.5


def test_perfect_match_has_a_hundred_points():
    scores = score_one(topic=1.0, valence=0.2, arousal=0.2, importance=10, mood=Emotion(0.2, 0.2))

    assert scores.total[0] == pytest.approx(100.0)


def test_without_a_mood_the_emotion_part_is_a_half():
    assert emotion_parts(np.array([0.0, 1.0]), np.array([1.0, 0.5]), None).tolist() == [0.5, 0.5]
    assert emotion_parts(np.array([0.0]), np.array([1.0]), Mood()).tolist() == [0.5]


def test_opposite_corners_of_emotion_do_not_resonate():
    assert emotion_parts(np.array([0.0]), np.array([1.0]), Emotion(1.0, 0.0))[0] == pytest.approx(0.0)


def test_mood_with_one_axis_is_compared_on_that_axis_alone():
    # |0.9 − 0.6| = 0.3 → 0.7, however calm the bucket is
    assert emotion_parts(np.array([0.9]), np.array([0.0]), Mood(valence=0.6))[0] == pytest.approx(0.7)
    assert emotion_parts(np.array([0.0]), np.array([0.9]), Mood(arousal=0.6))[0] == pytest.approx(0.7)


# The decided faults that are a matter of this formula


def test_time_part_fades_by_two_percent_a_day():
    """B-05: e^(−0.02·days), so that a month-old memory still has more than half."""
    parts = time_parts(np.array([NOW_S - 30 * DAY_S, NOW_S - 365 * DAY_S]), NOW_S)

    # e^(−0.6) = 0.548812;  e^(−7.3) = 0.000676
    assert parts == pytest.approx([0.548812, 0.000676], abs=1e-6)


def test_time_weighs_one_and_a_half():
    """B-06: a bucket used just now gains 100 · 1.5 / 8.5 points over one of long ago, not 2.5 parts."""
    fresh, old = score_one(topic=0.5), score_one(topic=0.5, days=10_000)

    # 150 / 8.5 = 17.64706
    assert fresh.total[0] - old.total[0] == pytest.approx(17.64706, abs=1e-4)


def test_resolved_bucket_passes_by_its_full_score_and_only_its_rank_sinks():
    """B-01: resolved is still found by words."""
    total = np.array([60.0, 60.0, 49.0])
    resolved = np.array([True, False, False])

    assert kept(total, WEIGHTS).tolist() == [True, True, False]
    nothing = np.zeros(3)
    scored = MatchColumns(total, nothing, nothing, nothing, nothing)
    assert rank_scores(scored, nothing, resolved, mode="fuzzy") == pytest.approx([18.0, 60.0, 49.0])


def test_a_score_that_just_reaches_the_threshold_is_kept():
    # 100 · (4·0.375 + 2·0.5 + 1.5·1 + 0.25) / 8.5 = 50 exactly, but for rounding
    scores = score_one(topic=0.375, importance=2.5)

    assert scores.total[0] == pytest.approx(50.0)
    assert kept(scores.total, WEIGHTS).tolist() == [True]
    assert kept(np.array([49.9999]), WEIGHTS).tolist() == [False]


def test_settings_change_the_weights():
    weights = MatchWeights(topic=1.0, emotion=1.0, time=1.0, importance=1.0)

    # 100 · (0.5 + 0.5 + e^0 + 0.5) / 4 = 62.5
    assert score_one(topic=0.5, importance=5, weights=weights).total[0] == pytest.approx(62.5)


# Topic


def test_topic_is_the_best_evidence_and_says_which_it_was():
    topic = topic_of(np.array([0.9, 0.1, 0.1, 0.0]), np.array([0.2, 0.8, 0.2, 0.0]), np.array([0.3, 0.3, 0.7, 0.0]))

    # the first by its letters: (0.9 − 0.6) / (1 − 0.6) = 0.75
    assert topic.value.tolist() == pytest.approx([0.75, 0.8, 0.7, 0.0])
    assert [EVIDENCE_CODES[code] for code in topic.evidence] == [
        Evidence.FUZZY,
        Evidence.WORDS,
        Evidence.MEANING,
        Evidence.NONE,
    ]


def test_note_without_an_embedding_is_judged_by_its_other_evidence():
    topic = topic_of(np.array([0.2]), np.array([0.6]), np.array([math.nan]))

    assert topic.value.tolist() == [0.6]


def test_topic_mode_fuzzy_looks_at_nothing_else():
    topic = topic_of(np.array([0.2]), np.array([0.9]), np.array([0.9]), mode="fuzzy")

    assert topic.value.tolist() == [0.2]
    assert EVIDENCE_CODES[topic.evidence[0]] is Evidence.FUZZY


def test_topic_needs_only_the_evidence_there_is():
    assert topic_of(np.array([0.2]), None, np.array([0.5])).value.tolist() == [0.5]
    assert topic_of(np.array([0.2]), np.array([0.4])).value.tolist() == [0.4]


# Tint


@pytest.mark.parametrize(
    ("valence", "mood", "shown"),
    [
        (0.5, Mood(valence=1.0), 0.6),  # 0.5 + 0.5·0.2
        (0.5, Mood(valence=0.0), 0.4),  # 0.5 − 0.5·0.2
        (0.5, Mood(valence=0.7), 0.54),
        (0.95, Mood(valence=1.0), 1.0),
        (0.05, Emotion(0.0, 0.9), 0.0),
        (0.3, Mood(arousal=1.0), 0.3),
        (0.3, None, 0.3),
    ],
)
def test_mood_tints_the_shown_valence_by_a_tenth_at_most(valence, mood, shown):
    assert tint(valence, mood) == pytest.approx(shown)


# What holds for every row

unit = st.floats(0, 1)
moods = st.none() | st.builds(Mood, st.none() | unit, st.none() | unit)


@given(unit, unit, unit, st.floats(-10, 5_000), st.integers(1, 10), moods)
def test_scores_stay_in_range_and_are_the_sum_of_their_parts(topic, valence, arousal, days, importance, mood):
    scores = score_one(topic=topic, valence=valence, arousal=arousal, days=days, importance=importance, mood=mood)

    assert 0.0 <= scores.total[0] <= 100.0 + 1e-9
    parts = (scores.topic, scores.emotion, scores.time, scores.importance)
    assert all(part[0] >= 0.0 for part in parts)
    assert sum(part[0] for part in parts) == pytest.approx(scores.total[0])


@given(unit, st.floats(0, 3_000), st.floats(0, 3_000))
def test_older_never_scores_higher(topic, one, other):
    younger, older = sorted((one, other))

    assert score_one(topic=topic, days=older).total[0] <= score_one(topic=topic, days=younger).total[0]


@given(unit, unit)
def test_better_evidence_never_scores_lower(one, other):
    weaker, better = sorted((one, other))

    assert score_one(topic=weaker).total[0] <= score_one(topic=better).total[0]


@given(st.lists(st.tuples(unit, unit, unit), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_topic_does_not_depend_on_the_order_of_rows(rows, rng):
    shuffled = list(rows)
    rng.shuffle(shuffled)

    values = {tuple(row): topic_of(*(np.array([value]) for value in row)).value[0] for row in rows}

    together = topic_of(*(np.array(column) for column in zip(*shuffled, strict=True))).value
    assert together.tolist() == [values[tuple(row)] for row in shuffled]


def test_single_precision_columns_give_the_same_scores_within_rounding():
    double = [np.array([0.9]), np.array([0.8]), np.array([0.7]), np.array([NOW_S - 10 * DAY_S]), np.array([7.0])]
    single = [
        double[0],
        *(column.astype(np.float32) for column in double[1:3]),
        double[3],
        double[4].astype(np.float32),
    ]

    exact = match_scores(*double, mood=Emotion(0.7, 0.5), now=NOW_S, weights=WEIGHTS)
    rounded = match_scores(*single, mood=Emotion(0.7, 0.5), now=NOW_S, weights=WEIGHTS)

    assert rounded.total[0] == pytest.approx(exact.total[0], abs=1e-4)
