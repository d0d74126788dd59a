"""Which notes carry a tag or a domain: label → slots, so that a filter looks at no note that lacks it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from vaultd.index.tokens import normalise


class Labels:
    """Labels of slots, compared without regard to case. One thread changes it; readers hold the mirror's lock."""

    def __init__(self, slots: dict[str, set[int] | int] | None = None) -> None:
        self._slots = slots or {}

    @property
    def slots(self) -> dict[str, set[int] | int]:
        """Label → slots; a label that one note has needs no set. Other labels are made of it."""
        return self._slots

    def change(self, slot: int, before: Sequence[str], after: Sequence[str]) -> None:
        """Exchange the labels of a slot."""
        old, new = (dict.fromkeys(map(normalise, labels)) for labels in (before, after))
        for label in old.keys() - new.keys():
            self._discard(label, slot)
        for label in new:
            holders = self._slots.setdefault(label, slot)
            if isinstance(holders, set):
                holders.add(slot)
            elif holders != slot:
                self._slots[label] = {holders, slot}

    def _discard(self, label: str, slot: int) -> None:
        holders = self._slots.get(label)
        if isinstance(holders, set):
            holders.discard(slot)
        if holders == slot or holders == set():
            del self._slots[label]

    def having(self, labels: Iterable[str], slots: int) -> npt.NDArray[np.bool_]:
        """Of so many slots, those with at least one of the labels."""
        mask = np.zeros(slots, np.bool_)
        for label in dict.fromkeys(normalise(label) for label in labels):
            holders = self._slots.get(label, set())
            mask[list(holders) if isinstance(holders, set) else holders] = True
        return mask
