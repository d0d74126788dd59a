"""The only hand that writes, moves and deletes notes.

Synchronous and thread-safe: one write at a time. Every write is a compare-and-swap (see `atomic`), is logged for undo,
and keeps the old version where a body changes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from vaultd.core.bucket import Role
from vaultd.core.errors import LostRace, UnwritableNote
from vaultd.core.note import FileStamp, Note, NotePath, Receipt
from vaultd.core.properties import ID
from vaultd.vault import sync
from vaultd.vault.atomic import AtomicFile
from vaultd.vault.codec import checksum, decode
from vaultd.vault.disk import Disk
from vaultd.vault.history import History, history_key
from vaultd.vault.layout import TRASH, Layout
from vaultd.vault.log import Entry, Operation, WriteLog
from vaultd.vault.presence import Presence
from vaultd.vault.reader import VaultReader

# a save of another program takes some ten milliseconds; the last try comes after a fifth of a second
_PAUSES_S: Final = (0.01, 0.03, 0.05, 0.1)
CHANGE_TRIES: Final = len(_PAUSES_S) + 1
_NO_STAMP: Final = FileStamp(0, 0, 0)


def utc_now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a note's bytes say about identity and body."""

    note_id: str
    body: str

    @classmethod
    def at(cls, path: NotePath, raw: bytes) -> _Look:
        note: Note = decode(path, raw, _NO_STAMP)
        return cls(str(note.properties.get(ID) or ""), note.body)


class VaultWriter:
    """Writes notes of the vault. `may_write` returns why nothing must be written now, or None; without it, git is asked.

    Every method raises VaultUnavailable (the root is gone), UnwritableNote (a merge is under way, the file is read-only,
    the note is the person's own), StorageFull, OutsideVault. Then nothing has changed. `why` goes into the log.
    """

    def __init__(
        self,
        layout: Layout,
        log: WriteLog,
        *,
        history: History | None = None,
        presence: Presence | None = None,
        may_write: Callable[[], str | None] | None = None,
        clock: Callable[[], datetime] = utc_now,
        disk: Disk | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._layout = layout
        self._reader = VaultReader(layout)
        self._disk = disk or Disk()
        self._file = AtomicFile(self._disk, displaced=self.keep_displaced, pause=pause)
        self._pause = pause
        self.log = log
        self.history = history or History(layout.state_dir)
        self.presence = presence or Presence(layout.root, layout.state_dir)
        self._may_write = may_write or self._git_reason
        self._clock = clock
        self._lock = threading.RLock()

    def create(
        self, path: NotePath, raw: bytes, *, why: str = "", free_name: bool = False, allow_own: bool = False
    ) -> Receipt:
        """Write a new note, folders included. Where a file stands already: LostRace, or the next `free_name`.

        The receipt has the path as it is on disk: folders that differ in case or code points alone are one folder.
        """
        with self._lock:
            self._check(path, allow_own=allow_own)
            path = self._layout.spelled_on_disk(path)
            for _ in range(CHANGE_TRIES if free_name else 1):
                try:
                    return self._create(path, raw, why)
                except LostRace:
                    taken, path = path, self._layout.free_path(path) if free_name else path
            raise LostRace(taken)

    def _create(self, path: NotePath, raw: bytes, why: str) -> Receipt:
        place = self._layout.absolute(path)
        note_id = _Look.at(path, raw).note_id
        entry = self.log.add(Operation.CREATE, path, at=self._clock(), new=raw, why=why, note_id=note_id)
        self._void_on_failure(entry, lambda: self._file.create(place, raw, shown=path))
        return Receipt(path, checksum(raw))

    def replace(
        self,
        path: NotePath,
        raw: bytes,
        *,
        expected: str,
        why: str = "",
        keep: bool | None = None,
        versions: int | None = None,
        allow_own: bool = False,
    ) -> Receipt:
        """Compare and swap: `raw` takes the place of the bytes whose checksum is `expected`. Raises LostRace.

        The old version is kept in the history when the body changes (`keep=None`), always or never; of `versions` the
        newest are kept. Equal bytes are not written.
        """
        with self._lock:
            self._check(path, allow_own=allow_own)
            old = self._reader.read_bytes(path)
            if old is None or checksum(old) != expected:
                raise LostRace(path)
            if old == raw:
                return Receipt(path, expected)
            before, after = _Look.at(path, old), _Look.at(path, raw)
            note_id = before.note_id or after.note_id
            if keep or (keep is None and before.body != after.body):
                self.history.keep(history_key(note_id, path), old, at=self._clock(), limit=versions)
            entry = self.log.add(Operation.REPLACE, path, at=self._clock(), old=old, new=raw, why=why, note_id=note_id)
            place = self._layout.absolute(path)
            self._void_on_failure(entry, lambda: self._file.replace(place, raw, expected=expected, shown=path))
            return Receipt(path, checksum(raw))

    def change(
        self,
        path: NotePath,
        edit: Callable[[bytes], bytes],
        *,
        why: str = "",
        keep: bool | None = None,
        versions: int | None = None,
        allow_own: bool = False,
    ) -> Receipt:
        """Read, edit, compare and swap; begun again on the new text, up to five times, when the race is lost.

        `edit` may be called several times and may raise to give up. Equal bytes are not written.
        """
        with self._lock:
            for pause_s in _PAUSES_S:
                try:
                    return self._change_once(path, edit, why=why, keep=keep, versions=versions, allow_own=allow_own)
                except LostRace:
                    self._pause(pause_s)
            return self._change_once(path, edit, why=why, keep=keep, versions=versions, allow_own=allow_own)

    def _change_once(
        self,
        path: NotePath,
        edit: Callable[[bytes], bytes],
        *,
        why: str,
        keep: bool | None,
        versions: int | None,
        allow_own: bool,
    ) -> Receipt:
        old = self._reader.read_bytes(path)
        if old is None:
            raise LostRace(path)
        try:
            new = edit(old)
        except UnwritableNote as exc:
            # half a note, in the middle of somebody's save, is a race and no bad note
            if self._is_being_saved(path, old):
                raise LostRace(path) from exc
            raise
        return self.replace(
            path, new, expected=checksum(old), why=why, keep=keep, versions=versions, allow_own=allow_own
        )

    def _is_being_saved(self, path: NotePath, seen: bytes) -> bool:
        place = self._layout.absolute(path)
        try:
            return self._disk.open_for_writing(place) is True or self._disk.read(place) != seen
        except FileNotFoundError:
            return True

    def move(self, path: NotePath, target: NotePath, *, why: str = "", allow_own: bool = False) -> Receipt:
        """Give a note another path, folders included, its bytes untouched. Where a file stands already: LostRace.

        Links to it are for `moving`. Folders that become empty stay.
        """
        with self._lock:
            self._check(path, allow_own=allow_own)
            self._check(target, allow_own=allow_own)
            return self._move(Operation.MOVE, path, self._layout.spelled_on_disk(target), why)

    def delete(self, path: NotePath, *, permanent: bool, why: str = "") -> Receipt:
        """Move a note into the vault's `.trash`, or remove it and its versions for good. LostRace if it is gone."""
        with self._lock:
            self._check(path)
            if not permanent:
                name = path.rpartition("/")[2]
                self._move(Operation.TRASH, path, self._layout.free_path(f"{TRASH}/{name}"), why)
                return Receipt(path, None)
            old = self._reader.read_bytes(path)
            if old is None:
                raise LostRace(path)
            note_id = _Look.at(path, old).note_id
            entry = self.log.add(Operation.DELETE, path, at=self._clock(), old=old, why=why, note_id=note_id)
            place = self._layout.absolute(path)
            self._void_on_failure(entry, lambda: self._file.remove(place, shown=path))
            self.history.forget(history_key(note_id, path))
            return Receipt(path, None)

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold off every other write while several belong together."""
        with self._lock:
            yield

    def keep_displaced(self, place: Path, raw: bytes) -> None:
        """Keep, in the history, a text that had to give way in a race of other programs."""
        path = self._layout.relative(place)
        self.history.keep(history_key(_Look.at(path, raw).note_id, path), raw, at=self._clock())

    def _move(self, operation: Operation, path: NotePath, target: NotePath, why: str) -> Receipt:
        raw = self._reader.read_bytes(path)
        if raw is None:
            raise LostRace(path)
        entry = self.log.add(
            operation, path, at=self._clock(), target=target, old=raw, why=why, note_id=_Look.at(path, raw).note_id
        )
        source, goal = self._layout.absolute(path), self._layout.absolute(target)
        self._void_on_failure(entry, lambda: self._file.move(source, goal, shown=f"{path} → {target}"))
        return Receipt(target, checksum(raw))

    def _void_on_failure(self, entry: Entry, step: Callable[[], None]) -> None:
        done = False
        try:
            step()
            done = True
            self.presence.look()
        finally:
            if not done:
                self.log.void(entry)

    def _check(self, path: NotePath, *, allow_own: bool = False) -> None:
        """Refuse what must not be written now, before anything is touched."""
        self.presence.demand()
        if not allow_own and self._layout.role_of(path) is Role.OWN:
            raise UnwritableNote(path, "it lies outside vaultd's folders and is the person's own: never written")
        reason = self._may_write()
        if reason is not None:
            raise UnwritableNote(path, reason)

    def _git_reason(self) -> str | None:
        what = sync.merge_under_way(self._layout.root)
        return None if what is None else f"a git {what} is under way; nothing is written until it is finished"
