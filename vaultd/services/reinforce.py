"""What a recall does to counters: the one used, and a ripple to its neighbours in time. Touches no note file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from vaultd.core.bucket import Kind
from vaultd.index.mirror import Mirror, Use
from vaultd.index.timeline import Timelines
from vaultd.scoring.constants import RECALL_ACTIVATION, RippleRules
from vaultd.scoring.decay import KIND_CODES, ripple_targets
from vaultd.vault.journal import Bump, Journal
from vaultd.vault.tally import Total

_STIRRED_KINDS = frozenset((KIND_CODES[Kind.DYNAMIC], KIND_CODES[Kind.PERMANENT]))


class Reinforce:
    """Counts into this machine's journal; the mirror has the new values at once."""

    def __init__(self, journal: Journal, mirror: Mirror, timelines: Timelines, clock: Callable[[], datetime]) -> None:
        self._journal = journal
        self._mirror = mirror
        self._timelines = timelines
        self._clock = clock
        self._rules = RippleRules()

    def __call__(self, ids: Iterable[str]) -> None:
        """These buckets were shown as an answer to a question."""
        ripple = self._rules.activation
        gains: dict[int, float] = {}
        with self._mirror.lock:
            used = [slot for slot in map(self._mirror.slot_of, ids) if slot is not None]
            for slot in used:
                gains[slot] = gains.get(slot, 0.0) + RECALL_ACTIVATION
                for neighbour in self._neighbours(slot):
                    gains[neighbour] = gains.get(neighbour, 0.0) + ripple
            self._bump(gains, used)

    def count(self, note_id: str, amount: float) -> None:
        """A note was used now; nothing ripples."""
        with self._mirror.lock:
            slot = self._mirror.slot_of(note_id)
            if slot is not None:
                self._bump({slot: amount}, [slot])

    def _bump(self, gains: Mapping[int, float], used: Collection[int]) -> None:
        """Count what each slot gains; of those that were used, now is the last use."""
        now, at = self._clock(), self._mirror.at
        bumps = []
        for slot, gain in gains.items():
            row = at(slot)
            bumps.append(Bump(row.id, gain, now if slot in used else None, row.count_floor))
        self._journal.bump_later(bumps)
        self._mirror.stir(gains, used, now.timestamp())

    def use_of(self, note_id: str) -> Use:
        """What all machines' journals say of a note."""
        return _use(self._journal.total(note_id))

    def _neighbours(self, slot: int) -> list[int]:
        """The slots of the memories that were made near in time to one, nearest first."""
        timeline, kinds = self._timelines(), self._mirror.columns.kind
        place, order = timeline.place.item(slot), timeline.order
        if place < 0:
            return []
        targets = ripple_targets(
            timeline.made, lambda row: kinds.item(order.item(row)) in _STIRRED_KINDS, place, self._rules
        )
        return [order.item(row) for row in targets]


def _use(total: Total) -> Use:
    return Use(total.activations, None if total.last_use is None else total.last_use.timestamp())
