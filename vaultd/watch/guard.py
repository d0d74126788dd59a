"""Holds back a mass deletion: an unmounted drive or a wiped folder must not empty the memory. Pure, on a given clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from vaultd.core.note import NotePath

SHARE = 0.20  # of all notes
COUNT = 50  # notes; both must be passed
WINDOW_S = 30.0  # deletions that arrive within it count together


class DeletionGuard:
    """Decides whether notes that are gone may leave the index."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque()
        self._confirmed: set[NotePath] = set()
        self.held: dict[NotePath, None] = {}

    def admit(self, gone: Sequence[NotePath], notes: int, now: float) -> bool:
        """Whether these deletions may pass, out of `notes` in the index before; if not, they are held."""
        gone = [path for path in gone if path not in self._confirmed]
        if not gone:
            return True
        while self._recent and self._recent[0][0] < now - WINDOW_S:
            self._recent.popleft()
        recent = sum(count for _, count in self._recent)
        together = recent + len(gone)
        if self.held or (together > COUNT and together > SHARE * (notes + recent)):
            self.held.update(dict.fromkeys(gone))
            return False
        self._recent.append((now, len(gone)))
        return True

    def remembered(self, paths: Iterable[NotePath]) -> list[NotePath]:
        """Of these, the ones that are held or whose deletion was confirmed."""
        if not self.held and not self._confirmed:
            return []
        return [path for path in paths if path in self.held or path in self._confirmed]

    def returned(self, path: NotePath) -> None:
        """A note that was held is there again."""
        self.held.pop(path, None)
        self._confirmed.discard(path)

    def confirm(self) -> tuple[NotePath, ...]:
        """The person says that the deletions are meant; the held paths are given back to be looked at."""
        held = tuple(self.held)
        self._confirmed.update(held)
        self.held.clear()
        self._recent.clear()
        return held
