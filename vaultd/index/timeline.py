"""The order in time of all memories, and the local day of every note: made once, kept until a time changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.note import path_key
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror
from vaultd.scoring.datefit import DAY_S, Calendar

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """`order`: slots of buckets as they were made; `made`: when each of these was, in epoch seconds; `place`: by slot,
    where it stands in the order (−1: nowhere); `calendar`: by slot, by each note's own offset."""

    order: npt.NDArray[np.intp]
    made: npt.NDArray[np.float64]
    place: npt.NDArray[np.intp]
    calendar: Calendar


class Timelines:
    """Hands out the timeline of a mirror and makes it anew where a time or a role has changed."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._generation = -1
        self._seen: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None = None
        self._timeline: Timeline | None = None

    def __call__(self) -> Timeline:
        """The timeline as it is now. Hold the mirror's lock."""
        known = self._timeline
        if known is not None and self._generation == self._mirror.generation:
            return known
        self._generation = self._mirror.generation
        columns = self._mirror.columns
        local = columns.created + columns.offset_s
        buckets = columns.role == ROLE_CODES[Role.BUCKET]
        if known is not None and self._seen is not None and _equal(self._seen, (local, buckets)):
            return known
        order = self._ordered(columns.created, buckets)
        calendar = Calendar.of_days(np.floor(local / DAY_S).astype(np.int64))
        place = np.full(len(local), -1)
        place[order] = np.arange(len(order))
        made = Timeline(order, columns.created[order], place, calendar)
        self._seen, self._timeline = (local, buckets), made
        return made

    def _ordered(self, created: npt.NDArray[np.float64], buckets: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """Slots by time of making; those of one moment (turns of one talk) by path, shorter ones first: 9 before 10."""
        slots = np.flatnonzero(buckets)
        slots = slots[np.argsort(created[slots], kind="stable")]
        times = created[slots]
        same = np.flatnonzero(times[1:] == times[:-1])
        if not len(same):
            return slots
        tied = np.union1d(same, same + 1)
        keys = {int(slot): path_key(self._mirror.at(int(slot)).path) for slot in slots[tied]}
        slots[tied] = sorted(slots[tied].tolist(), key=lambda slot: (created[slot], len(keys[slot]), keys[slot]))
        return slots


def _equal(first: tuple[npt.NDArray[Any], ...], second: tuple[npt.NDArray[Any], ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
