"""Notes that refused to be written: nobody asks them again for a while, unless their file changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from vaultd.index.rows import Row

REFUSED_FOR: Final = timedelta(hours=1)


class Refusals:
    """Keeps them in memory: a start asks anew."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[str, datetime]] = {}

    def note(self, row: Row) -> None:
        """This note has just refused."""
        self._known[row.id] = (row.checksum, self._clock())

    def holds(self, row: Row) -> bool:
        """Whether this note refused less than REFUSED_FOR ago, and its file is as it was then."""
        known = self._known.get(row.id)
        return known is not None and known[0] == row.checksum and self._clock() - known[1] < REFUSED_FOR

    def drop(self, note_id: str) -> None:
        """The note is gone."""
        self._known.pop(note_id, None)
