"""When a touched path is worth a look: after it has been quiet, at the latest after a cap. Pure, on a given clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vaultd.core.note import NotePath

QUIET_S = 0.150  # after the last touch
RENAMED_QUIET_S = 0.030  # a file renamed into its place is whole
CAP_S = 2.0  # after the first touch
EMPTIED_HOLD_S = 2.0  # Obsidian truncates before it writes


@dataclass(slots=True)
class _Touched:
    first: float
    due: float


class Debounce:
    """Touched paths and when each is due, in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._touched: dict[NotePath, _Touched] = {}

    def __len__(self) -> int:
        return len(self._touched)

    def touch(self, path: NotePath, now: float, *, quiet_s: float = QUIET_S) -> None:
        """A doorbell: wait until `quiet_s` have passed without another one, but not beyond the cap."""
        touched = self._touched.get(path)
        if touched is None:
            self._touched[path] = _Touched(now, now + quiet_s)
        else:
            touched.due = max(now, min(now + quiet_s, touched.first + CAP_S))

    def hold(self, path: NotePath, first: float, until: float) -> None:
        """Put a path that was due back until a given time."""
        self._touched[path] = _Touched(first, until)

    def drop(self, path: NotePath) -> None:
        """Forget a touch, since the path was looked at meanwhile."""
        self._touched.pop(path, None)

    def due(self, now: float) -> Iterator[tuple[NotePath, float]]:
        """Take out the paths that are due, each with the time of its first touch."""
        ripe = [path for path, touched in self._touched.items() if touched.due <= now]
        for path in ripe:
            yield path, self._touched.pop(path).first

    def next_due(self) -> float | None:
        """When the next path is due; None where nothing waits."""
        return min((touched.due for touched in self._touched.values()), default=None)

    def oldest(self) -> float | None:
        """The first touch that is longest ago."""
        return min((touched.first for touched in self._touched.values()), default=None)
