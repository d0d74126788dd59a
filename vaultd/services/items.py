"""A memory as lists show it: its row, its properties with what was counted, and how alive it is."""

from __future__ import annotations

from dataclasses import dataclass

from vaultd.core.bucket import Bucket
from vaultd.index.columns import Columns
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row


@dataclass(frozen=True, slots=True)
class Item:
    """A memory with its decay score."""

    row: Row
    bucket: Bucket
    score: float


def item_at(mirror: Mirror, slot: int, columns: Columns, score: float) -> Item:
    """The memory in a slot. Hold the mirror's lock."""
    row = mirror.at(slot)
    bucket = row.bucket(float(columns.activation_count[slot]), float(columns.last_active[slot]))
    return Item(row, bucket, score)
