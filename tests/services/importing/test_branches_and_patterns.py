"""Threads through a tree, and words that come up again and again."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from vaultd.services.importing.branches import threads
from vaultd.services.importing.patterns import Remembered, patterns_in


def in_threads(*parents: int, leaf: int | None = None, silent: tuple[int, ...] = ()) -> list[list[int]]:
    """The threads of messages that name their parents by number, a minute apart."""
    speaks = [int(at not in silent) for at in range(len(parents))]
    return list(threads(parents, speaks, [60.0 * at for at in range(len(parents))], leaf))


def test_the_current_thread_comes_first_and_whole():
    assert in_threads(-1, 0, 1, 0, 3, leaf=2) == [[0, 1, 2], [3, 4]]


def test_without_a_leaf_the_newest_thread_is_current():
    assert in_threads(-1, 0, 0) == [[0, 2], [1]]


def test_messages_without_speech_are_walked_through():
    assert in_threads(-1, 0, 1, silent=(1,)) == [[0, 2]]


@given(st.lists(st.integers(-1, 8), min_size=9, max_size=9))
def test_every_message_is_in_at_most_one_thread_whatever_the_links(parents: list[int]):
    found = [at for thread in in_threads(*parents) for at in thread]

    assert found
    assert len(found) == len(set(found))


def test_words_count_once_a_memory_and_common_ones_do_not():
    memories = [
        Remembered(f"m{at}", "", f"The marathon, the marathon {at}! https://marathon.example") for at in range(5)
    ]

    found = patterns_in(memories)

    assert [(pattern.word, pattern.memories, pattern.pin) for pattern in found.words] == [("marathon", 5, True)]
    assert found.words[0].examples == ("m0", "m1", "m2", "m3", "m4")


def test_longer_chinese_words_win_over_their_pieces():
    memories = [Remembered(f"m{at}", "", f"{place}的半程马拉松") for at, place in enumerate(("厦门", "杭州", "无锡"))]

    words = [pattern.word for pattern in patterns_in(memories).words]

    assert "半程马拉松" in words
    assert "马拉" not in words


def test_tags_domains_and_months_are_counted():
    memories = [
        Remembered(f"m{at}", "", "x", ("Running",), ("健康",), datetime(2026, 3 if at else 2, 1, tzinfo=UTC))
        for at in range(3)
    ]

    found = patterns_in(memories)

    assert (found.tags[0].word, found.domains[0].word) == ("running", "健康")
    assert found.months == (("2026-02", 1), ("2026-03", 2))
