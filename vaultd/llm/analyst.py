"""What a chat model does for a memory: annotate, merge, split, condense, summarise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a model says of one text: a name, 1–2 domains, an emotion (0–1 each), up to 15 tags."""

    name: str
    domain: tuple[str, ...]
    valence: float
    arousal: float
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One memory out of a longer text. `importance` is 1–10; `when` is the day it happened, where the text tells."""

    name: str
    content: str
    domain: tuple[str, ...]
    valence: float
    arousal: float
    tags: tuple[str, ...]
    importance: int
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `role` is user, assistant or another of the chat protocol."""

    role: str
    text: str


class Analyst(Protocol):
    """A chat model at work on memories. Every call raises ModelError where it cannot be done.

    Nothing of `<private>…</private>` and nothing that looks like a key reaches the model.
    """

    @property
    def available(self) -> bool:
        """Whether a model is configured at all; where not, every call raises ModelUnavailable."""
        ...

    async def annotate(self, text: str) -> Annotation:
        """Name, domains, emotion and tags of a text."""
        ...

    async def merge(self, old: str, new: str) -> str:
        """One text that says what both say. What the model is not shown stands unchanged at its end."""
        ...

    async def split(self, text: str, now: datetime) -> tuple[Piece, ...]:
        """The memories in a longer text. Every sentence is in one of them, word for word, but for private parts."""
        ...

    async def condense(self, text: str) -> str:
        """The text in fewer words, for showing; says so where a part of it was not read."""
        ...

    async def summarise(self, turns: Sequence[Turn]) -> str:
        """What a conversation was about."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
