"""The threads through a conversation's tree: the one that the service shows, and those that were given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

NO_PARENT: Final = -1


def threads(
    parents: Sequence[int], speaks: Sequence[int], seconds: Sequence[float], leaf: int | None = None
) -> Iterator[list[int]]:
    """Places of the speaking messages, thread by thread: first the whole current thread, then what others add to it.

    `parents` gives each message's parent by its place, NO_PARENT at a start; `speaks` is 0 where nobody says anything;
    `seconds` is when, 0 where that is unknown. The current thread ends at `leaf`; without one, at the newest leaf, which
    is what the services show. A thread that has nothing to say of its own is left out. Circles are cut.
    """
    taken = bytearray(len(parents))
    for end in _ends(parents, seconds, leaf):
        path: list[int] = []
        at = end
        while at != NO_PARENT and not taken[at]:
            taken[at] = 1
            path.append(at)
            at = parents[at]
        speaking = [at for at in reversed(path) if speaks[at]]
        if speaking:
            yield speaking


def _ends(parents: Sequence[int], seconds: Sequence[float], leaf: int | None) -> list[int]:
    if not parents:
        return []
    has_child = bytearray(len(parents))
    for at, parent in enumerate(parents):
        if parent not in (NO_PARENT, at):
            has_child[parent] = 1
    leaves = [at for at in range(len(parents)) if not has_child[at]]
    if not leaves:  # nothing but circles
        leaves = [len(parents) - 1]
    newest = max(leaves, key=lambda at: (seconds[at], at))
    current = newest if leaf is None else leaf
    return [current, *(at for at in leaves if at != current)]
