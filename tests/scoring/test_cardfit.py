"""How likely a card belongs to a message: by hand, and in what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.scoring.cardfit import belonging, standing


def test_a_card_alone_stands_out_from_twenty_that_are_not_there():
    # mean 0.21/21 = 0.01; variance (0.2² + 20·0.1²)/21 = 0.24/21; (0.21 − 0.01)/√0.0114286 = 1.8708
    assert standing(np.array([0.21]), np.array([True])) == pytest.approx([1.8708], abs=1e-4)


def test_cards_that_stand_out_together_do_not_hide_each_other():
    alone = standing(np.array([0.6]), np.array([True]))[0]
    three = standing(np.array([0.6, 0.6, 0.6]), np.array([True] * 3))

    assert three.min() > 0.8 * alone


def test_cards_of_two_scripts_are_each_compared_with_their_own():
    cosines = np.array([0.1] * 100 + [-0.1] * 99 + [0.09])
    group = np.array([True] * 100 + [False] * 100)

    found = standing(cosines, group)

    assert found.argmax() == 199


def test_evidence_at_its_threshold_is_one_half():
    # evidence 4.1 − 0 with nothing else: σ(0)
    known = np.array([True])
    assert belonging(np.array([4.1]), known, np.zeros(1), oneself=False) == pytest.approx([0.5])
    # 1.9 + 2·0.6 + 1 = 4.1: words count up to 0.6
    assert belonging(np.array([1.9]), known, np.ones(1), oneself=True) == pytest.approx([0.5])


def test_a_card_far_behind_the_best_is_held_back_by_the_distance():
    # best 5, second 4.4: 4.4 − ½·0.6 = 4.1
    found = belonging(np.array([5.0, 4.4]), np.array([True, True]), np.zeros(2), oneself=False)
    assert found[1] == pytest.approx(0.5)


def test_without_an_embedding_words_alone_decide():
    found = belonging(np.zeros(3), np.zeros(3, np.bool_), np.array([0.0, 0.25, 0.7]), oneself=True)
    assert found == pytest.approx([0.0, 0.25, 1.0])


@given(st.lists(st.tuples(st.floats(-1, 1), st.booleans(), st.booleans(), st.floats(0, 1)), max_size=40), st.booleans())
def test_similarity_is_a_share_and_more_words_never_make_the_best_card_less_likely(cards, oneself):
    cosines = np.array([card[0] for card in cards])
    known = np.array([card[1] for card in cards], dtype=np.bool_)
    coverage = np.array([card[3] for card in cards])
    stands = standing(cosines, np.array([card[2] for card in cards], dtype=np.bool_))

    found = belonging(stands, known, coverage, oneself=oneself)

    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    if known.any():
        best = int(np.argmax(np.where(known, found, -1)))
        more = coverage.copy()
        more[best] = 1.0
        assert belonging(stands, known, more, oneself=oneself)[best] >= found[best] - 1e-12
