"""Machines that count one note, and where they write it down."""

from __future__ import annotations

import contextlib
import resource
from datetime import UTC, datetime

from vaultd.vault.tally import combined_count

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


HERE, THERE, ELSEWHERE = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"


NOTE, OTHER = "a1b2c3d4e5f6", "0a0a0a0a0a0a"


def file_of(folder, machine=HERE):
    return folder / "machines" / machine / "activations.jsonl"


def count(journal, floor=0.0, note=NOTE):
    return combined_count(floor, journal.total(note))


@contextlib.contextmanager
def file_size_limit(size):
    """As if the disk were full once a file has this many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
