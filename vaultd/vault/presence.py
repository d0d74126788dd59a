"""Whether a vault is there: a disk that is taken out leaves an empty folder where it was mounted, or none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from vaultd.core.errors import VaultUnavailable


class Presence:
    """Remembers what a vault held, so that an empty folder is known for what it is. From any thread.

    Whoever writes into the vault asks it before. `knows_notes`: whether the index has notes of the vault, which may have
    gone before it was looked at.
    """

    def __init__(self, root: Path, state_dir: Path, knows_notes: Callable[[], bool] = lambda: False) -> None:
        self._root = root
        self._state_dir = state_dir
        self._knows_notes = knows_notes
        self._held_anything = False
        self._had_state = False
        self.look()

    def expect(self) -> None:
        """The vault is known to have held something, even if its folder is empty now."""
        self._held_anything = True

    def holds_anything(self) -> bool:
        """Whether the folder holds anything now."""
        return _holds_anything(self._root)

    def look(self) -> None:
        """Take note of what the vault holds."""
        self._held_anything |= _holds_anything(self._root) or self._knows_notes()
        self._had_state |= self._state_dir.is_dir()

    def is_gone(self) -> bool:
        """Whether the folder is missing, or empty though it held something before."""
        self.look()
        if self._held_anything and not _holds_anything(self._root):
            return True
        if self._had_state and not self._state_dir.is_dir():
            return not _holds_anything(self._state_dir.parent)
        return not self._root.is_dir()

    def demand(self) -> None:
        """Raises VaultUnavailable where the vault is gone."""
        if self.is_gone():
            raise VaultUnavailable(f"the vault {self._root} is not there; nothing was written")


def _holds_anything(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False
