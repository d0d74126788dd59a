"""Which note a person has open in Obsidian: it is not written while they may be typing."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import datetime
from typing import Final

ACTIVE_S: Final = 120.0  # seconds after a heartbeat
MOST_KEPT: Final = 64


class ActiveFiles:
    """Heartbeats of the plugin, by path. Used on the event loop."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def touch(self, path: str) -> None:
        """The person looks at this note now; "" where none is open."""
        now = self._clock().timestamp()
        self._until = {known: until for known, until in self._until.items() if until > now}
        if path and len(self._until) < MOST_KEPT:
            self._until[_key(path)] = now + ACTIVE_S

    def is_active(self, path: str) -> bool:
        """Whether a note is open, or was less than two minutes ago."""
        return self._until.get(_key(path), 0.0) > self._clock().timestamp()

    @property
    def paths(self) -> tuple[str, ...]:
        """The notes that are open."""
        now = self._clock().timestamp()
        return tuple(path for path, until in self._until.items() if until > now)


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.replace("\\", "/").strip("/"))
