"""The columns of the tables, and how rows go into them and come back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaultd.index.flatrows import flat_rows, rows_of
from vaultd.index.rows import Row
from vaultd.index.vectors import PassageRef

SCHEMA_VERSION = 2


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
    """Words, parted by blanks, and passages, one row a note; changes with the body only."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            ("body_key", pa.string()),
            ("words", pa.string()),
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


def pack_rows(rows: Sequence[Row]) -> Any:
    """Rows as a table of `note_schema`."""
    import pyarrow as pa

    return pa.Table.from_pydict(flat_rows(rows), schema=note_schema())


def unpack_rows(notes: Any) -> list[Row]:
    """The rows of a table of `note_schema`."""
    return rows_of({name: notes[name].to_pylist() for name in notes.schema.names})


def embedding_tables(model: str, names: Iterable[str]) -> list[str]:
    """Of the names of tables, or of their folders, those that hold embeddings of a model."""
    prefix = embedding_table(model, 0)[:-1]
    stems = (name.removesuffix(".lance") for name in names)
    return [stem for stem in stems if stem.startswith(prefix) and stem[len(prefix) :].isdigit()]


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


def pack_contents(contents: Sequence[ContentRow]) -> Any:
    """A table of `content_schema`."""
    import pyarrow as pa

    sizes = [len(content.words) for content in contents]
    counts = itertools.chain.from_iterable(content.words.values() for content in contents)
    return pa.table(
        {
            "id": pa.array([content.id for content in contents], pa.string()),
            "body_key": pa.array([content.body_key for content in contents], pa.string()),
            "words": pa.array([" ".join(content.words) or None for content in contents], pa.string()),
            "counts": pa.ListArray.from_arrays(
                pa.array(np.append(0, np.cumsum(sizes)), pa.int32()),
                pa.array(np.minimum(np.fromiter(counts, np.int64, sum(sizes)), 65_535).astype(np.uint16)),
            ),
            "length": pa.array([content.length for content in contents], pa.int32()),
            "passage_keys": [[ref.key for ref in content.passages] for content in contents],
            "passage_starts": [[ref.start for ref in content.passages] for content in contents],
            "passage_ends": [[ref.end for ref in content.passages] for content in contents],
        },
        schema=content_schema(),
    )
