"""Relevance of notes to a question: words, meaning, dates and neighbours, and whether a question is trusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vaultd.scoring.relevance import (
    DAY_SHARE,
    NEIGHBOUR_SHARE,
    Neighbours,
    evidence,
    joined,
    meaning_of_said,
    scaled_meaning,
    scaled_words,
    topics,
    trust,
    with_neighbours,
)

EVERYONE = np.ones(3, np.bool_)
UNIT = st.floats(0, 1)


def test_words_are_a_share_of_the_best_note():
    assert scaled_words(np.array([4.0, 2.0, 0.0]), 5.0, EVERYONE).tolist() == [1.0, 0.5, 0.0]


def test_weak_words_do_not_count_as_strong_ones_because_nothing_else_was_found():
    # the best has 1 of an ideal of 20; 0.35 · 20 = 7 would be full
    assert scaled_words(np.array([1.0, 0.0, 0.0]), 20.0, EVERYONE)[0] == pytest.approx(1 / 7)


def test_a_note_that_the_filters_left_out_does_not_set_the_scale():
    scaled = scaled_words(np.array([9.0, 3.0, 0.0]), 3.0, np.array([False, True, True]))

    assert scaled.tolist() == [0.0, 1.0, 0.0]


def test_meaning_goes_from_the_farthest_note_to_the_nearest():
    assert scaled_meaning(np.array([-0.4, 0.1, 0.6]), EVERYONE) == pytest.approx([0.0, 0.5, 1.0])


def test_the_lesser_of_two_near_notes_is_not_taken_for_a_far_one():
    # no note is farther than 0.4, so 0 stands at −0.2: (0.4 + 0.2) / (0.6 + 0.2) = 0.75
    assert scaled_meaning(np.array([0.4, 0.6]), np.ones(2, np.bool_)) == pytest.approx([0.75, 1.0])


def test_a_note_that_says_all_words_of_the_question_is_not_taken_for_a_far_one():
    near = meaning_of_said(np.array([0.5, 0.75, 0.95]))
    assert near == pytest.approx([0.0, 0.4, 0.8])


def test_words_stand_for_the_meaning_of_a_note_without_an_embedding():
    known = np.array([True, False])

    both = joined(np.array([0.8, 0.8]), np.array([0.8, 0.0]), known, None)

    assert both == pytest.approx([0.8, 0.8])


def test_a_note_gains_from_its_neighbours_of_the_same_day_alone():
    relevance = np.array([1.0, 0.0, 0.0, 0.0])
    days = np.array([5, 5, 6, 6])

    found = with_neighbours(relevance, Neighbours.of(np.arange(4), days))

    # the mean is 0.25: the second gains 0.75 · 0.2 as a neighbour and 0.75 · 0.2 as one of the day
    assert found == pytest.approx([1.0, 0.75 * (NEIGHBOUR_SHARE + DAY_SHARE), 0.0, 0.0])


def test_a_day_of_hundreds_of_notes_is_an_import_and_makes_no_neighbours():
    relevance = np.zeros(300)
    relevance[7] = 1.0
    one_day = Neighbours.of(np.arange(300), np.zeros(300, np.int64))

    assert with_neighbours(relevance, one_day).tolist() == relevance.tolist()


def test_one_kind_of_evidence_is_enough():
    none, words, meaning = np.array([0.0]), np.array([0.5]), np.array([0.8])

    # words of half the ideal are worth 0.8
    assert evidence(words, none, None) == pytest.approx([0.8])
    assert evidence(none, meaning, None) == pytest.approx([0.8])
    # 1 − 0.2 · 0.2 = 0.96
    assert evidence(words, meaning, None) == pytest.approx([0.96])


def test_an_unknown_similarity_is_no_evidence():
    assert evidence(np.array([0.0]), np.array([np.nan]), None)[0] == 0.0


def test_the_same_evidence_is_trusted_less_in_a_vault_of_more_notes():
    likely = np.array([0.7])

    assert trust(likely, 10) == 1.0
    assert trust(likely, 10) > trust(likely, 400) > trust(likely, 10_000)
    assert trust(np.array([0.99]), 10_000) == 1.0


def test_nothing_is_trusted_where_there_is_nothing():
    assert trust(np.zeros(0), 0) == 0.0
    assert trust(np.zeros(4), 4) == 0.0


def test_the_best_note_of_a_trusted_question_fits_in_full_and_a_distant_one_hardly():
    found = topics(np.array([0.8, 0.4, 0.08]), 0.8, 1.0)

    assert found == pytest.approx([1.0, 0.75, 0.05 / 3])


@given(arrays(np.float64, 6, elements=UNIT), UNIT)
def test_topics_stay_in_range_and_keep_the_order(relevance, trusted):
    found = topics(relevance, float(relevance.max()), trusted)

    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    order = np.argsort(relevance)
    assert (np.diff(found[order]) >= -1e-12).all()


@given(arrays(np.float64, 8, elements=UNIT), st.permutations(range(8)), arrays(np.int64, 8, elements=st.integers(0, 3)))
def test_neighbours_only_ever_add(relevance, order, days):
    found = with_neighbours(relevance, Neighbours.of(np.array(order), np.sort(days)))

    assert (found >= relevance - 1e-12).all()


def test_a_rare_word_in_a_long_note_is_trusted_in_a_large_vault_too():
    surely = evidence(np.array([0.75]), np.array([0.0]), None)

    assert trust(surely, 10_000) == 1.0
