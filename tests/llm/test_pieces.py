"""Whatever a model proposes, the memories together hold every sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultd.llm.answers import Draft
from vaultd.llm.parts import sentences
from vaultd.llm.pieces import pieces_of


def a_draft(*numbers: int, content: str = "", name: str = "n") -> Draft:
    return Draft(name, numbers, content, ("love",), 0.5, 0.5, ("t",), 5, None)


FIVE = tuple(f"Sentence number {word} is here. " for word in ("one", "two", "three", "four", "five"))
proposals = st.lists(
    st.builds(lambda numbers, content: a_draft(*numbers, content=content), st.sets(st.integers(0, 11)), st.just(""))
    | st.builds(
        lambda content: a_draft(content=content), st.sampled_from(["made up", FIVE[0], "number three is here"])
    ),
    max_size=9,
)


@given(st.lists(st.sampled_from([*FIVE, "今天下雨了。\n", "嗯。", "\n\n", "🙂 "]), max_size=12).map("".join), proposals)
def test_no_sentence_is_lost_whatever_is_proposed(text, drafts):
    units = sentences(text)
    drafts = [
        a_draft(*(number for number in draft.numbers if number < len(units)), content=draft.content) for draft in drafts
    ]
    drafts = [draft for draft in drafts if draft.numbers or draft.content]

    pieces = pieces_of(units, drafts)

    everything = "\n".join(piece.content for piece in pieces)
    said_by_texts = any(draft.content and not draft.numbers for draft in drafts)
    for unit in units:
        assert unit.strip() in everything or said_by_texts
    assert len(pieces) <= 7
    assert all(piece.content.strip() and piece.name for piece in pieces)


@given(st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=9))
def test_no_sentence_is_kept_twice(numbers):
    pieces = pieces_of(FIVE, [a_draft(*places) for places in numbers if places])

    everything = " ".join(piece.content for piece in pieces)
    assert all(everything.count(sentence.strip()) == 1 for sentence in FIVE)


def test_sentences_of_one_matter_come_together_with_a_break_where_others_stood_between():
    pieces = pieces_of(FIVE, [a_draft(0, 3), a_draft(1, 2, 4)])

    assert pieces[0].content == "Sentence number one is here. \nSentence number four is here."
    assert pieces[1].content.splitlines() == [
        "Sentence number two is here. Sentence number three is here. ",
        "Sentence number five is here.",
    ]


def test_a_single_forgotten_sentence_goes_with_the_one_before():
    pieces = pieces_of(FIVE, [a_draft(0, 1), a_draft(3, 4)])

    assert "three" in pieces[0].content
    assert len(pieces) == 2


def test_much_that_is_forgotten_becomes_a_memory_of_its_own():
    pieces = pieces_of(FIVE, [a_draft(0, 1)])

    assert [piece.name for piece in pieces] == ["n", "Sentence number three is here"]
    assert pieces[1].domain == ("未分类",)


def test_more_than_six_proposals_are_joined_at_the_sixth():
    units = tuple(f"This is sentence number {number}. " for number in range(8))

    pieces = pieces_of(units, [a_draft(number) for number in range(8)])

    assert len(pieces) == 6
    assert pieces[5].content.count("sentence number") == 3


def test_a_secret_that_a_models_own_text_dropped_is_kept():
    units = ("The router has the password: ⟦secret:1⟧ since today. ", "It rained.")

    pieces = pieces_of(units, [a_draft(content="The router has a new password since today. It rained.")])

    assert pieces[1].content == units[0].strip()


def test_an_emoji_alone_is_a_sentence_too():
    assert pieces_of(("🙂\n", "We met."), [a_draft(content="We met.")])[1].content == "🙂"
