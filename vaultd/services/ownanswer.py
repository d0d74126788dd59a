"""Recognise vaultd's own answers when a client sends them back to be kept."""

from __future__ import annotations

import re
from collections.abc import Callable

_MARK = re.compile(
    r"^\s*(?:[-*>]\s*)?(?:📌\s*)?(?:\[[^\[\]\n]{1,40}\]\s*)*\[bucket_id:([A-Za-z0-9_-]{1,64})\]", re.MULTILINE
)
_FENCE = re.compile(r"<(?:memory|note)\b[^>\n]*\bid=\"?([A-Za-z0-9_-]{1,64})")


def ids_of_own_answer(text: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """The ids of the memories whose answer lines stand in a text; none for a text that is not an answer of ours."""
    found = dict.fromkeys(match[1] for pattern in (_MARK, _FENCE) for match in pattern.finditer(text))
    return tuple(note_id for note_id in found if known(note_id))
