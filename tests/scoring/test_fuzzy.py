"""Fuzzy topic: letter by letter, one bucket alone and all at once."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultd.scoring.constants import MatchWeights
from vaultd.scoring.fuzzy import Head, fuzzy_topic, fuzzy_topics

WEIGHTS = MatchWeights()


def topic(query, *, name="", domains=(), tags=(), body="", weights=WEIGHTS):
    return fuzzy_topic(query, name=name, domains=domains, tags=tags, body=body, weights=weights)


def test_query_found_in_every_part_is_a_perfect_topic():
    assert topic("实习", name="实习offer", domains=["实习"], tags=["找实习"], body="今天实习") == pytest.approx(1.0)


def test_name_weighs_three_of_eight_and_a_half():
    # 3 · 1 / 8.5
    assert topic("piano", name="piano exam") == pytest.approx(3 / 8.5)


def test_body_weighs_one_of_eight_and_a_half():
    """B-07: the body supports, it does not decide."""
    assert topic("piano", body="we spoke about the piano") == pytest.approx(1 / 8.5)


def test_best_domain_and_best_tag_count():
    # (2.5 · 1 + 2 · 1) / 8.5
    assert topic("cat", domains=["xyz", "cat"], tags=["uvw", "cat"]) == pytest.approx(4.5 / 8.5)


def test_half_a_word_counts_half():
    # the best window of "abzz" for "abcd" is its beginning "ab": 2 · 2 / (4 + 2) = 2/3
    assert topic("abcd", name="abzz") == pytest.approx(3 * (2 / 3) / 8.5)


def test_only_the_first_thousand_characters_of_a_body_are_read():
    body = "." * 995 + "river"

    assert topic("river", body=body) == pytest.approx(1 / 8.5)
    assert topic("river", body="." + body) < 1 / 8.5


@pytest.mark.parametrize(("query", "name"), [("ＯＦＦＥＲ", "offer"), ("Straße", "STRASSE"), ("ﬁne", "FINE")])
def test_case_and_width_of_letters_do_not_matter(query, name):
    assert topic(query, name=name) == pytest.approx(3 / 8.5)


def test_empty_query_fits_nothing():
    assert topic("  ", name="", domains=[""], tags=[], body="") == 0.0


def test_empty_parts_fit_nothing():
    assert topic("x", name="", domains=[], tags=[""], body="") == 0.0


def test_settings_change_the_weights():
    weights = MatchWeights(name=1.0, domain=1.0, tags=1.0, body=1.0)

    assert topic("piano", name="piano", body="piano", weights=weights) == pytest.approx(0.5)


word = st.text(alphabet="abc 实习的ＡＢ", max_size=8)
row = st.tuples(word, st.lists(word, max_size=2), st.lists(word, max_size=4), word)


@settings(deadline=None)
@given(word, st.lists(row, max_size=6))
def test_all_at_once_is_the_same_as_one_by_one(query, rows):
    heads = [Head(name, domains, tags) for name, domains, tags, _ in rows]

    together = fuzzy_topics(query, heads, WEIGHTS, [body for *_, body in rows])

    alone = [topic(query, name=name, domains=domains, tags=tags, body=body) for name, domains, tags, body in rows]
    assert together.tolist() == pytest.approx(alone)
    assert all(0.0 <= value <= 1.0 for value in together)


@settings(deadline=None)
@given(word, st.lists(st.tuples(row, st.floats(0.0, 1.0)), max_size=6))
def test_from_a_least_value_on_it_is_the_same_and_below_it_nothing(query, rows):
    heads = [Head(name, domains, tags) for (name, domains, tags, _), _ in rows]
    bodies = [row[-1] for row, _ in rows]
    least = [value for _, value in rows]

    for read in (bodies, None):
        whole = fuzzy_topics(query, heads, WEIGHTS, read).tolist()
        cut = fuzzy_topics(query, heads, WEIGHTS, read, least=least).tolist()
        assert all(
            now == was or (isnan(now) and was < wanted) for now, was, wanted in zip(cut, whole, least, strict=True)
        )


def test_without_bodies_the_topic_is_what_the_other_parts_give():
    heads = [Head("piano", ["music"], ["exam"]), Head("", [], ["piano"])]

    # 3/8.5 for the name alone is the least; the second row has 2/8.5 by its tag
    assert fuzzy_topics("piano", heads, WEIGHTS)[1] == pytest.approx(2 / 8.5)


def test_no_buckets_have_no_topics():
    assert fuzzy_topics("piano", [], WEIGHTS).tolist() == []
