"""Which notes carry a tag or a domain: label → slots, so that a filter looks at no note that lacks it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from vaultd.index.tokens import normalise


class Labels:
    """Labels of slots, compared without regard to case. One thread changes it; readers hold the mirror's lock."""

    def __init__(self) -> None:
        self._slots: dict[str, set[int]] = {}
        self._labels: dict[int, tuple[str, ...]] = {}

    def put(self, slot: int, labels: Iterable[str]) -> None:
        """Make these the labels of a slot; none takes it out."""
        folded = tuple(dict.fromkeys(normalise(label) for label in labels))
        before = self._labels.pop(slot, ())
        if folded:
            self._labels[slot] = folded
        for label in before:
            holders = self._slots[label]
            holders.discard(slot)
            if not holders:
                del self._slots[label]
        for label in folded:
            self._slots.setdefault(label, set()).add(slot)

    def having(self, labels: Iterable[str], slots: int) -> npt.NDArray[np.bool_]:
        """Of so many slots, those with at least one of the labels."""
        mask = np.zeros(slots, np.bool_)
        for label in dict.fromkeys(normalise(label) for label in labels):
            holders = self._slots.get(label, ())
            mask[np.fromiter(holders, np.intp, len(holders))] = True
        return mask
