"""What a recall does to counters: the one used, and a ripple to its neighbours in time. Touches no note file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from vaultd.core.bucket import Kind, Role
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror, Use
from vaultd.scoring.constants import RECALL_ACTIVATION, RippleRules
from vaultd.scoring.decay import KIND_CODES, ripple_targets
from vaultd.vault.journal import Journal
from vaultd.vault.tally import Total


class Reinforce:
    """Counts into this machine's journal; the mirror has the new values at once."""

    def __init__(self, journal: Journal, mirror: Mirror, clock: Callable[[], datetime]) -> None:
        self._journal = journal
        self._mirror = mirror
        self._clock = clock
        self._rules = RippleRules()

    def __call__(self, ids: Iterable[str]) -> None:
        """These buckets were shown as an answer to a question."""
        now = self._clock()
        with self._mirror.lock:
            for note_id, neighbours in self._stirred(ids).items():
                self._bump(note_id, RECALL_ACTIVATION, now)
                for neighbour in neighbours:
                    self._bump(neighbour, self._rules.activation, None)

    def _bump(self, note_id: str, amount: float, when: datetime | None) -> None:
        row = self._mirror.get(note_id)
        if row is None:
            return
        total = self._journal.bump(note_id, amount, when, floor=row.count_floor)
        self._mirror.set_use(note_id, _use(total))

    def count(self, note_id: str, amount: float) -> None:
        """A note was used now; nothing ripples."""
        with self._mirror.lock:
            self._bump(note_id, amount, self._clock())

    def use_of(self, note_id: str) -> Use:
        """What all machines' journals say of a note."""
        return _use(self._journal.total(note_id))

    def _stirred(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Each of these notes with its neighbours in time."""
        columns = self._mirror.columns
        kinds = (columns.kind == KIND_CODES[Kind.DYNAMIC]) | (columns.kind == KIND_CODES[Kind.PERMANENT])
        eligible = (columns.role == ROLE_CODES[Role.BUCKET]) & kinds
        out: dict[str, list[str]] = {}
        for note_id in ids:
            slot = self._mirror.slot_of(note_id)
            targets = () if slot is None else ripple_targets(columns.created, eligible, slot, self._rules).tolist()
            out[note_id] = [self._mirror.at(target).id for target in targets]
        return out


def _use(total: Total) -> Use:
    return Use(total.count, None if total.last_use is None else total.last_use.timestamp())
