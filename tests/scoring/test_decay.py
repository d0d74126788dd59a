"""How alive a bucket is: golden values by hand, then what must hold for every bucket."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_bucket
from vaultd.core.bucket import Bucket, Kind
from vaultd.core.emotion import Emotion
from vaultd.scoring.constants import DecayWeights
from vaultd.scoring.decay import DecayColumns, decay_score, decay_scores

WEIGHTS = DecayWeights()


def score_of(bucket: Bucket) -> float:
    return decay_score(bucket, NOW, WEIGHTS)


def test_fresh_bucket_that_was_never_recalled():
    bucket = a_bucket(importance=8, arousal=0.5, activation_count=0)

    # 8 · max(1, 0)^0.3 · e^0 · (0.7·2 + 0.3·1.4) = 8 · 1.82 = 14.56   (arousal 0.5 → 1 + 0.8·0.5 = 1.4)
    assert score_of(bucket) == pytest.approx(14.56)


def test_freshness_bonus_after_one_time_constant():
    bucket = a_bucket(importance=5, activation_count=1.0, age_hours=36)

    # 5 · 1^0.3 · e^(−0.05·1.5) · (0.7·1.36788 + 0.3·1.24) = 5 · 0.927743 · 1.329516 = 6.16725
    assert score_of(bucket) == pytest.approx(6.16725, abs=1e-5)


def test_long_term_score_of_a_bucket_recalled_four_times():
    bucket = a_bucket(importance=6, arousal=0.5, activation_count=4.0, age_days=10)

    # 6 · 4^0.3 · e^(−0.5) · (0.3·(1 + e^(−240/36)) + 0.7·1.4)
    # = 6 · 1.515717 · 0.606531 · (0.3·1.001273 + 0.98) = 5.515976 · 1.280382 = 7.06256
    assert score_of(bucket) == pytest.approx(7.06256, abs=1e-4)


def test_third_day_still_counts_as_short_term():
    at_three_days = a_bucket(importance=10, arousal=0.0, age_days=3)
    a_second_later = a_bucket(importance=10, arousal=0.0, age_days=3, age_hours=1 / 3600)

    # freshness at 72 h: 1 + e^(−2) = 1.135335;  e^(−0.15) = 0.860708
    # 10 · 0.860708 · (0.7·1.135335 + 0.3·1.0) = 9.42246;  after it 10 · 0.860708 · (0.3·1.135335 + 0.7·1.0) = 8.95653
    assert score_of(at_three_days) == pytest.approx(9.42246, abs=1e-4)
    assert score_of(a_second_later) == pytest.approx(8.95653, abs=1e-3)


def test_emotion_lifts_a_strong_memory_over_day_three():
    at_three_days = a_bucket(importance=10, arousal=0.6, age_days=3)
    a_second_later = a_bucket(importance=10, arousal=0.6, age_days=3, age_hours=1 / 3600)

    # emotion 1.48 outweighs freshness 1.135335, so its larger share is a step up:
    # 10 · 0.860708 · (0.7·1.135335 + 0.3·1.48) = 10.66192;  10 · 0.860708 · (0.3·1.135335 + 0.7·1.48) = 11.84851
    assert score_of(at_three_days) == pytest.approx(10.66192, abs=1e-4)
    assert score_of(a_second_later) == pytest.approx(11.84851, abs=1e-3)


def test_unsettled_matter_of_high_arousal_is_urgent():
    bucket = a_bucket(importance=5, arousal=0.8)

    # 5 · (0.7·2 + 0.3·1.64) · 1.5 = 5 · 1.892 · 1.5 = 14.19
    assert score_of(bucket) == pytest.approx(14.19)


def test_arousal_of_exactly_the_limit_is_not_urgent():
    bucket = a_bucket(importance=5, arousal=0.7)

    # 5 · (0.7·2 + 0.3·1.56) = 5 · 1.868 = 9.34
    assert score_of(bucket) == pytest.approx(9.34)


def test_arousal_of_exactly_the_limit_is_not_urgent_in_a_single_precision_column():
    columns = DecayColumns.of([a_bucket(importance=5, arousal=0.7)])
    single = replace(columns, arousal=columns.arousal.astype(np.float32))

    assert decay_scores(single, NOW.timestamp(), WEIGHTS)[0] == pytest.approx(9.34, abs=1e-5)


def test_resolved_bucket_sinks_and_is_no_longer_urgent():
    bucket = a_bucket(importance=5, arousal=0.8, resolved=True)

    # 5 · 1.892 · 0.05 = 0.473
    assert score_of(bucket) == pytest.approx(0.473)


def test_resolved_and_digested_bucket_fades_faster():
    bucket = a_bucket(importance=5, arousal=0.8, resolved=True, digested=True)

    # 5 · 1.892 · 0.02 = 0.1892
    assert score_of(bucket) == pytest.approx(0.1892)


def test_digested_alone_changes_nothing():
    assert score_of(a_bucket(digested=True)) == score_of(a_bucket())


@pytest.mark.parametrize(
    "bucket",
    [
        a_bucket(pinned=True, age_days=400),
        a_bucket(protected=True, age_days=400),
        a_bucket(kind=Kind.PERMANENT, age_days=400),
        a_bucket(kind=Kind.FEEL, pinned=True),
        a_bucket(pinned=True, resolved=True, digested=True),
    ],
)
def test_what_never_fades_scores_999(bucket):
    assert score_of(bucket) == 999.0


def test_feel_scores_50_whatever_its_age():
    assert score_of(a_bucket(kind=Kind.FEEL, age_days=400, resolved=True)) == 50.0


def test_last_use_in_the_future_counts_as_now():
    assert score_of(a_bucket(age_days=-5)) == score_of(a_bucket())


def test_settings_change_the_rate_and_the_weight_of_emotion():
    bucket = a_bucket(importance=10, arousal=0.5, age_days=10)
    weights = DecayWeights(rate_per_day=0.1, emotion_base=0.8, arousal_boost=0.4)

    # 10 · e^(−1) · (0.3·1.001273 + 0.7·(0.8 + 0.4·0.5)) = 10 · 0.367879 · 1.000382 = 3.680199
    assert decay_score(bucket, NOW, weights) == pytest.approx(3.6802, abs=1e-4)


def test_no_buckets_no_scores():
    assert decay_scores(DecayColumns.of([]), NOW.timestamp(), WEIGHTS).shape == (0,)


# The decided faults that are a matter of this formula


def test_resolved_bucket_is_only_weighed_down_not_archived_by_the_flag():
    """B-01: resolving is a factor, not a move."""
    bucket = a_bucket(importance=9, arousal=0.2, resolved=True)

    # 9 · (0.7·2 + 0.3·1.16) · 0.05 = 9 · 1.748 · 0.05 = 0.7866, above the threshold of 0.3
    assert score_of(bucket) == pytest.approx(0.7866)


def test_ripple_of_three_tenths_raises_the_score_of_a_bucket_recalled_three_times():
    """B-03: nothing truncates the activation count."""
    before = a_bucket(importance=5, activation_count=3.0)
    after = a_bucket(importance=5, activation_count=3.3)

    # mix 0.7·2 + 0.3·1.24 = 1.772;  5 · 3^0.3 · 1.772 = 5 · 1.390389 · 1.772 = 12.31885
    # 5 · 3.3^0.3 · 1.772 = 5 · 1.430721 · 1.772 = 12.67619
    assert score_of(before) == pytest.approx(12.31885, abs=1e-4)
    assert score_of(after) == pytest.approx(12.67619, abs=1e-4)


def test_new_bucket_with_count_zero_scores_like_one_recalled_once():
    """B-04: created is not recalled, and costs nothing."""
    assert score_of(a_bucket(activation_count=0)) == score_of(a_bucket(activation_count=1.0))


# What holds for every bucket

flags = st.booleans()
any_bucket = st.builds(
    lambda kind, importance, count, age, arousal, resolved, digested, pinned, protected: a_bucket(
        kind=kind,
        importance=importance,
        activation_count=count,
        age_days=age,
        arousal=arousal,
        resolved=resolved,
        digested=digested,
        pinned=pinned,
        protected=protected,
    ),
    st.sampled_from(Kind),
    st.integers(1, 10),
    st.floats(0, 1_000),
    st.floats(-1, 2_000),
    st.floats(0, 1),
    flags,
    flags,
    flags,
    flags,
)
fading_bucket = st.builds(
    lambda importance, count, arousal, resolved, digested: a_bucket(
        importance=importance, activation_count=count, arousal=arousal, resolved=resolved, digested=digested
    ),
    st.integers(1, 10),
    st.floats(0, 1_000),
    st.floats(0, 1),
    flags,
    flags,
)


def rested(bucket: Bucket, days: float) -> Bucket:
    return replace(bucket, last_active=NOW - timedelta(days=days))


@given(any_bucket)
def test_scores_stay_in_their_range(bucket):
    score = score_of(bucket)

    # the most a fading bucket can have: 10 · 1000^0.3 · (0.7·2 + 0.3·1.8) · 1.5
    assert 0.0 <= score <= 10 * 1000**0.3 * 1.94 * 1.5 or score == 999.0


@given(fading_bucket, st.floats(0, 3), st.floats(0, 3))
def test_older_never_scores_higher_up_to_day_three(bucket, one, other):
    younger, older = sorted((one, other))

    assert score_of(rested(bucket, older)) <= score_of(rested(bucket, younger))


@given(fading_bucket, st.floats(3.001, 3_000), st.floats(3.001, 3_000))
def test_older_never_scores_higher_after_day_three(bucket, one, other):
    younger, older = sorted((one, other))

    assert score_of(rested(bucket, older)) <= score_of(rested(bucket, younger))


@given(fading_bucket, st.floats(0, 500), st.floats(0, 500))
def test_more_use_never_scores_lower(bucket, count, more):
    used = replace(bucket, activation_count=count)
    used_more = replace(bucket, activation_count=count + more)

    assert score_of(used_more) >= score_of(used)


@given(fading_bucket, st.floats(0, 400))
def test_resolving_never_raises_a_score(bucket, age):
    bucket = rested(replace(bucket, resolved=False), age)

    assert score_of(replace(bucket, resolved=True)) < score_of(bucket)


@given(fading_bucket, st.floats(0, 400), st.floats(0, 1), st.floats(0, 1))
def test_stronger_emotion_never_scores_lower(bucket, age, one, other):
    calm, excited = sorted((one, other))
    bucket = rested(bucket, age)

    assert score_of(replace(bucket, emotion=Emotion(0.5, excited))) >= score_of(
        replace(bucket, emotion=Emotion(0.5, calm))
    )


@given(st.lists(any_bucket, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_row_scores_as_the_bucket_alone_in_any_order(buckets, rng):
    rng.shuffle(buckets)

    scores = decay_scores(DecayColumns.of(buckets), NOW.timestamp(), WEIGHTS)

    assert scores == pytest.approx([score_of(bucket) for bucket in buckets], rel=1e-12)
