"""What is done to a text before a model sees it."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.llm.embedder import MAX_CHARACTERS, clean, embedding_key, unit

ANY_TEXT = st.text(st.characters(), max_size=60)  # surrogates and NUL included


@given(ANY_TEXT)
def test_a_cleaned_text_can_be_encoded_and_stays_as_it_is(text):
    cleaned = clean(text)

    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert "\0" not in cleaned
    assert unicodedata.is_normalized("NFKC", cleaned)
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("a\0b", "a b"),
        ("half \ud83d a pair", "half \ufffd a pair"),
        ("two halves \ud83d\ude00", "two halves 😀"),
        ("\ufdfa", unicodedata.normalize("NFKC", "\ufdfa")),
    ],
)
def test_odd_characters_become_what_they_stand_for(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize("text", ["x" * 1_000_000, "日" * 1_000_000, "\ufdfa" * 100_000, "e" + "\u0301" * 5_000])
def test_a_huge_text_is_cut(text):
    assert len(clean(text)) <= MAX_CHARACTERS


def test_the_key_stands_for_what_the_model_sees():
    key = embedding_key("ﬁne", "model/1")

    assert key == embedding_key("fine", "model/1")
    assert key != embedding_key("fine", "model/2")
    assert key != embedding_key("fine.", "model/1")
    assert len(key) == 32
    assert int(key, 16) >= 0


def test_the_key_of_text_and_name_cannot_be_confused():
    assert embedding_key("b", "model a") != embedding_key("a b", "model")


def test_unit_keeps_directions_and_zero():
    vectors = unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))

    assert vectors.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 0.0]]
    assert vectors.dtype == np.float32
