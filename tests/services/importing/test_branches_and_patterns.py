"""Threads through a tree, and words that come up again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vaultd.services.importing.branches import Node, threads
from vaultd.services.importing.patterns import Remembered, patterns_in

START = datetime(2026, 1, 1, tzinfo=UTC)


def a_tree(*links: tuple[str, str | None]) -> list[Node]:
    """Nodes with their parents, a minute apart."""
    return [Node(id, parent, True, START + timedelta(minutes=at)) for at, (id, parent) in enumerate(links)]


def test_the_current_thread_comes_first_and_whole():
    nodes = a_tree(("a", None), ("b", "a"), ("c", "b"), ("x", "a"), ("y", "x"))

    assert list(threads(nodes, leaf="c")) == [(0, 1, 2), (3, 4)]


def test_without_a_leaf_the_newest_thread_is_current():
    nodes = a_tree(("a", None), ("b", "a"), ("x", "a"))

    assert list(threads(nodes)) == [(0, 2), (1,)]


def test_messages_without_speech_are_walked_through():
    nodes = a_tree(("a", None), ("b", "a"), ("c", "b"))
    nodes[1] = Node("b", "a", False)

    assert list(threads(nodes)) == [(0, 2)]


@given(
    st.lists(st.tuples(st.integers(0, 8), st.none() | st.integers(0, 8)), max_size=9, unique_by=lambda link: link[0])
)
def test_every_message_is_in_at_most_one_thread_whatever_the_links(links: list[tuple[int, int | None]]):
    nodes = [Node(str(id), None if parent is None else str(parent), True) for id, parent in links]

    found = [at for thread in threads(nodes) for at in thread]

    assert len(found) == len(set(found))
    assert bool(found) == bool(nodes)


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
