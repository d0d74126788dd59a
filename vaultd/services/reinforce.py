"""What a recall does to counters: the one used, and a ripple to its neighbours in time. Touches no note file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from vaultd.core.bucket import Kind
from vaultd.index.mirror import Mirror, Use
from vaultd.index.timeline import Timelines
from vaultd.scoring.constants import RECALL_ACTIVATION, RippleRules
from vaultd.scoring.decay import KIND_CODES, ripple_targets
from vaultd.vault.journal import Bump, Journal
from vaultd.vault.tally import Total

_Stirred = tuple[int, float, datetime | None]
"""A slot, the activations that it gains, and when it was used (None: only stirred)."""

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
        now, ripple = self._clock(), self._rules.activation
        with self._mirror.lock:
            stirred: list[_Stirred] = []
            for note_id in ids:
                slot = self._mirror.slot_of(note_id)
                if slot is not None:
                    stirred.append((slot, RECALL_ACTIVATION, now))
                    stirred += [(neighbour, ripple, None) for neighbour in self._neighbours(slot)]
            self._bump(stirred)

    def count(self, note_id: str, amount: float) -> None:
        """A note was used now; nothing ripples."""
        with self._mirror.lock:
            slot = self._mirror.slot_of(note_id)
            if slot is not None:
                self._bump([(slot, amount, self._clock())])

    def _bump(self, stirred: Sequence[_Stirred]) -> None:
        rows = [self._mirror.at(slot) for slot, *_ in stirred]
        totals = self._journal.bump_all(
            Bump(row.id, amount, when, row.count_floor) for row, (_, amount, when) in zip(rows, stirred, strict=True)
        )
        self._mirror.set_uses((row.id, _use(total)) for row, total in zip(rows, totals, strict=True))

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
