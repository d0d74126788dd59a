"""What two texts that say the same come to as one memory, and what a model's words add to one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vaultd.core import properties as keys
from vaultd.core.bucket import UNSORTED_DOMAIN
from vaultd.index.rows import NAME_CHARACTERS, Row
from vaultd.llm.analyst import Annotation
from vaultd.services.newmemory import NewMemory
from vaultd.services.scribe import Changes
from vaultd.services.sources import joined
from vaultd.services.wording import one_line

MOOD_DIGITS = 2


def body_of(content: str) -> str:
    """A text as the body of a note."""
    return content.rstrip() + "\n"


def appended(body: str, content: str, now: datetime) -> str:
    """A body with another text below it, under the moment when it came."""
    return f"{body.rstrip()}\n\n---\n\n*{now:%Y-%m-%d %H:%M}*\n\n{body_of(content)}"


def union(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Both lists in order, each word once."""
    return list(dict.fromkeys((*first, *second)))


def merged_properties(twin: Row, memory: NewMemory, now: datetime) -> Changes:
    """What changes in a memory that another one joins."""
    changes: dict[str, object] = {keys.LAST_ACTIVE: now}
    tags = union(twin.tags, memory.tags)
    if tags != list(twin.tags):
        changes[keys.TAGS] = tags
    domain = [d for d in union(twin.domain, memory.domain) if d != UNSORTED_DOMAIN] or [UNSORTED_DOMAIN]
    if domain != list(twin.domain):
        changes[keys.DOMAIN] = domain
    if memory.importance > twin.importance:
        changes[keys.IMPORTANCE] = memory.importance
    sources = joined(twin.source, memory.source)
    if sources != twin.source:
        changes[keys.SOURCE] = sources
    for key, old, new in (
        (keys.VALENCE, twin.valence, memory.valence),
        (keys.AROUSAL, twin.arousal, memory.arousal),
    ):
        if new is not None and new != old:
            changes[key] = round((old + new) / 2, MOOD_DIGITS)
    return changes  # type: ignore[return-value]


def annotated(memory: NewMemory, annotation: Annotation) -> Changes:
    """What the model adds; what the caller said always wins."""
    changes: dict[str, object] = {}
    if not memory.name and annotation.name:
        changes[keys.NAME] = one_line(annotation.name)[:NAME_CHARACTERS]
    if not memory.domain and annotation.domain:
        changes[keys.DOMAIN] = list(annotation.domain)
    tags = union(memory.tags, annotation.tags)
    if tags:
        changes[keys.TAGS] = tags
    if memory.valence is None:
        changes[keys.VALENCE] = annotation.valence
    if memory.arousal is None:
        changes[keys.AROUSAL] = annotation.arousal
    return changes  # type: ignore[return-value]
