"""What is reckoned with of every note, as arrays over slots."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.index.rows import Row
from vaultd.scoring.decay import KIND_CODES, DecayColumns

ROLES: tuple[Role, ...] = tuple(Role)
ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
NO_KIND = 255
NO_NOTE = 255  # role code of an empty slot
ALL = slice(None)

_COLUMNS: tuple[tuple[str, type], ...] = (
    ("role", np.uint8),
    ("kind", np.uint8),
    ("importance", np.float32),
    ("activation_count", np.float64),
    ("valence", np.float32),
    ("arousal", np.float32),
    ("resolved", np.bool_),
    ("digested", np.bool_),
    ("pinned", np.bool_),
    ("protected", np.bool_),
    ("created", np.float64),
    ("last_active", np.float64),
    ("offset_s", np.int32),
)


class Columns:
    """Arrays over slots; `role` is NO_NOTE where a slot is empty."""

    role: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.uint8]
    importance: npt.NDArray[np.float32]
    activation_count: npt.NDArray[np.float64]
    valence: npt.NDArray[np.float32]
    arousal: npt.NDArray[np.float32]
    resolved: npt.NDArray[np.bool_]
    digested: npt.NDArray[np.bool_]
    pinned: npt.NDArray[np.bool_]
    protected: npt.NDArray[np.bool_]
    created: npt.NDArray[np.float64]
    last_active: npt.NDArray[np.float64]
    offset_s: npt.NDArray[np.int32]

    def __init__(self, capacity: int = 256) -> None:
        for name, dtype in _COLUMNS:
            setattr(self, name, np.zeros(capacity, dtype))
        self.role[:] = NO_NOTE
        self._view: Columns | None = None

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` slots."""
        size = len(self.role)
        for name, dtype in _COLUMNS:
            new: npt.NDArray[Any] = np.zeros(capacity, dtype)
            new[:size] = getattr(self, name)
            setattr(self, name, new)
        self.role[size:] = NO_NOTE
        self._view = None

    def decay(self, slots: npt.NDArray[np.intp] | slice = ALL) -> DecayColumns:
        """The columns that the decay score looks at, of these slots."""
        return DecayColumns(
            kind=self.kind[slots],
            importance=self.importance[slots].astype(np.float64),
            activation_count=self.activation_count[slots],
            last_active=self.last_active[slots],
            arousal=self.arousal[slots].astype(np.float64),
            resolved=self.resolved[slots],
            digested=self.digested[slots],
            pinned=self.pinned[slots],
            protected=self.protected[slots],
        )

    def upto(self, size: int) -> Columns:
        """Views of the first `size` slots."""
        view = self._view
        if view is None or len(view.role) != size:
            view = self._view = Columns.__new__(Columns)
            for name, _ in _COLUMNS:
                setattr(view, name, getattr(self, name)[:size])
        return view


VALUES: dict[str, Callable[[Row], object]] = {
    "role": lambda row: ROLE_CODES[row.role],
    "kind": lambda row: NO_KIND if row.kind is None else KIND_CODES[row.kind],
    "importance": attrgetter("importance"),
    "valence": attrgetter("valence"),
    "arousal": attrgetter("arousal"),
    "resolved": attrgetter("resolved"),
    "digested": attrgetter("digested"),
    "pinned": attrgetter("pinned"),
    "protected": attrgetter("protected"),
    "created": attrgetter("created"),
    "offset_s": lambda row: row.offset_minutes * 60,
}
"""The columns that a row alone says; counters are set with its use."""
