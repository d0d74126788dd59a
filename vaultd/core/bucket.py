"""A note seen as a memory: its role in the vault, its kind, and what never fades."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vaultd.core.emotion import Emotion

UNSORTED_DOMAIN = "未分类"
DEFAULT_IMPORTANCE = 5  # of 1…10, where nobody says; of cards too


class Role(StrEnum):
    """What a note is to vaultd; decided by its folder."""

    BUCKET = "bucket"
    CARD = "card"
    CONVERSATION = "conversation"
    WAITING = "inbox"
    OWN = "own"


class Kind(StrEnum):
    """The kinds of bucket; property key `type`."""

    DYNAMIC = "dynamic"
    PERMANENT = "permanent"
    FEEL = "feel"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Bucket:
    """One memory without its text. Times are aware; `activation_count` is a float and never truncated."""

    id: str
    path: str
    name: str
    kind: Kind
    domain: tuple[str, ...]
    tags: tuple[str, ...]
    emotion: Emotion
    importance: int
    activation_count: float
    created: datetime
    last_active: datetime
    model_valence: float | None = None
    resolved: bool = False
    digested: bool = False
    pinned: bool = False
    protected: bool = False
    source: str = ""

    @property
    def is_core(self) -> bool:
        """Pinned, protected or permanent: never fades, always surfaces, never merges."""
        return self.pinned or self.protected or self.kind is Kind.PERMANENT

    @property
    def fades(self) -> bool:
        """Whether the forgetting cycle may touch it."""
        return self.kind is Kind.DYNAMIC and not self.pinned and not self.protected
