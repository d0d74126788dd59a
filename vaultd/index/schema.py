"""The columns of the tables, and how rows go into them and come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vaultd.core.bucket import Kind, Role
from vaultd.core.note import FileStamp, NotePath
from vaultd.index.rows import CardFields, Row
from vaultd.index.vectors import PassageRef

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ContentRow:
    """What `contents` holds of one note. `body_key` says for which body, so that halves of a write are noticed."""

    id: str
    body_key: str
    words: Mapping[str, int]
    length: int
    passages: tuple[PassageRef, ...]


def note_schema() -> Any:
    """One row a note, without its body."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            ("path", pa.string()),
            ("role", pa.string()),
            ("kind", pa.string()),
            ("name", pa.string()),
            ("domain", pa.list_(pa.string())),
            ("tags", pa.list_(pa.string())),
            ("valence", pa.float64()),
            ("arousal", pa.float64()),
            ("model_valence", pa.float64()),
            ("importance", pa.int32()),
            ("count_floor", pa.float64()),
            ("flags", pa.int32()),
            ("created", pa.float64()),
            ("last_active", pa.float64()),
            ("offset_minutes", pa.int32()),
            ("source", pa.string()),
            ("checksum", pa.string()),
            ("body_key", pa.string()),
            ("size", pa.int64()),
            ("mtime_ns", pa.int64()),
            ("inode", pa.uint64()),
            ("type_property", pa.string()),
            ("problem", pa.string()),
            ("problem_line", pa.int32()),
            ("card", pa.string()),
        ],
        metadata={"vaultd_schema": str(SCHEMA_VERSION)},
    )


def content_schema() -> Any:
    """Words and passages, one row a note; changes with the body only."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            ("body_key", pa.string()),
            ("words", pa.list_(pa.string())),
            ("counts", pa.list_(pa.uint16())),
            ("length", pa.int32()),
            ("passage_keys", pa.list_(pa.binary(16))),
            ("passage_starts", pa.list_(pa.int32())),
            ("passage_ends", pa.list_(pa.int32())),
        ],
        metadata={"vaultd_schema": str(SCHEMA_VERSION)},
    )


def embedding_schema(dimension: int) -> Any:
    """Key → vector of `dimension` float32."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("key", pa.binary(16), nullable=False),
            ("share_of_cjk", pa.float32()),
            ("day", pa.int32()),
            ("vector", pa.list_(pa.float32(), dimension)),
        ],
        metadata={"vaultd_schema": str(SCHEMA_VERSION)},
    )


_FLAGS = ("resolved", "digested", "pinned", "protected", "has_id", "complete", "writable", "stale", "copied")


def pack_row(row: Row) -> dict[str, Any]:
    """A row as a record of the notes table."""
    card = row.card
    return {
        "id": row.id,
        "path": row.path,
        "role": row.role.value,
        "kind": row.kind.value if row.kind else None,
        "name": row.name,
        "domain": list(row.domain),
        "tags": list(row.tags),
        "valence": row.valence,
        "arousal": row.arousal,
        "model_valence": row.model_valence,
        "importance": row.importance,
        "count_floor": row.count_floor,
        "flags": sum(1 << i for i, name in enumerate(_FLAGS) if getattr(row, name)),
        "created": row.created,
        "last_active": row.last_active,
        "offset_minutes": row.offset_minutes,
        "source": row.source,
        "checksum": row.checksum,
        "body_key": row.body_key,
        "size": row.stamp.size,
        "mtime_ns": row.stamp.mtime_ns,
        "inode": row.stamp.inode,
        "type_property": row.type_property,
        "problem": row.problem,
        "problem_line": row.problem_line,
        "card": json.dumps([card.category, card.scope, card.conversation_id, card.updated, card.last_used])
        if card
        else None,
    }


def unpack_row(r: dict[str, Any]) -> Row:
    """A record of the notes table as a row."""
    flags = {name: bool(r["flags"] >> i & 1) for i, name in enumerate(_FLAGS)}
    return Row(
        id=r["id"],
        path=NotePath(r["path"]),
        role=Role(r["role"]),
        kind=Kind(r["kind"]) if r["kind"] else None,
        name=r["name"],
        domain=tuple(r["domain"]),
        tags=tuple(r["tags"]),
        valence=r["valence"],
        arousal=r["arousal"],
        model_valence=r["model_valence"],
        importance=r["importance"],
        count_floor=r["count_floor"],
        created=r["created"],
        last_active=r["last_active"],
        offset_minutes=r["offset_minutes"],
        source=r["source"],
        checksum=r["checksum"],
        body_key=r["body_key"],
        stamp=FileStamp(r["size"], r["mtime_ns"], r["inode"]),
        type_property=r["type_property"],
        problem=r["problem"],
        problem_line=r["problem_line"],
        card=CardFields(*json.loads(r["card"])) if r["card"] else None,
        **flags,
    )


def embedding_table(model: str, dimension: int) -> str:
    """The name of the table that holds a model's embeddings."""
    return f"embeddings_{re.sub(r'[^A-Za-z0-9.-]+', '-', model)[:60]}_{dimension}"


def unpack_passages(contents: Any) -> list[tuple[PassageRef, ...]]:
    """The passages of each record of the contents table."""
    keys = contents["passage_keys"].to_pylist()
    starts = contents["passage_starts"].to_pylist()
    ends = contents["passage_ends"].to_pylist()
    return [
        tuple(PassageRef(*ref) for ref in zip(k, s, e, strict=True)) for k, s, e in zip(keys, starts, ends, strict=True)
    ]


def pack_content(content: ContentRow) -> dict[str, Any]:
    """A record of the contents table."""
    return {
        "id": content.id,
        "body_key": content.body_key,
        "words": list(content.words),
        "counts": [min(count, 65_535) for count in content.words.values()],
        "length": content.length,
        "passage_keys": [ref.key for ref in content.passages],
        "passage_starts": [ref.start for ref in content.passages],
        "passage_ends": [ref.end for ref in content.passages],
    }
