"""Rows as columns of plain values, and back: how they are kept on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from vaultd.core.bucket import Kind, Role
from vaultd.core.note import FileStamp
from vaultd.index.rows import CardFields, Row

# columns that hold a field of the row as it is
_SAME = (
    *("id", "path", "name", "domain", "tags", "valence", "arousal", "model_valence", "importance", "count_floor"),
    *("created", "last_active", "offset_minutes", "source", "checksum", "body_key"),
    *("type_property", "problem", "problem_line"),
)
_ROLES = {role.value: role for role in Role}
_KINDS: dict[str | None, Kind | None] = {None: None, **{kind.value: kind for kind in Kind}}
_FLAGS = ("resolved", "digested", "pinned", "protected", "has_id", "complete", "writable", "stale", "copied")


def flat_rows(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Column → a value a row: texts, numbers, lists of texts, None."""
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in _SAME}
    return columns | {
        "role": [row.role.value for row in rows],
        "kind": [row.kind.value if row.kind else None for row in rows],
        "flags": [sum(1 << i for i, name in enumerate(_FLAGS) if getattr(row, name)) for row in rows],
        "size": [row.stamp.size for row in rows],
        "mtime_ns": [row.stamp.mtime_ns for row in rows],
        "inode": [row.stamp.inode for row in rows],
        "card": [_flat_card(row.card) for row in rows],
    }


def rows_of(columns: dict[str, list[Any]]) -> list[Row]:
    """The rows that `flat_rows` gave these columns for. Texts that many rows have in common are kept once."""
    columns = dict(columns)
    shared: dict[Any, Any] = {}
    for name in ("domain", "tags"):
        columns[name] = [_once(shared, tuple(_once(shared, label) for label in labels)) for labels in columns[name]]
    for name in ("source", "type_property", "problem", "valence", "arousal", "model_valence", "count_floor"):
        columns[name] = [_once(shared, value) for value in columns[name]]
    columns["role"] = [_ROLES[text] for text in columns["role"]]
    columns["kind"] = [_KINDS[text] for text in columns["kind"]]
    columns["card"] = [CardFields(*json.loads(card)) if card else None for card in columns["card"]]
    columns["stamp"] = list(map(FileStamp, columns.pop("size"), columns.pop("mtime_ns"), columns.pop("inode")))
    flags = columns.pop("flags")
    for i, name in enumerate(_FLAGS):
        columns[name] = [bool(number >> i & 1) for number in flags]
    return list(map(Row, *(columns[field.name] for field in fields(Row))))


def _once(shared: dict[Any, Any], value: Any) -> Any:
    return shared.setdefault(value, value)


def _flat_card(card: CardFields | None) -> str | None:
    if card is None:
        return None
    return json.dumps([card.category, card.scope, card.conversation_id, card.updated, card.last_used])
