"""A text to keep, with what its teller says of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from vaultd.core.bucket import DEFAULT_IMPORTANCE
from vaultd.index.rows import NAME_CHARACTERS
from vaultd.llm.analyst import Piece
from vaultd.services.wording import checked_text, one_line


class Care(StrEnum):
    """What is done with a text beyond keeping it."""

    ALL = "all"  # a chat model says of it what its teller did not; it joins a memory that says the same
    JOIN = "join"  # its teller has said everything; it joins a memory that says the same
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A text to keep, and what its teller says of it; None and empty are "not said"."""

    content: str
    name: str = ""
    domain: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    valence: float | None = None
    arousal: float | None = None
    importance: int = DEFAULT_IMPORTANCE
    pinned: bool = False
    feel: bool = False
    source_bucket: str = ""
    source: str = ""
    created: datetime | None = None
    care: Care = Care.ALL


def of_piece(piece: Piece, care: Care, *, source: str = "", created: datetime | None = None) -> NewMemory:
    """What a model cut out of a longer text, and said of it, as a text to keep."""
    return NewMemory(
        content=piece.content,
        name=piece.name,
        domain=piece.domain,
        tags=piece.tags,
        valence=piece.valence,
        arousal=piece.arousal,
        importance=piece.importance,
        source=source,
        created=created,
        care=care,
    )


def cleaned(memory: NewMemory) -> NewMemory:
    """The same, fit to keep. Raises BadInput."""
    return replace(
        memory,
        content=checked_text(memory.content),
        name=one_line(memory.name)[:NAME_CHARACTERS],
        domain=tuple(filter(None, map(one_line, memory.domain))),
        tags=tuple(filter(None, map(one_line, memory.tags))),
        source=one_line(memory.source),
    )
