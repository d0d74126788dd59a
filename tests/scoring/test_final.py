"""Worth of a card in a prompt: golden values by hand, then what must hold for every card."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, a_card
from vaultd.core.card import Category, Intent
from vaultd.scoring.constants import FinalWeights
from vaultd.scoring.final import (
    CATEGORY_CODES,
    TYPE_FIT,
    CardColumns,
    final_scores,
    keyword_score,
    keyword_terms,
    lambdas_of,
    recencies,
)

NOW_S = NOW.timestamp()
WEIGHTS = FinalWeights()


def final(*cards, similarity=(), keyword=(), intent=Intent.DEEP_DISCUSSION, weights=WEIGHTS):
    columns = CardColumns.of(cards)
    return final_scores(
        np.array(similarity, dtype=float),
        np.array(keyword, dtype=float),
        columns,
        intent=intent,
        now=NOW_S,
        weights=weights,
    )


def test_final_score_of_a_deep_talk_in_a_deep_discussion():
    card = a_card(category=Category.DEEP_TALK, importance=6, age_days=40)

    scores = final(card, similarity=[0.8], keyword=[0.5])

    # relevance 0.7·0.8 + 0.3·0.5 = 0.71;  fit 1.0;  importance 0.6;  recency e^(−40/30) = 0.263597
    # 0.5·0.71 + 0.2·1.0 + 0.15·0.6 + 0.15·0.263597 = 0.355 + 0.2 + 0.09 + 0.039540 = 0.684540
    assert scores.relevance[0] == pytest.approx(0.71)
    assert scores.type_fit[0] == 1.0
    assert scores.importance[0] == pytest.approx(0.6)
    assert scores.recency[0] == pytest.approx(0.263597, abs=1e-6)
    assert scores.total[0] == pytest.approx(0.684540, abs=1e-6)
    assert scores.keep.tolist() == [True]


def test_card_below_the_threshold_is_not_worth_a_place():
    # 0.5·(0.7·0.4) + 0.2·0.3 + 0.15·0.5 + 0.15·1 = 0.14 + 0.06 + 0.075 + 0.15 = 0.425
    scores = final(a_card(category=Category.MILESTONE), similarity=[0.4], keyword=[0.0], intent=Intent.CASUAL)

    assert scores.total[0] == pytest.approx(0.425)
    assert scores.keep.tolist() == [False]


def test_card_that_just_reaches_the_threshold_is_kept():
    # 0.5·(0.7·0.4 + 0.3·0.5) + 0.2·0.3 + 0.15·0.5 + 0.15·1 = 0.215 + 0.06 + 0.075 + 0.15 = 0.5
    scores = final(a_card(category=Category.MILESTONE), similarity=[0.4], keyword=[0.5], intent=Intent.CASUAL)

    assert scores.total[0] == pytest.approx(0.5)
    assert scores.keep.tolist() == [True]


def test_fit_importance_and_age_alone_do_not_inject_a_card():
    irrelevant = a_card(category=Category.DEEP_TALK, importance=10)

    # 0.5·0.19 + 0.2·1 + 0.15·1 + 0.15·1 = 0.595, but the relevance of 0.19 is below the floor of 0.20
    with_floor = final(irrelevant, similarity=[0.19 / 0.7], keyword=[0.0])
    without = final(irrelevant, similarity=[0.19 / 0.7], keyword=[0.0], weights=FinalWeights(relevance_floor=0.0))

    assert with_floor.total[0] == without.total[0] == pytest.approx(0.595)
    assert with_floor.keep.tolist() == [False]
    assert without.keep.tolist() == [True]


def test_relevance_at_the_floor_is_enough():
    # 0.3 · (2/3) = 0.2 by words alone
    scores = final(a_card(category=Category.DEEP_TALK, importance=10), similarity=[0.0], keyword=[2 / 3])

    assert scores.keep.tolist() == [True]


def test_card_without_an_embedding_is_judged_by_its_words():
    scores = final(a_card(), similarity=[math.nan], keyword=[1.0])

    assert scores.relevance[0] == pytest.approx(0.3)


# Recency


@pytest.mark.parametrize(
    ("card", "step", "smooth"),
    [
        (a_card(age_days=0), 1.0, 1.0),
        (a_card(age_days=30), 1.0, 1.0),
        (a_card(age_days=30.001), 0.367867, 0.999967),  # e^(−30.001/30); e^(−0.001/30)
        (a_card(age_days=45), 0.223130, 0.606531),  # e^(−1.5); e^(−0.5)
        (a_card(age_days=48.2), 0.200555, 0.545165),  # e^(−48.2/30); e^(−18.2/30)
        (a_card(age_days=400), 0.2, 0.2),
        (a_card(age_days=400, used_days_ago=10), 1.0, 1.0),
        (a_card(age_days=400, used_days_ago=45), 0.223130, 0.606531),
        (a_card(age_days=10, used_days_ago=400), 1.0, 1.0),
        (a_card(age_days=400, importance=9), 1.0, 1.0),
        (a_card(age_days=400, importance=8), 0.2, 0.2),
        (a_card(age_days=400, category=Category.LESSON, importance=1), 1.0, 1.0),
        (a_card(age_days=-3), 1.0, 1.0),
    ],
)
def test_recency_counts_from_the_later_of_creation_and_use(card, step, smooth):
    columns = CardColumns.of([card])

    assert recencies(columns, NOW_S, "step")[0] == pytest.approx(step, abs=1e-6)
    assert recencies(columns, NOW_S, "smooth")[0] == pytest.approx(smooth, abs=1e-6)


@given(st.floats(0, 500), st.floats(0, 5), st.sampled_from(["step", "smooth"]))
def test_older_cards_are_never_fresher(age, more, mode):
    younger, older = recencies(CardColumns.of([a_card(age_days=age), a_card(age_days=age + more)]), NOW_S, mode)

    assert older <= younger
    if mode == "smooth":
        assert younger - older <= more / 30 + 1e-9  # never steeper than the exponential at its beginning


# Category fit


def test_category_fit_has_a_value_for_every_category_and_intent():
    assert {(category, intent) for category in TYPE_FIT for intent in TYPE_FIT[category]} == {
        (category, intent) for category in Category for intent in Intent
    }


@pytest.mark.parametrize(
    ("category", "intent", "fit"),
    [
        (Category.MILESTONE, Intent.SEEKING, 0.6),
        (Category.COMMITMENT, Intent.REFLECTIVE, 0.7),
        (Category.TURNING_POINT, Intent.DEEP_DISCUSSION, 0.8),
        (Category.INTERACTION_MOMENT, Intent.CASUAL, 1.0),
        (Category.PREFERENCE, Intent.PRACTICAL, 0.8),
        (Category.REAL_WORLD, Intent.PRACTICAL, 1.0),
        (Category.LESSON, Intent.SEEKING, 0.9),
        (Category.LESSON, Intent.CASUAL, 0.2),
    ],
)
def test_category_fit_is_read_from_the_right_cell(category, intent, fit):
    assert final(a_card(category=category), similarity=[0], keyword=[0], intent=intent).type_fit[0] == fit


def test_lessons_have_a_lambda_of_their_own():
    codes = np.array([CATEGORY_CODES[Category.LESSON], CATEGORY_CODES[Category.PREFERENCE]], dtype=np.uint8)

    assert lambdas_of(codes).tolist() == [0.85, 0.75]


# Keywords


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Where is the Café?", ("where", "is", "the", "café")),
        ("实习offer的事", ("实习", "offer", "的事")),
        ("猫", ("猫",)),
        ("ＯＦＦＥＲ offer", ("offer",)),
        ("喜欢喜欢", ("喜欢", "欢喜")),
        ("…！？", ()),
    ],
)
def test_terms_are_words_and_bigrams(text, terms):
    assert keyword_terms(text) == terms


def test_keyword_score_weighs_content_nine_to_one_over_tags():
    terms = keyword_terms("实习 offer")

    # both terms in the content, one of two in the tags: 0.9·1 + 0.1·0.5
    assert keyword_score(terms, "她拿到了实习的 Offer", ["实习", "夏天"]) == pytest.approx(0.95)
    # one of two in the content, none in the tags
    assert keyword_score(terms, "去年的实习", []) == pytest.approx(0.45)
    assert keyword_score(terms, "", ["offer letter"]) == pytest.approx(0.05)


def test_one_character_is_found_inside_a_longer_run():
    assert keyword_score(keyword_terms("猫"), "我家的猫很胖", []) == pytest.approx(0.9)


def test_a_latin_term_is_a_whole_word():
    assert keyword_score(keyword_terms("art"), "the party was loud", []) == 0.0


def test_a_query_without_terms_matches_nothing():
    assert keyword_score((), "anything", ["tag"]) == 0.0


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=10), max_size=3))
def test_keyword_scores_stay_in_range_and_a_text_matches_itself(query, content, tags):
    terms = keyword_terms(query)

    assert 0.0 <= keyword_score(terms, content, tags) <= 1.0
    if terms:
        assert keyword_score(terms, query, [query]) == pytest.approx(1.0)


# What holds for every card

cards = st.builds(
    a_card,
    category=st.sampled_from(Category),
    importance=st.integers(1, 10),
    age_days=st.floats(-5, 900),
    used_days_ago=st.none() | st.floats(0, 900),
)


@given(
    st.lists(st.tuples(cards, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
    st.sampled_from(Intent),
    st.randoms(use_true_random=False),
)
def test_scores_stay_in_range_in_any_order(rows, intent, rng):
    rng.shuffle(rows)

    together = final(
        *(row[0] for row in rows), similarity=[r[1] for r in rows], keyword=[r[2] for r in rows], intent=intent
    )

    alone = [final(card, similarity=[near], keyword=[word], intent=intent).total[0] for card, near, word in rows]
    assert together.total.tolist() == pytest.approx(alone)
    assert all(0.0 <= total <= 1.0 + 1e-9 for total in together.total)


@given(cards, st.floats(0, 1), st.floats(0, 1), st.sampled_from(Intent))
def test_more_relevance_never_scores_lower(card, one, other, intent):
    less, more = sorted((one, other))

    scores = final(card, card, similarity=[less, more], keyword=[0.3, 0.3], intent=intent)

    assert scores.total[0] <= scores.total[1]
