"""What a forgetting cycle does, what the coming ones will do, and whom a recall stirs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW, a_bucket
from vaultd.core.bucket import Bucket, Kind
from vaultd.scoring.constants import DecayWeights, RippleRules
from vaultd.scoring.decay import DecayColumns, archived, cycle, forecast, ripple_targets

NOW_S = NOW.timestamp()
DAY_S = 86_400.0
WEIGHTS = DecayWeights()


def plan_for(*buckets: Bucket, weights: DecayWeights = WEIGHTS):
    return cycle(DecayColumns.of(buckets), NOW_S, weights)


def test_auto_resolve_takes_what_is_unimportant_and_unused_for_more_than_thirty_days():
    plan = plan_for(
        a_bucket(importance=4, age_days=30.01),
        a_bucket(importance=4, age_days=30),
        a_bucket(importance=5, age_days=400),
        a_bucket(importance=1, age_days=31, resolved=True),
    )

    assert plan.resolve.tolist() == [0]


def test_auto_resolve_counts_in_the_same_cycle():
    """B-08: the factor for resolved buckets applies at once, not a day later."""
    plan = plan_for(a_bucket(importance=4, age_days=31))

    # 4 · e^(−1.55) · (0.3·1 + 0.7·1.24) · 0.05 = 4 · 0.212248 · 1.168 · 0.05 = 0.049581 < 0.3;  unresolved it were 0.99
    assert plan.scores[0] == pytest.approx(0.049581, abs=1e-5)
    assert plan.resolve.tolist() == [0]
    assert plan.archive.tolist() == [0]


def test_auto_resolved_bucket_that_is_strong_enough_stays():
    plan = plan_for(a_bucket(importance=4, arousal=1.0, activation_count=1_000, age_days=31))

    # 4 · 1000^0.3 · e^(−1.55) · (0.3·1 + 0.7·1.8) · 0.05 = 4 · 7.943282 · 0.212248 · 1.56 · 0.05 = 0.526009
    assert plan.scores[0] == pytest.approx(0.526009, abs=1e-4)
    assert plan.resolve.tolist() == [0]
    assert plan.archive.tolist() == []


def test_cycle_archives_below_the_threshold_only():
    plan = plan_for(
        a_bucket(importance=5, age_days=60),
        # 5 · e^(−3) · 1.168 = 0.290758
        a_bucket(importance=5, age_days=59),
        # 5 · e^(−2.95) · 1.168 = 0.305666
    )

    assert plan.scores == pytest.approx([0.290758, 0.305666], abs=1e-5)
    assert plan.archive.tolist() == [0]
    assert plan.checked == 2
    assert plan.lowest == pytest.approx(0.290758, abs=1e-5)


@pytest.mark.parametrize(
    "bucket",
    [
        a_bucket(importance=1, age_days=900, pinned=True),
        a_bucket(importance=1, age_days=900, protected=True),
        a_bucket(importance=1, age_days=900, kind=Kind.PERMANENT),
        a_bucket(importance=1, age_days=900, kind=Kind.FEEL),
        a_bucket(importance=1, age_days=900, kind=Kind.ARCHIVED),
    ],
)
def test_cycle_leaves_alone_what_is_not_a_plain_dynamic_bucket(bucket):
    plan = plan_for(bucket)

    assert plan.checked == 0
    assert plan.lowest is None
    assert plan.resolve.size == plan.archive.size == 0


def test_important_bucket_silent_for_79_days_is_held_by_the_floor():
    weights = DecayWeights(protect_importance_floor=8)
    bucket = a_bucket(importance=9, age_days=79, activation_count=1.0)

    with_floor, without = plan_for(bucket, weights=weights), plan_for(bucket)

    # 9 · e^(−3.95) · 1.168 = 0.202430
    assert with_floor.scores[0] == without.scores[0] == pytest.approx(0.20243, abs=1e-4)
    assert with_floor.archive.tolist() == []
    assert without.archive.tolist() == [0]


def test_floor_holds_from_the_importance_it_names():
    weights = DecayWeights(protect_importance_floor=8)

    plan = plan_for(a_bucket(importance=8, age_days=90), a_bucket(importance=7, age_days=90), weights=weights)

    assert plan.archive.tolist() == [1]


def test_bucket_just_restored_from_the_archive_stays():
    plan = plan_for(a_bucket(importance=1, arousal=0.0, age_hours=1))

    assert plan.archive.tolist() == []


def test_a_score_that_is_no_number_archives_nothing():
    columns = DecayColumns.of([a_bucket(age_days=400)])

    assert archived(columns, np.array([math.nan]), WEIGHTS).tolist() == [False]


# Forecast


def test_forecast_names_the_day_on_which_the_score_falls_below_the_threshold():
    columns = DecayColumns.of([a_bucket(importance=5, age_days=55)])

    seen = forecast(columns, NOW_S, WEIGHTS, days=30)

    # at 59 days of rest 0.3057, at 60 days 0.2908: the cycle in 5 days
    assert seen.archive_day[0] == pytest.approx(5.0)
    assert seen.archived_within(7).tolist() == [0]
    assert seen.archived_within(4).tolist() == []


def test_forecast_follows_a_bucket_over_day_thirty():
    columns = DecayColumns.of([a_bucket(importance=4, age_days=27.5)])

    seen = forecast(columns, NOW_S, WEIGHTS, days=7)

    # rest 28.5, 29.5, 30.5: resolved by the third cycle from now, and archived by the same
    assert seen.resolve_day[0] == pytest.approx(3.0)
    assert seen.archive_day[0] == pytest.approx(3.0)
    assert seen.resolved_within(7).tolist() == [0]


def test_forecast_names_the_first_cycle_that_resolves_a_bucket_which_then_stays_a_while():
    columns = DecayColumns.of([a_bucket(importance=4, arousal=1.0, activation_count=1_000, age_days=29.5)])

    seen = forecast(columns, NOW_S, WEIGHTS, days=30)

    # rest 30.5 in a day: resolved, 4·1000^0.3·e^(−1.525)·1.56·0.05 = 0.539315;  then e^(−0.05) a day:
    # 0.539315·e^(−0.55) = 0.311157 eleven days on, 0.295982 after twelve, which is the cycle in 13 days
    assert seen.resolve_day[0] == pytest.approx(1.0)
    assert seen.archive_day[0] == pytest.approx(13.0)


def test_forecast_sees_a_weak_bucket_dip_before_day_three():
    columns = DecayColumns.of([a_bucket(importance=4, arousal=0.65, resolved=True)])

    seen = forecast(columns, NOW_S, WEIGHTS, days=7)

    # emotion 1.52;  day 0: 4·0.05·(1.4 + 0.456) = 0.3712
    # day 1: 0.2·e^(−0.05)·(0.7·1.513417 + 0.456) = 0.2·0.951229·1.515392 = 0.288298 < 0.3
    assert seen.archive_day[0] == pytest.approx(1.0)


def test_forecast_sees_a_bucket_lifted_over_the_threshold_by_the_switch_on_day_three():
    # resolved, so the factor is 0.05; emotion 1 + 0.8·0.7 = 1.56
    columns = DecayColumns.of([a_bucket(importance=5, arousal=0.7, resolved=True, age_days=2.9)])

    cycle_today = forecast(columns, NOW_S, WEIGHTS, days=3)
    cycle_in_half_a_day = forecast(columns, NOW_S, WEIGHTS, days=3, next_cycle=NOW_S + 0.5 * DAY_S)

    # rest 2.9: 0.25·0.865022·(0.7·1.144682 + 0.3·1.56) = 0.274496: archived by a cycle now
    # rest 3.4: 0.25·0.843665·(0.3·1.103706 + 0.7·1.56) = 0.300157: stays; rest 4.4: 0.25·0.802519·1.407969 = 0.282480
    assert cycle_today.archive_day[0] == 0.0
    assert cycle_in_half_a_day.archive_day[0] == pytest.approx(1.5)


def test_forecast_marks_what_the_floor_alone_holds():
    columns = DecayColumns.of([a_bucket(importance=9, age_days=79), a_bucket(importance=5, age_days=79)])
    weights = DecayWeights(protect_importance_floor=8)

    seen = forecast(columns, NOW_S, weights, days=30)

    assert seen.held.tolist() == [True, False]
    assert seen.held_within(7).tolist() == [0]
    assert seen.archived_within(7).tolist() == [1]


def test_forecast_lists_the_soonest_first_and_nothing_that_lasts():
    columns = DecayColumns.of(
        [
            a_bucket(importance=5, age_days=40),
            a_bucket(importance=10, age_days=1),
            a_bucket(importance=5, age_days=58),
            a_bucket(importance=1, age_days=200, pinned=True),
        ]
    )

    seen = forecast(columns, NOW_S, WEIGHTS, days=30)

    assert seen.archived_within(30).tolist() == [2, 0]
    assert seen.archived_within(7).tolist() == [2]


def hand_score(importance, count, arousal, resolved, digested, days):
    """The formula once more, by `math` alone."""
    share = 0.7 if days <= 3 else 0.3
    mix = share * (1 + math.exp(-days * 24 / 36)) + (1 - share) * (1 + 0.8 * arousal)
    factor = (0.02 if digested else 0.05) if resolved else (1.5 if arousal > 0.7 else 1.0)
    return importance * max(1.0, count) ** 0.3 * math.exp(-0.05 * days) * mix * factor


def hand_forecast(bucket: Bucket, horizon: int, step_days: float):
    """Days on which a bucket is resolved and archived, by walking from cycle to cycle."""
    resolved, resolve_day = bucket.resolved, math.inf
    rest_now = (NOW - bucket.last_active).total_seconds() / DAY_S
    for turn in range(int(horizon / step_days) + 1):
        day = turn * step_days
        rest = max(0.0, rest_now + day)
        if not resolved and bucket.importance <= 4 and rest > 30:
            resolved, resolve_day = True, day
        args = (bucket.importance, bucket.activation_count, bucket.emotion.arousal, resolved, bucket.digested, rest)
        if hand_score(*args) < 0.3:
            return resolve_day, day
    return resolve_day, math.inf


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.builds(
            lambda importance, count, age, arousal, resolved, digested: a_bucket(
                importance=importance,
                activation_count=count,
                age_hours=age * 5 + 1,  # off the whole days, so that rounding cannot decide
                arousal=arousal / 10,
                resolved=resolved,
                digested=digested,
            ),
            st.integers(1, 10),
            st.integers(0, 30),
            st.integers(0, 400),
            st.integers(0, 10),
            st.booleans(),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([24.0, 12.0, 36.0]),
)
def test_forecast_is_what_the_cycles_will_do(buckets, interval_hours):
    weights = replace(WEIGHTS, check_interval_hours=interval_hours)

    seen = forecast(DecayColumns.of(buckets), NOW_S, weights, days=30)

    expected = [hand_forecast(bucket, 30, interval_hours / 24) for bucket in buckets]
    assert seen.resolve_day.tolist() == pytest.approx([resolve for resolve, _ in expected])
    assert seen.archive_day.tolist() == pytest.approx([archive for _, archive in expected])


# Ripple


def stirred(hours, source=0.0, unfit=()):
    """The hours of the memories that a recall of the one made at hour `source` stirs."""
    made = np.array(sorted(hours))
    targets = ripple_targets(
        made * 3600, lambda row: made[row] not in unfit, int(np.searchsorted(made, source)), RippleRules()
    )
    return made[targets].tolist()


def test_ripple_reaches_the_five_nearest_in_creation_within_two_days():
    hours = [0.0, 50.0, -47.0, 1.0, -2.0, 48.0, 3.0, -4.0, 5.0]

    # distances 50, 47, 1, 2, 48, 3, 4, 5: the five nearest are 1, 2, 3, 4, 5 hours away
    assert stirred(hours) == [1.0, -2.0, 3.0, -4.0, 5.0]


def test_ripple_includes_the_edge_of_the_window_and_leaves_out_the_source_and_the_ineligible():
    assert stirred([0.0, 48.0, -48.0, 48.01, 1.0], unfit=(1.0,)) == [-48.0, 48.0]
