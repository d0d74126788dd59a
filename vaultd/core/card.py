"""A note seen as a memory card; its eight categories and the intents they are weighed against."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Category(StrEnum):
    """The eight card types of the third seed; anything else is refused."""

    MILESTONE = "milestone"
    COMMITMENT = "commitment"
    TURNING_POINT = "turning_point"
    DEEP_TALK = "deep_talk"
    INTERACTION_MOMENT = "interaction_moment"
    PREFERENCE = "preference"
    REAL_WORLD = "real_world"
    LESSON = "lesson"


class Intent(StrEnum):
    """What a message wants; weighs categories against each other."""

    SEEKING = "seeking"
    REFLECTIVE = "reflective"
    CASUAL = "casual"
    DEEP_DISCUSSION = "deep_discussion"
    PRACTICAL = "practical"


@dataclass(frozen=True, slots=True)
class Card:
    """One memory card without its text. `scope` "" is shared by all."""

    id: str
    path: str
    topic: tuple[str, ...]
    category: Category
    tags: tuple[str, ...]
    importance: int
    created: datetime
    updated: datetime
    last_used: datetime | None = None
    use_count: int = 0
    scope: str = ""
    conversation_id: str = ""
