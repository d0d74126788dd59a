"""The threads through a conversation's tree: the one that the service shows, and those that were given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Node:
    """One message's place in the tree. `speaks`: somebody says something in it."""

    id: str
    parent: str | None
    speaks: bool
    when: datetime | None = None


def threads(nodes: Sequence[Node], leaf: str | None = None) -> Iterator[tuple[int, ...]]:
    """Positions of the speaking messages, thread by thread: first the whole current thread, then what others add to it.

    The current thread ends at `leaf`; without one, at the newest leaf, which is what the services show. A thread that
    has nothing to say of its own is left out. Links to nowhere start a thread, circles are cut.
    """
    places = {node.id: at for at, node in enumerate(nodes)}
    taken: set[int] = set()
    for end in _ends(nodes, places, leaf):
        path = _path(nodes, places, end, taken)
        taken.update(path)
        speaking = tuple(at for at in path if nodes[at].speaks)
        if speaking:
            yield speaking


def _ends(nodes: Sequence[Node], places: dict[str, int], leaf: str | None) -> list[int]:
    parents = {places[node.parent] for node in nodes if node.parent in places and node.parent != node.id}
    leaves = [at for at in range(len(nodes)) if at not in parents]
    if not leaves:  # nothing but circles
        leaves = [len(nodes) - 1] if nodes else []
    newest = max(leaves, key=lambda at: (_seconds(nodes[at]), at), default=-1)
    current = places.get(leaf, newest) if leaf else newest
    if current < 0:
        return []
    return [current, *(at for at in leaves if at != current)]


def _seconds(node: Node) -> float:
    return node.when.timestamp() if node.when else 0.0


def _path(nodes: Sequence[Node], places: dict[str, int], end: int, taken: set[int]) -> list[int]:
    path: list[int] = []
    seen: set[int] = set()
    at: int | None = end
    while at is not None and at not in taken and at not in seen:
        seen.add(at)
        path.append(at)
        parent = nodes[at].parent
        at = places.get(parent) if parent is not None else None
    return path[::-1]
