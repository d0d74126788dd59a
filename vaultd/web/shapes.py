"""Memories as JSON: the one spelling that all endpoints share."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from vaultd.core.query import ScoreParts
from vaultd.core.text import strip_wikilinks
from vaultd.services.browsing import Alike, Detail
from vaultd.services.items import Item

SNIPPET_CHARACTERS = 240
_MARKDOWN = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*+]|>|\d+[.)]|---+)[ \t]+|^---+$|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", re.MULTILINE
)

MEMORY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "12 hex characters"},
        "path": {"type": "string", "description": "relative to the vault"},
        "name": {"type": "string"},
        "kind": {"type": "string", "enum": ["dynamic", "permanent", "feel", "archived", "own"]},
        "domain": {"type": "array", "items": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "valence": {"type": "number", "minimum": 0, "maximum": 1},
        "arousal": {"type": "number", "minimum": 0, "maximum": 1},
        "model_valence": {"type": ["number", "null"]},
        "importance": {"type": "integer", "minimum": 1, "maximum": 10},
        "activation_count": {"type": "number"},
        "resolved": {"type": "boolean"},
        "digested": {"type": "boolean"},
        "pinned": {"type": "boolean"},
        "protected": {"type": "boolean"},
        "created": {"type": "string", "format": "date-time"},
        "last_active": {"type": "string", "format": "date-time"},
        "source": {"type": "string"},
        "score": {"type": "number", "description": "decay score: how alive it is now"},
        "problem": {"type": "string", "description": "why the note cannot wholly be read; empty: it can"},
    },
}


def memory(item: Item) -> dict[str, Any]:
    """A memory of a list."""
    row, bucket = item.row, item.bucket
    return {
        "id": row.id,
        "path": row.path,
        "name": row.name,
        "kind": "own" if row.kind is None else row.kind.value,
        "domain": list(row.domain),
        "tags": list(row.tags),
        "valence": round(row.valence, 4),
        "arousal": round(row.arousal, 4),
        "model_valence": row.model_valence,
        "importance": row.importance,
        "activation_count": round(bucket.activation_count, 3),
        "resolved": row.resolved,
        "digested": row.digested,
        "pinned": row.pinned,
        "protected": row.protected,
        "created": moment(bucket.created),
        "last_active": moment(bucket.last_active),
        "source": row.source,
        "score": round(item.score, 4),
        "problem": row.problem,
    }


def whole(detail: Detail) -> dict[str, Any]:
    """A memory in full, with its file."""
    return {
        **memory(detail.item),
        "text": detail.body.strip("\n"),
        "raw": detail.raw,
        "etag": f'"{detail.checksum}"',
        "problem": detail.problem,
        "problem_line": detail.problem_line,
    }


def moment(when: datetime | None) -> str | None:
    """A moment as ISO 8601 with offset, whole seconds."""
    return None if when is None else when.isoformat(timespec="seconds")


def alike(one: Alike) -> dict[str, Any]:
    """A memory close to another."""
    return {**memory(one.item), "similarity": round(one.similarity, 4)}


def parts(score: ScoreParts) -> dict[str, Any]:
    """A match score with its four parts and the evidence for the topic."""
    return {
        "total": round(score.total, 3),
        "topic": round(score.topic, 3),
        "emotion": round(score.emotion, 3),
        "time": round(score.time, 3),
        "importance": round(score.importance, 3),
        "rank": round(score.rank, 3),
        "evidence": score.evidence.value,
        "fuzzy": _rounded(score.fuzzy),
        "words": _rounded(score.words),
        "meaning": _rounded(score.meaning),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def snippet(text: str, words: tuple[str, ...] = ()) -> str:
    """A piece of a text on one line, around the first of the words that stands in it."""
    flat = " ".join(_MARKDOWN.sub("", strip_wikilinks(text)).split())
    folded = flat.casefold()
    places = [place for word in words if (place := folded.find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARACTERS // 4)
    cut = flat[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + cut + ("…" if start + SNIPPET_CHARACTERS < len(flat) else "")
