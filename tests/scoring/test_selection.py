"""Choosing and ordering: what surfaces, what fits the budget, what adds something new, what drifts in."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_bucket
from vaultd.core.bucket import Bucket, Kind
from vaultd.scoring.constants import DecayWeights, DriftRules, SurfaceRules
from vaultd.scoring.decay import DecayColumns, decay_scores
from vaultd.scoring.selection import Surfacing, drift, drifts, fit, mmr, surfacing_order


def surface(*buckets: Bucket, seed: int = 1, eligible=None) -> Surfacing:
    columns = DecayColumns.of(buckets)
    scores = decay_scores(columns, NOW.timestamp(), DecayWeights())
    return surfacing_order(columns, scores, rng=random.Random(seed), rules=SurfaceRules(), eligible=eligible)


def used(**properties) -> Bucket:
    """A bucket that was recalled once, so that it is no cold start."""
    return a_bucket(activation_count=1.0, **properties)


# Surfacing


def test_core_surfaces_always_and_by_importance():
    order = surface(
        used(kind=Kind.PERMANENT, importance=6),
        used(pinned=True, importance=10, age_days=20),
        used(protected=True, importance=10, resolved=True),
        used(),
    )

    assert order.core == (2, 1, 0)
    assert order.floating == (3,)


def test_only_unresolved_dynamic_buckets_surface_below_the_core():
    order = surface(used(resolved=True), used(kind=Kind.FEEL), used(kind=Kind.ARCHIVED), used(digested=True))

    assert order.core == ()
    assert order.floating == (3,)


def test_new_important_bucket_shows_up_as_a_cold_start():
    """B-04: a new bucket has count 0, and stands in front although others score higher."""
    order = surface(used(importance=10), a_bucket(importance=8, age_days=6), used(importance=9))

    assert order.cold == (1,)
    assert order.others[0] == 0


def test_at_most_two_cold_starts_the_strongest_ones():
    order = surface(
        a_bucket(importance=8),
        a_bucket(importance=10),
        a_bucket(importance=9),
        a_bucket(importance=7),
        used(importance=5),
    )

    assert order.cold == (1, 2)
    assert order.others[0] == 0
    assert set(order.others) == {0, 3, 4}


def test_a_ripple_alone_does_not_end_a_cold_start():
    order = surface(a_bucket(importance=8, activation_count=0.6), a_bucket(importance=8, activation_count=1.0))

    assert order.cold == (0,)


def test_rank_one_stays_ranks_two_to_twenty_are_shuffled_and_the_rest_follows_by_score():
    buckets = [used(importance=5, age_hours=hours) for hours in range(25)]

    orders = [surface(*buckets, seed=seed).others for seed in range(20)]

    for others in orders:
        assert others[0] == 0
        assert sorted(others[1:20]) == list(range(1, 20))
        assert others[20:] == tuple(range(20, 25))
    assert len({others[1] for others in orders}) > 5
    assert len({others[19] for others in orders}) > 5


def test_the_same_seed_gives_the_same_order():
    buckets = [used(importance=5, age_hours=hours) for hours in range(25)]

    assert surface(*buckets, seed=7) == surface(*buckets, seed=7)


def test_what_is_not_eligible_does_not_surface_not_even_from_the_core():
    order = surface(used(pinned=True), used(), used(), eligible=np.array([False, True, False]))

    assert order == Surfacing(core=(), cold=(), others=(1,))


def test_nothing_surfaces_from_nothing():
    assert surface() == Surfacing(core=(), cold=(), others=())


# Budget


def test_what_does_not_fit_is_left_out_whole_and_smaller_ones_still_fit():
    fitted = fit([40, 70, 30, 31, 20], 100)

    # 40, then 70 is too much, then 30 → 70, 31 → 101 is too much, 20 → 90
    assert fitted.kept == (0, 2, 4)
    assert fitted.spent == 90
    assert fitted.left_out == 2


def test_the_limit_ends_the_list_without_counting_the_rest_as_left_out():
    fitted = fit([10, 200, 10, 10], 100, limit=2)

    assert fitted.kept == (0, 2)
    assert fitted.left_out == 1


def test_budget_is_used_to_the_last_token():
    assert fit([60, 40], 100).kept == (0, 1)
    assert fit([], 100).kept == ()
    assert fit([1], 0).left_out == 1


@given(st.lists(st.integers(0, 500), max_size=40), st.integers(0, 2_000), st.none() | st.integers(0, 10))
def test_budget_and_limit_always_hold(costs, budget, limit):
    fitted = fit(costs, budget, limit=limit)

    assert fitted.spent == sum(costs[place] for place in fitted.kept) <= budget
    assert list(fitted.kept) == sorted(fitted.kept)
    if limit is not None:
        assert len(fitted.kept) <= limit
    else:
        assert len(fitted.kept) + fitted.left_out == len(costs)


# Maximal marginal relevance


def test_a_near_copy_of_the_best_gives_way_to_something_new():
    relevance = np.array([0.9, 0.88, 0.7])
    similarity = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]])

    # after row 0:  row 1: 0.75·0.88 − 0.25·0.95 = 0.4225;  row 2: 0.75·0.7 − 0.25·0.1 = 0.5
    assert mmr(relevance, similarity, limit=2) == (0, 2)
    assert mmr(relevance, similarity, limit=3) == (0, 2, 1)


def test_a_lesson_is_not_easily_crowded_out():
    relevance = np.array([0.9, 0.85, 0.7])
    similarity = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]])
    lambdas = np.array([0.75, 0.85, 0.75])

    # row 1: 0.85·0.85 − 0.15·0.95 = 0.58 beats row 2 with 0.5;  with λ 0.75 it had 0.75·0.85 − 0.2375 = 0.4
    assert mmr(relevance, similarity, limit=2, lambdas=lambdas) == (0, 1)


def test_the_first_is_the_most_relevant_whatever_its_lambda():
    assert mmr(np.array([0.8, 0.78]), np.eye(2), limit=1, lambdas=np.array([0.75, 0.85])) == (0,)


def test_nearness_is_measured_to_any_chosen_row():
    relevance = np.array([0.9, 0.8, 0.6, 0.55])
    similarity = np.array([[1, 0, 0, 0], [0, 1, 0.9, 0], [0, 0.9, 1, 0], [0, 0, 0, 1]], dtype=float)

    # rows 0 and 1 first;  then row 2: 0.75·0.6 − 0.25·0.9 = 0.225;  row 3: 0.75·0.55 = 0.4125
    assert mmr(relevance, similarity, limit=4) == (0, 1, 3, 2)


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (2, 2), (9, 3)])
def test_no_more_than_the_limit_and_no_more_than_there_are(limit, count):
    assert len(mmr(np.array([0.1, 0.2, 0.3]), np.eye(3), limit=limit)) == count
    assert mmr(np.zeros(0), np.zeros((0, 0)), limit=limit) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 8))
def test_without_likeness_the_order_is_that_of_relevance(relevance, limit):
    order = mmr(np.array(relevance), np.zeros((len(relevance), len(relevance))), limit=limit)

    assert [relevance[row] for row in order] == sorted(relevance, reverse=True)[:limit]


# Drift

OLD = np.array([0.4, 1.9, 2.0, 7.0, 0.1])
ALL = np.ones(5, dtype=bool)


def test_old_buckets_drift_in_in_four_cases_of_ten():
    rng = random.Random(3)

    tosses = [drifts(0, rng, DriftRules()) for _ in range(4_000)]
    sizes = Counter(len(drift(OLD, ALL, rng=rng, rules=DriftRules())) for drifted in tosses if drifted)

    assert sum(tosses) / len(tosses) == pytest.approx(0.4, abs=0.03)  # 4,000 tosses: standard deviation 0.008
    assert set(sizes) == {1, 2, 3}
    assert all(size == pytest.approx(4_000 * 0.4 / 3, rel=0.2) for size in sizes.values())


def test_only_eligible_buckets_of_low_score_drift_and_none_twice():
    rng = random.Random(3)
    eligible = np.array([True, True, True, True, False])

    for _ in range(200):
        rows = drift(OLD, eligible, rng=rng, rules=DriftRules())
        assert len(rows) > 0
        assert set(rows) <= {0, 1}
        assert len(set(rows)) == len(rows)


def test_nothing_drifts_beside_three_hits():
    assert not any(drifts(3, random.Random(seed), DriftRules()) for seed in range(50))


def test_nothing_drifts_where_nothing_is_old():
    assert not any(drift(OLD + 2, ALL, rng=random.Random(seed), rules=DriftRules()) for seed in range(50))
