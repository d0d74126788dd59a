"""Which parts of two sequences of lines match.

Lines that stand once on each side anchor the rest (Bram Cohen's patience diff); between the anchors the shortest edit
script decides (E. Myers, "An O(ND) difference algorithm and its variations", 1986), up to a cost that keeps a hostile
note from taking the daemon's time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

_MAX_EDITS: Final = 1_000  # of one gap between anchors; past that the gap counts as changed whole


class Match(NamedTuple):
    """`length` lines from `one` on equal as many from `other` on."""

    one: int
    other: int
    length: int


class Window(NamedTuple):
    """Lines low to high of one side against other_low to other_high of the other."""

    low: int
    high: int
    other_low: int
    other_high: int


def matches(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Match]:
    """Matching runs in order, neither overlapping nor touching on both sides, without an empty one at the end."""
    out: list[Match] = []
    for at_one, at_other in _pairs(one, other):
        last = out[-1] if out else None
        if last and last.one + last.length == at_one and last.other + last.length == at_other:
            out[-1] = Match(last.one, last.other, last.length + 1)
        else:
            out.append(Match(at_one, at_other, 1))
    return out


def _pairs(one: Sequence[Hashable], other: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Matching positions, in order; windows wait on a stack, so that depth is no matter."""
    waiting: list[Window | tuple[int, int]] = [Window(0, len(one), 0, len(other))]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, Window):
            yield item
            continue
        window, head, tail = _trimmed(one, other, item)
        yield from head
        waiting += tail
        if window.low == window.high or window.other_low == window.other_high:
            continue
        anchors = _anchors(one, other, window)
        if anchors:
            waiting += reversed(_between(window, anchors))
        else:
            yield from shortest(one, other, window)


def _trimmed(
    one: Sequence[Hashable], other: Sequence[Hashable], window: Window
) -> tuple[Window, list[tuple[int, int]], list[tuple[int, int]]]:
    """The window without the lines that match at its start and end; those, the end's from last to first."""
    low, high, other_low, other_high = window
    head: list[tuple[int, int]] = []
    while low < high and other_low < other_high and one[low] == other[other_low]:
        head.append((low, other_low))
        low, other_low = low + 1, other_low + 1
    tail: list[tuple[int, int]] = []
    while low < high and other_low < other_high and one[high - 1] == other[other_high - 1]:
        high, other_high = high - 1, other_high - 1
        tail.append((high, other_high))
    return Window(low, high, other_low, other_high), head, tail


def _between(window: Window, anchors: list[tuple[int, int]]) -> list[Window | tuple[int, int]]:
    """The anchors, and the windows that they part."""
    out: list[Window | tuple[int, int]] = []
    low, other_low = window.low, window.other_low
    for at_one, at_other in anchors:
        out += [Window(low, at_one, other_low, at_other), (at_one, at_other)]
        low, other_low = at_one + 1, at_other + 1
    out.append(Window(low, window.high, other_low, window.other_high))
    return out


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], window: Window) -> list[tuple[int, int]]:
    """The longest rising series of lines that stand once in either window."""
    low, high, other_low, other_high = window
    places = _single(one, low, high)
    other_places = _single(other, other_low, other_high)
    pairs = [(at, other_places[line]) for line, at in places.items() if line in other_places]
    pairs.sort()
    ends: list[int] = []  # smallest last position of a rising series of each length
    ends_at: list[int] = []
    before: list[int] = []
    for index, (_, at_other) in enumerate(pairs):
        length = bisect_left(ends, at_other)
        before.append(ends_at[length - 1] if length else -1)
        ends[length : length + 1] = [at_other]
        ends_at[length : length + 1] = [index]
    out: list[tuple[int, int]] = []
    index = ends_at[-1] if ends_at else -1
    while index >= 0:
        out.append(pairs[index])
        index = before[index]
    out.reverse()
    return out


def _single(lines: Sequence[Hashable], low: int, high: int) -> dict[Hashable, int]:
    """The position of each line that stands once between low and high."""
    places: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for at in range(low, high):
        if lines[at] in places:
            twice.add(lines[at])
        places[lines[at]] = at
    return {line: at for line, at in places.items() if line not in twice}


def shortest(one: Sequence[Hashable], other: Sequence[Hashable], window: Window) -> list[tuple[int, int]]:
    """Matching positions of a shortest edit script; none where it is longer than the limit."""
    low, high, other_low, other_high = window
    size, other_size = high - low, other_high - other_low
    furthest = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(size + other_size, _MAX_EDITS) + 1):
        history.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = _down(furthest, diagonal, edits)
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < size and y < other_size and one[low + x] == other[other_low + y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= size and y >= other_size:
                return [(low + x, other_low + y) for x, y in _trace(history, size, other_size)]
    return []


def _down(furthest: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether the path to this diagonal comes by a line of the other side, rather than by one of ours."""
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return furthest[diagonal - 1] < furthest[diagonal + 1]


def _trace(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """The matches on the way back from the end."""
    out: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        furthest, diagonal = history[edits], x - y
        down = _down(furthest, diagonal, edits)
        start = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
        while x > start and y > start - diagonal:
            x, y = x - 1, y - 1
            out.append((x, y))
        x, y = (start, start - diagonal - 1) if down else (start - 1, start - diagonal)
    out.reverse()
    return out
