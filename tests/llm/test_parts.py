"""Cutting texts for a model: nothing is lost, no mask is torn, borders are where a person would set them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultd.llm.parts import chunks, excerpt, head, name_from, sentences, share_covered, words_of
from vaultd.llm.redact import mask_spans

texts = st.lists(
    st.sampled_from(
        [
            "今天去医院。",
            "结果还好；",
            "\n",
            "\n\n",
            " ",
            "I slept well. ",
            "Why?!",
            "⟦secret:12⟧",
            "word",
            "，",
            "🙂",
            "《记》",
        ]
    )
    | st.text(max_size=8),
    max_size=40,
).map("".join)


@given(texts, st.integers(20, 90))
def test_chunks_are_short_enough_and_lose_nothing(text, limit):
    pieces = chunks(text, limit)

    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


@given(texts)
def test_sentences_lose_nothing_and_are_never_blank(text):
    parts = sentences(text)

    assert "".join(parts) == text
    assert all(part.strip() for part in parts) or not text.strip()


@given(texts, st.integers(20, 90))
def test_no_cut_goes_through_a_mask(text, limit):
    whole = len(list(mask_spans(text)))

    assert sum(len(list(mask_spans(piece))) for piece in chunks(text, limit)) >= whole
    assert sum(len(list(mask_spans(part))) for part in sentences(text)) >= whole


@given(texts, st.integers(40, 90))
def test_an_excerpt_keeps_to_the_limit_and_counts_what_it_leaves_out(text, limit):
    shown, left_out = excerpt(text, limit)

    assert len(shown) <= limit
    assert (left_out == 0) == (shown == text)


def test_a_text_is_cut_at_a_paragraph_rather_than_at_a_sentence():
    text = "One. Two.\n\nThree. Four. Five. Six."

    assert head(text, 24) == ("One. Two.\n\n", "Three. Four. Five. Six.")


def test_a_text_without_paragraphs_is_cut_at_a_sentence():
    assert head("今天去医院体检。结果还好，没有大问题", 12) == ("今天去医院体检。", "结果还好，没有大问题")


def test_an_excerpt_shows_the_start_and_the_end():
    text = "Alpha begins here. " + "Filler sentence. " * 40 + "The end is omega."

    shown, left_out = excerpt(text, 120)

    assert shown.startswith("Alpha begins here.")
    assert shown.endswith("The end is omega.")
    assert "[…]" in shown
    assert left_out > 500


def test_short_sentences_are_numbered_with_their_neighbours_but_paragraphs_stay_apart():
    assert sentences("嗯。好吧。今天终于去体检了，结果还好。\n累。\n晚上和朋友吃饭聊了很多。") == (
        "嗯。好吧。今天终于去体检了，结果还好。\n",
        "累。\n",
        "晚上和朋友吃饭聊了很多。",
    )


def test_a_number_with_a_point_does_not_end_a_sentence():
    assert sentences("The scale said 71.5 kilograms today. I was pleased.") == (
        "The scale said 71.5 kilograms today. ",
        "I was pleased.",
    )


def test_words_are_compared_without_case_and_width_and_chinese_by_pairs():
    assert words_of("Ｃａｆé ABC你好吗 x_y") == {"café", "abc", "你好", "好吗", "x", "y"}
    assert share_covered("你好吗", words_of("他说你好")) == 0.5
    assert share_covered("!!", ()) == 1.0


def test_a_name_is_made_from_the_first_words():
    assert name_from("# 体检结果还好。晚上吃饭") == "体检结果还好"
    assert name_from("\n  A long walk, then tea. And more") == "A long walk, then tea"
    assert name_from("") == ""
    assert name_from("# 。。。") == "# 。。。"
    assert len(name_from("x" * 500)) == 40
