"""Fields of foreign JSON, taken only where they have the type that is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

LONGEST_MESSAGE_BYTES: Final = 8 << 20  # of one message with all that belongs to it; longer ones are left out
LONGEST_FIELD_BYTES: Final = 1 << 16  # of a conversation's own fields


def text_of(value: Any) -> str:
    """The text; empty for anything else."""
    return value if isinstance(value, str) else ""


def id_of(value: Any) -> str:
    """An id as text; numbers count."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def object_of(value: Any) -> Mapping[str, Any]:
    """The object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> Sequence[Any]:
    """The list; an empty one for anything else."""
    return value if isinstance(value, list) else ()


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; nothing for anything else."""
    return [item for item in list_of(value) if isinstance(item, dict)]
