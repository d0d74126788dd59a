"""Words of notes and of questions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultd.index.function_words import CONTENT, FUNCTION, HALF, weight_of
from vaultd.index.postings import Postings
from vaultd.index.tokens import SINGLE_CHARACTER, counted_words, weighted_words


def test_words_that_hold_a_sentence_together_count_little():
    words = weighted_words("What did Caroline paint?")

    assert words == {"what": FUNCTION, "did": FUNCTION, "carolin": CONTENT, "paint": CONTENT}


def test_chinese_words_are_bigrams_and_their_characters_count_a_little():
    words = weighted_words("我的旅游")

    assert words["旅游"] == CONTENT
    assert words["我的"] == FUNCTION
    assert words["的旅"] == HALF
    assert words[".旅"] == SINGLE_CHARACTER
    assert ".的" not in words


def test_a_question_of_one_character_asks_for_it_anywhere():
    assert weighted_words("猫") == {".猫": CONTENT}


@given(st.text(max_size=60))
def test_every_word_of_a_question_has_a_weight_and_every_text_holds_its_own_words(text):
    words = weighted_words(text)
    counts, _ = counted_words(text)

    assert all(0 < weight <= 1 for weight in words.values())
    assert words.keys() <= counts.keys()


@given(st.text(max_size=3))
def test_a_weight_is_one_of_three(word):
    assert weight_of(word) in (FUNCTION, HALF, CONTENT)


def test_a_word_one_letter_away_is_found_if_it_begins_alike():
    postings = Postings()
    postings.put(0, {"landscap": 1, "boiler": 1}, 2)

    assert postings.misspelt("landscpa") == ("landscap",)
    assert postings.misspelt("boilr") == ("boiler",)
    assert postings.misspelt("coiler") == ()
    assert postings.misspelt("boi") == ()
