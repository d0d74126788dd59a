"""What an import asks of the rest of vaultd, as values and calls that are given to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from vaultd.llm.analyst import Piece
from vaultd.services.importing.turns import WholeNote


class KeptAs(StrEnum):
    """What became of a memory: a new note, joined to an older one, or there already."""

    NEW = "new"
    MERGED = "merged"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a memory is now."""

    id: str
    name: str
    outcome: KeptAs


class Keep(Protocol):
    """Keeps one piece. Raises BadInput where the memory does not take it, VaultError, ModelError."""

    def __call__(self, piece: Piece, *, created: datetime, source: str, whole: bool) -> Awaitable[Kept]:
        """The piece is on disk once this returns. `whole`: a memory of its own, joined to no other."""
        ...


@dataclass(frozen=True, slots=True)
class Hands:
    """The calls. The optional ones may be left out; then what needs them is not offered.

    - `keep` keeps a piece, with the moment it was made and its source.
    - `near` names memories that say much the same, with their similarity 0…1. Raises ModelError, IndexUnavailable.
    - `find` looks for a piece that may have been kept just before a crash, by its source.
    - `adopt` keeps an Ombre note as it is, at its path or a free one beside it; one that is there already is not kept again.
    - `important`, `pin`, `discard` carry out a review: importance 9, pinned, into the trash.
    """

    keep: Keep
    near: Callable[[str], Awaitable[Sequence[tuple[str, float]]]] | None = None
    find: Callable[[str], Awaitable[Kept | None]] | None = None
    adopt: Callable[[WholeNote], Awaitable[Kept]] | None = None
    important: Callable[[str], Awaitable[None]] | None = None
    pin: Callable[[str], Awaitable[None]] | None = None
    discard: Callable[[str], Awaitable[None]] | None = None
