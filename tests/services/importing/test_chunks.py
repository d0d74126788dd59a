"""Chunks hold every turn, in order, within the limits, with their dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.text import estimate_tokens
from vaultd.services.importing.chunks import chunks_of, cut
from vaultd.services.importing.turns import Conversation, Format, Speaker, Turn

START = datetime(2026, 1, 5, 22, 0, tzinfo=UTC)


def a_conversation(*texts: str, hours: float = 1, format: Format = Format.CLAUDE) -> Conversation:
    """Person and model in turns, some hours apart."""
    turns = tuple(
        Turn(Speaker.ASSISTANT if at % 2 else Speaker.USER, text, START + timedelta(hours=hours * at))
        for at, text in enumerate(texts)
    )
    return Conversation("c", "T", START, turns, format=format)


def test_short_conversation_is_one_chunk_with_labels_and_days():
    conversation = a_conversation("Good night.", "Sleep well.", "Good morning!", hours=6)

    (chunk,) = chunks_of(conversation)

    assert chunk.text == (
        "User (2026-01-05): Good night.\n\nAssistant (2026-01-06): Sleep well.\n\nUser: Good morning!"
    )
    assert (chunk.started, chunk.ended) == (START, START + timedelta(hours=12))


def test_chinese_conversations_have_chinese_labels_and_attachments_are_noted():
    turn = Turn(Speaker.USER, "看看这张照片。", None, ("海边.jpg", "票.pdf"))

    (chunk,) = chunks_of(Conversation("c", "海", None, (turn,)))

    assert chunk.text == "用户：看看这张照片。\n[附件：海边.jpg、票.pdf]"


def test_a_document_has_no_labels():
    conversation = Conversation("c", "T", START, (Turn(Speaker.USER, "A walk.", START),), format=Format.MARKDOWN)

    (chunk,) = chunks_of(conversation)

    assert chunk.text == "A walk."


def test_chunks_break_between_turns_and_a_question_goes_with_its_answer():
    words = "word " * 30  # 39 tokens, and 8 for the label
    conversation = a_conversation(words, words, words, words)

    chunks = list(chunks_of(conversation, most_tokens=145))

    assert [chunk.turns for chunk in chunks] == [2, 2]
    assert [chunk.part for chunk in chunks] == [1, 2]
    assert chunks[1].text.startswith("User (2026-01-06): word")


def test_a_turn_longer_than_a_chunk_is_cut_and_its_end_goes_on_with_the_next_turn():
    long = "\n\n".join(f"Paragraph {at}. " + "word " * 40 for at in range(20))
    conversation = a_conversation("Tell me.", long, "Thanks.", hours=0.1)

    chunks = list(chunks_of(conversation, most_tokens=300))

    joined = "\n\n".join(chunk.text for chunk in chunks)
    assert all(chunk.tokens <= 300 for chunk in chunks)
    assert [joined.count(f"Paragraph {at}.") for at in range(20)] == [1] * 20
    assert chunks[-1].text.endswith("User: Thanks.")
    assert "Paragraph 19" in chunks[-1].text


texts = st.lists(
    st.sampled_from(["今天去医院。", "I slept well. ", "word ", "\n\n", "🙂", "x" * 50, "，"]), max_size=80
).map("".join)


@given(texts, st.integers(5, 60), st.integers(10, 200))
def test_cutting_loses_nothing_and_keeps_the_limits(text: str, tokens: int, characters: int):
    pieces = list(cut(text, tokens, characters))

    assert "".join(pieces) == text
    assert all(len(piece) <= characters for piece in pieces)
    assert all(estimate_tokens(piece) <= tokens or len(piece) == 1 for piece in pieces)


@given(st.lists(texts.filter(str.strip), min_size=1, max_size=8), st.integers(40, 200))
def test_every_turn_is_in_the_chunks_in_order(parts: list[str], tokens: int):
    conversation = a_conversation(*parts)

    chunks = list(chunks_of(conversation, most_tokens=tokens, most_characters=5000))

    words = "".join("".join(chunk.text for chunk in chunks).split())
    at = 0
    for part in parts:
        for character in "".join(part.split()):
            at = words.index(character, at) + 1
    assert all(chunk.tokens <= tokens for chunk in chunks)
