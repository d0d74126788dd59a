"""Which counters of the journals are due to be written into the notes, and when each was last written."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.errors import StorageFull
from vaultd.core.note import PropertyValue
from vaultd.core.properties import parse_moment
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.wholefile import write_whole

IN_GIT: Final = timedelta(hours=24)
ELSEWHERE: Final = timedelta(minutes=10)
KEPT_AFTER_DELETION: Final = timedelta(days=7)  # a checkout deletes notes and brings them back
_DIGITS: Final = 3
_LEAST_GAIN: Final = 0.01


def period(project_every_s: float | None, *, in_git: bool) -> timedelta:
    """The least time between two projections into one note."""
    if project_every_s is not None:
        return timedelta(seconds=project_every_s)
    return IN_GIT if in_git else ELSEWHERE


def gain(row: Row, mirror: Mirror) -> dict[str, PropertyValue | datetime]:
    """What the journals know beyond a note's own counters, as it is to be written; empty for nothing."""
    changes: dict[str, PropertyValue | datetime] = {}
    count, last = mirror.activation_count(row.id), mirror.last_active(row.id)
    if count > row.count_floor + _LEAST_GAIN:
        changes[keys.ACTIVATION_COUNT] = _plain(count)
    if int(last) > int(row.last_active):
        changes[keys.LAST_ACTIVE] = datetime.fromtimestamp(int(last), row.zone())
    return changes


def _plain(count: float) -> PropertyValue:
    rounded = round(count, _DIGITS)
    return int(rounded) if rounded.is_integer() else rounded


class Moments:
    """A date for each of some ids, kept over restarts in a small JSON file. One that can't be read counts as empty."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._moments: dict[str, datetime] = {}
        self._changed = False
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(place.read_text(encoding="utf-8"))
            pairs: Mapping[str, object] = found if isinstance(found, dict) else {}
            for note_id, text in pairs.items():
                moment = parse_moment(str(text))
                if moment is not None:
                    self._moments[note_id] = moment

    def get(self, note_id: str) -> datetime | None:
        """The date of an id."""
        return self._moments.get(note_id)

    def note(self, note_id: str, moment: datetime) -> None:
        """A new date of an id."""
        self._moments[note_id] = moment
        self._changed = True

    def drop(self, ids: Iterable[str]) -> None:
        """Forget some ids."""
        for note_id in ids:
            self._changed |= self._moments.pop(note_id, None) is not None

    def before(self, moment: datetime) -> list[str]:
        """The ids whose date is earlier."""
        return [note_id for note_id, at in self._moments.items() if at < moment]

    def save(self) -> None:
        """Write the file where something changed. Raises StorageFull."""
        if not self._changed:
            return
        try:
            write_whole(self._place, json.dumps({k: v.isoformat() for k, v in self._moments.items()}).encode())
        except OSError as exc:
            raise StorageFull(f"{self._place} can't be written: {exc.strerror}") from exc
        self._changed = False
