"""Three-way merge of sequences, after S. Khanna, K. Kunal, B. Pierce, "A formal investigation of diff3" (2007).

Whatever stands unchanged on both sides parts the texts into pieces; a piece that one side changed takes that change, a
piece that both changed alike takes it too, any other is a clash. As in git, changes to touching lines clash.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from vaultd.vault.linediff import Match, matches

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Agreed(Generic[T]):
    """A piece that is settled."""

    lines: Sequence[T]


@dataclass(frozen=True, slots=True)
class Clash(Generic[T]):
    """A piece that both sides changed, each its own way."""

    base: Sequence[T]
    ours: Sequence[T]
    theirs: Sequence[T]


def merge3(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> Iterator[Agreed[T] | Clash[T]]:
    """The pieces of the merged text, in order. Swapping ours and theirs swaps them in the clashes and changes no more."""
    at_base = at_ours = at_theirs = 0
    for start, our_start, their_start, length in _unchanged(base, ours, theirs):
        piece = _piece(base[at_base:start], ours[at_ours:our_start], theirs[at_theirs:their_start])
        if piece is not None:
            yield from piece
        if length:
            yield Agreed(base[start : start + length])
        at_base, at_ours, at_theirs = start + length, our_start + length, their_start + length


def _piece(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> list[Agreed[T] | Clash[T]] | None:
    if not base and not ours and not theirs:
        return None
    if ours == theirs or base == theirs:
        return [Agreed(ours)]
    if base == ours:
        return [Agreed(theirs)]
    return _narrowed(base, ours, theirs)


def _narrowed(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> list[Agreed[T] | Clash[T]]:
    """A clash without the lines that both sides begin or end with."""
    limit = min(len(ours), len(theirs))
    head = next((at for at in range(limit) if ours[at] != theirs[at]), limit)
    limit -= head
    tail = next((at for at in range(limit) if ours[-1 - at] != theirs[-1 - at]), limit)
    clash = Clash(base, ours[head : len(ours) - tail], theirs[head : len(theirs) - tail])
    pieces: list[Agreed[T] | Clash[T]] = [Agreed(ours[:head]), clash, Agreed(ours[len(ours) - tail :])]
    return [piece for piece in pieces if isinstance(piece, Clash) or piece.lines]


def _unchanged(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of base that stand on both sides: (start in base, in ours, in theirs, length); last an empty one at the end."""
    our_matches, their_matches = matches(base, ours), matches(base, theirs)
    one = other = 0
    while one < len(our_matches) and other < len(their_matches):
        mine, yours = our_matches[one], their_matches[other]
        start = max(mine.one, yours.one)
        end = min(_end(mine), _end(yours))
        if start < end:
            yield start, mine.other + start - mine.one, yours.other + start - yours.one, end - start
        if _end(mine) <= end:
            one += 1
        if _end(yours) <= end:
            other += 1
    yield len(base), len(ours), len(theirs), 0


def _end(match: Match) -> int:
    return match.one + match.length
