"""Activations, counted without writing notes: one journal a machine inside the vault, summed up over machines.

    .vaultd/machines/<machine>/activations.jsonl        {"id": …, "t": 3.3, "u": "…", "s": 17, "b": 7, "f": 12, "o": 2.3}

Each line says where a note stands for one machine: `t` its activations by this machine so far, `u` its last use, `s` a
sequence number. Lines are absolute, so a line that comes twice or late changes nothing; for a note the line with the
highest `t` counts. `b`, `f` and `o` keep the count right where a note had one before the journal knew it (see below, and
docs/decisions/0004-activation-journal.md):

    count = max(floor, B + Σ t over machines, F + (t − o) of any machine)

`floor` is what the frontmatter says. `B` is the smallest `b`: the floor that a machine saw when it first counted the note
and knew no other machine's count of it. `F` = `f` is the count a machine saw when the sum did not account for it (a hand
edit, a lost journal, a journal that comes later than the note), `o` its own `t` at that time.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from vaultd.core.errors import VaultError
from vaultd.vault.atomic import disk_errors
from vaultd.vault.presence import Presence
from vaultd.vault.sync import merge_under_way
from vaultd.vault.tally import NOTHING, Tally, Total, added, counted, line_of, newest, raised, read_into, total_of
from vaultd.wholefile import write_whole

COMPACT_FROM_LINES: Final = 2_000
COMPACT_RATIO: Final = 4  # lines a note
_UNREAD: Final = (-1, 0, 0)  # the stamp of no file


class Bump(NamedTuple):
    """Activations to count: of which note, how many, when (None leaves its last use), over which count of its own."""

    note_id: str
    amount: float
    when: datetime | None
    floor: float = 0.0


class Journal:
    """The journals below `state_dir`; only that of `machine_id` is written. Thread-safe.

    `bump_later` counts in memory, `bump` as well and tells the new total; `flush` writes: call it every few seconds.
    While the vault can't be written to, because its folder is gone or git is in the middle of a merge, what was counted
    lies in a file in the folder `aside`, outside the vault, from which the next Journal takes it. Started while the vault
    is away, it does not know how often this machine has counted a note: what it counts then is added once it does.
    Raises VaultError, StorageFull when writing.
    """

    def __init__(
        self, state_dir: Path, machine_id: str, aside: Path | None = None, presence: Presence | None = None
    ) -> None:
        self._state_dir = state_dir
        self._machines = state_dir / "machines"
        self._machine = machine_id
        self._place = self._machines / machine_id / "activations.jsonl"
        # another machine's id makes another journal: its totals must not be taken for ours
        self._aside = None if aside is None else aside / f"activations-{machine_id}.jsonl"
        self._lock = threading.RLock()
        self._tallies: dict[str, dict[str, Tally]] = {}
        self._stamps: dict[Path, tuple[int, int, int]] = {}
        self._totals: dict[str, Total] = {}
        self._waiting: dict[str, list[Bump]] = {}
        self._arriving = threading.Lock()  # held for a moment only, never while a disk is waited for
        self._unsaid: set[str] = set()  # notes whose total is not what was said of a later bump
        self._lines = 0
        self._own: dict[str, Tally] = {}
        self._own_stamp = _UNREAD
        self._is_read = False  # this machine's journal, or seen that there is none
        self._has_absorbed = False  # since totals were made
        self._presence = presence or Presence(state_dir.parent, state_dir)
        self._read_changed_files()
        if self._presence.holds_anything():
            with contextlib.suppress(VaultError):  # then it is tried again at each flush
                self._absorb()
                self._own_stamp = _stamp(self._place)
        self._pending = self._take_from_aside()
        self._in_memory_only = False
        if self._pending:
            self._presence.expect()
        self.refresh()

    def bump(self, note_id: str, amount: float, when: datetime | None, *, floor: float = 0.0) -> Total:
        """Count `amount` activations of a note; `when` None leaves its last use (a ripple). The new total.

        `floor` is the activation count in the note's frontmatter, 0 where it has none.
        """
        self.bump_later([Bump(note_id, amount, when, floor)])
        with self._lock:
            self._settle()
            return self._totals[note_id]

    def bump_later(self, bumps: Iterable[Bump]) -> None:
        """The same of several notes, reckoned when somebody asks for totals or writes: until then it costs next to nothing.

        A new total will be the one before, or `floor` where that is more, and `amount`; `refresh` names those that are not.
        """
        bumps = [*bumps]
        for bump in bumps:
            _check(bump)
        with self._arriving:
            for bump in bumps:
                self._waiting.setdefault(bump.note_id, []).append(bump)

    def _settle(self) -> None:
        with self._arriving:
            for note_id, bumps in self._waiting.items():
                said = self._raised(note_id)
                for bump in bumps:
                    self._count(bump)
                if self._totals[note_id] != said:
                    self._unsaid.add(note_id)
            self._waiting = {}

    def _raised(self, note_id: str) -> Total:
        """The last total that was reckoned, and what waits on top of it."""
        total = self._totals.get(note_id, NOTHING)
        for bump in self._waiting.get(note_id, ()):
            total = raised(total, bump.amount, bump.when, bump.floor)
        return total

    def _count(self, bump: Bump) -> None:
        note_id, amount, when, floor = bump
        others = self._others_of(note_id)
        own = self._own.get(note_id)
        if own is None:
            least = min((tally.b for tally in others), default=max(0.0, floor))
            own = Tally(b=least, more=not self._is_read)
        self._own[note_id], self._totals[note_id] = counted(own, others, amount, when, floor)
        self._pending.add(note_id)
        self._in_memory_only = True

    def total(self, note_id: str) -> Total:
        """What the journals say of one note. Waits for no disk."""
        with self._arriving:
            return self._raised(note_id)

    def totals(self) -> Mapping[str, Total]:
        """What the journals say of every note that one of them counts; a copy."""
        with self._lock:
            self._settle()
            return dict(self._totals)

    def refresh(self) -> frozenset[str]:
        """Read other machines' journals where they changed on disk; the ids of the notes whose total changed.

        While the vault is away they say what they said last.
        """
        with self._lock:
            self._settle()
            changed_files = self._read_changed_files()
            unsaid, self._unsaid = self._unsaid, set()
            if not changed_files and not self._has_absorbed and self._totals:
                return frozenset(unsaid)
            self._has_absorbed = False
            by_note: dict[str, list[Tally]] = {}
            for tallies in (self._own, *self._others()):
                for note_id, tally in tallies.items():
                    by_note.setdefault(note_id, []).append(tally)
            before, self._totals = self._totals, {note_id: total_of(found) for note_id, found in by_note.items()}
            ids = before.keys() | self._totals.keys()
            changed = (note_id for note_id in ids if before.get(note_id) != self._totals.get(note_id))
            return frozenset(unsaid.union(changed))

    def flush(self, *, durable: bool = True) -> int:
        """Append what was counted since the last flush, `durable` to the platter; how many notes.

        A journal that something else changed on disk is read, and written whole. While the vault's folder is gone, or
        git merges or rebases, which a changed journal would stop, the counts are put aside. Raises VaultError,
        StorageFull; the counts wait for the next call.
        """
        with self._lock:
            self._settle()
            if self._is_held():
                self._put_aside(durable=durable)
                return 0
            try:
                return self._write(whole=self._absorb_changes(), durable=durable)
            except VaultError:
                self._put_aside(durable=durable)
                raise

    def mend(self) -> bool:
        """Write this machine's journal anew: without lines that can't be read, and without copies beside it.

        False where the vault can't be written to now. Raises StorageFull.
        """
        with self._lock:
            self._settle()
            if self._is_held():
                return False
            self._absorb()
            self._write(whole=True)
            return True

    def drop(self, note_ids: Collection[str]) -> bool:
        """Forget this machine's counts of notes that are gone for good.

        False, and nothing is forgotten, where the vault can't be written to now. Raises StorageFull.
        """
        with self._lock:
            self._settle()
            if self._is_held():
                return False
            changed = self._absorb_changes()
            gone = [note_id for note_id in note_ids if self._own.pop(note_id, None) is not None]
            self._pending.difference_update(gone)
            if gone:
                self._own_stamp = _UNREAD  # should writing fail, the file goes on to count them
            self._write(whole=changed or bool(gone))
            for note_id in gone:
                total = total_of(self._others_of(note_id))
                if total == NOTHING:
                    self._totals.pop(note_id, None)
                else:
                    self._totals[note_id] = total
            return True

    def _is_held(self) -> bool:
        """Whether nothing may be written into the vault now."""
        folder = self._state_dir.parent
        return self._presence.is_gone() or not folder.is_dir() or merge_under_way(folder) is not None

    def _absorb_changes(self) -> bool:
        """Take in what a checkout or a restored backup brought; whether the whole is to be written, as it lost lines."""
        if self._is_read and _stamp(self._place) == self._own_stamp:
            return False
        self._absorb()
        return bool(self._own)

    def _absorb(self) -> None:
        """Take in what this machine's journal says in the vault. Raises VaultError where it can't be read."""
        written: dict[str, Tally] = {}
        lines = 0
        for place in self._files(self._machine):
            with disk_errors("activation journal"):
                lines += read_into(written, place.read_bytes())
        self._read_changed_files()
        self._is_read, self._lines = True, lines
        for note_id in written.keys() | self._own.keys():
            self._own[note_id] = self._joined(note_id, written.get(note_id), self._own.get(note_id))
        self._has_absorbed = True

    def _joined(self, note_id: str, written: Tally | None, ours: Tally | None) -> Tally:
        """What the journal says of a note, together with what was counted here; one of the two is there."""
        if written is None or ours is None:
            known = written or ours or Tally()
            return known._replace(more=False) if self._is_read and known.more else known
        return added(written, ours, self._others_of(note_id)) if ours.more else newest(written, ours)

    def _write(self, *, whole: bool, durable: bool = True) -> int:
        """The one way into this machine's journal, behind `_is_held` and `_absorb`. How many notes waited."""
        pending = sorted(self._pending)
        if self._is_more_aside:
            self._write_aside(durable=durable)  # a crash must not add it twice
        if whole or self._lines + len(pending) > max(COMPACT_FROM_LINES, COMPACT_RATIO * len(self._own)):
            self._rewrite(durable=durable)
        elif pending:
            self._append(self._lines_of(pending), durable=durable)
            self._lines += len(pending)
        if whole or pending:
            self._own_stamp = _stamp(self._place)
        self._pending.clear()
        self._in_memory_only = False
        if self._aside is not None:
            with disk_errors(self._aside.name):
                self._aside.unlink(missing_ok=True)
        return len(pending)

    def _put_aside(self, *, durable: bool) -> None:
        """Keep what waits outside the vault."""
        if self._in_memory_only:
            self._write_aside(durable=durable)

    def _write_aside(self, *, durable: bool) -> None:
        if self._aside is None:
            return
        with disk_errors(self._aside.name):
            write_whole(self._aside, self._lines_of(sorted(self._pending)), durable=durable)
        self._in_memory_only = False
        self._is_more_aside = any(self._own[note_id].more for note_id in self._pending)

    def _take_from_aside(self) -> set[str]:
        """What was put aside; the notes of which the journal in the vault says less."""
        kept: dict[str, Tally] = {}
        if self._aside is not None:
            with contextlib.suppress(OSError):
                read_into(kept, self._aside.read_bytes())
        self._is_more_aside = any(tally.more for tally in kept.values())
        waiting: set[str] = set()
        for note_id, tally in kept.items():
            written = self._own.get(note_id)
            self._own[note_id] = self._joined(note_id, written, tally)
            if self._own[note_id] != written:
                waiting.add(note_id)
        return waiting

    def _others(self) -> list[dict[str, Tally]]:
        return [tallies for machine, tallies in self._tallies.items() if machine != self._machine]

    def _others_of(self, note_id: str) -> list[Tally]:
        own = self._machine
        return [all_[note_id] for machine, all_ in self._tallies.items() if note_id in all_ and machine != own]

    def _files(self, machine: str) -> list[Path]:
        # a sync tool may put a copy beside the journal; lines are absolute, so reading both does no harm
        return sorted(place for place in (self._machines / machine).glob("activations*.jsonl") if place.is_file())

    def _read_changed_files(self) -> bool:
        if self._presence.is_gone():
            return False
        try:
            machines = sorted(entry.name for entry in os.scandir(self._machines) if entry.is_dir())
        except FileNotFoundError:
            machines = []
        except OSError as exc:
            raise VaultError(f"the journals can't be listed: {exc.strerror}") from exc
        changed = False
        for machine in machines:
            if machine != self._machine:
                changed |= self._read_machine(machine)
        for machine in self._tallies.keys() - set(machines):
            del self._tallies[machine]
            changed = True
        return changed

    def _read_machine(self, machine: str) -> bool:
        files = self._files(machine)
        stamps = {place: _stamp(place) for place in files}
        known = {place: stamp for place, stamp in self._stamps.items() if place.parent.name == machine}
        if stamps == known:
            return False
        for place in known:
            del self._stamps[place]
        self._stamps.update(stamps)
        tallies: dict[str, Tally] = {}
        for place in files:
            with contextlib.suppress(OSError):
                read_into(tallies, place.read_bytes())
        self._tallies[machine] = tallies
        return True

    def _append(self, lines: bytes, *, durable: bool) -> None:
        with disk_errors("activation journal"):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            with self._place.open("a+b") as file:
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    # half a line from a crash must not swallow the first new one
                    lines = lines if file.read(1) == b"\n" else b"\n" + lines
                file.write(lines)
                file.flush()
                if durable:
                    os.fsync(file.fileno())

    def _rewrite(self, *, durable: bool) -> None:
        with disk_errors("activation journal"):
            write_whole(self._place, self._lines_of(sorted(self._own)), durable=durable)
            for place in self._files(self._machine):
                if place != self._place:
                    place.unlink(missing_ok=True)
            self._lines = len(self._own)

    def _lines_of(self, note_ids: Iterable[str]) -> bytes:
        return b"".join(line_of(note_id, self._own[note_id]) for note_id in note_ids)


def _check(bump: Bump) -> None:
    _, amount, _, floor = bump
    if not (0 <= amount < math.inf and -math.inf < floor < math.inf):
        raise ValueError(f"an activation is a finite number from 0, not {amount!r} over {floor!r}")


def _stamp(place: Path) -> tuple[int, int, int]:
    try:
        status = place.stat()
    except OSError:
        return _UNREAD
    return status.st_size, status.st_mtime_ns, status.st_ino
