"""The compare-and-swap write of one file: the new text stands whole in the old one's place, or nothing has changed.

    read and hash ─► temporary dot file beside it, fsync ─► read and hash again ─► swap ─► look at what came out ─► fsync

A program that saves between the second hash and the swap would lose its text to a plain rename. So the two files change
places in one step (Linux, macOS), and what came out is looked at: if it is not the text we read, or somebody still has it
open for writing, the files change back and the race is lost, with every byte in place. On Linux this leaves no window for
programs that save in place or by rename. What is left:

- macOS, and file systems without leases (most network ones): a program that opened the note before the swap without
  emptying it, and writes after our look, writes into the old file, which is then gone.
- Windows, and file systems that can't swap (FAT, some FUSE ones): a save between the second hash and the rename, some
  tens of microseconds, is replaced. Windows refuses the rename while a program has the note open.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import stat
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.core.errors import LostRace, StorageFull, UnwritableNote, VaultError
from vaultd.vault.codec import checksum
from vaultd.vault.disk import NOT_SUPPORTED, Disk
from vaultd.wholefile import PART_NAME

_LOG: Final = logging.getLogger(__name__)

TEMP_NAME: Final = re.compile(r"\.vaultd-(?P<new>[0-9a-f]{16})(?P<old>[0-9a-f]{16})[0-9a-f]{8}\.tmp")
_NO_OLD: Final = "0" * 16
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG))
_SHARING_WINERRORS: Final = frozenset((5, 32, 33))
_SHARING_PAUSES_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_NOT_WALKED: Final = frozenset((".git", ".obsidian", ".stversions", ".stfolder", "node_modules"))


@contextlib.contextmanager
def disk_errors(path: str) -> Iterator[None]:
    """Turn the system's errors into ours; `path` is how the note is named to people."""
    try:
        yield
    except OSError as exc:
        raise _translated(path, exc) from exc


def _translated(path: str, exc: OSError) -> VaultError:
    if exc.errno in _FULL:
        return StorageFull(f"{path}: {_reason(exc)}; nothing was changed")
    if getattr(exc, "winerror", None) in (32, 33):
        return UnwritableNote(path, "another program has it open; try again later")
    if isinstance(exc, PermissionError):
        return UnwritableNote(path, "the system forbids writing here")
    if isinstance(exc, FileNotFoundError):
        return LostRace(path)
    if exc.errno == errno.ENAMETOOLONG:
        return UnwritableNote(path, "the name is too long for this disk")
    return VaultError(f"{path}: {_reason(exc)}")


def _reason(exc: OSError) -> str:
    return os.strerror(exc.errno) if exc.errno else str(exc)


@dataclass(frozen=True, slots=True)
class AtomicFile:
    """Writes files whole. `displaced` receives a text that two programs fought over while we gave way: keep it."""

    disk: Disk = Disk()  # noqa: RUF009 – has no state
    displaced: Callable[[Path, bytes], None] = lambda _place, _raw: None
    pause: Callable[[float], None] = time.sleep

    def replace(self, place: Path, raw: bytes, *, expected: str, shown: str) -> None:
        """Put `raw` where a file with the checksum `expected` stands; a link's target is written, not the link.

        Raises LostRace (other bytes stand there), UnwritableNote, StorageFull. Then nothing has changed.
        """
        with disk_errors(shown):
            place = Path(os.path.realpath(place))
            status = self._writable_status(place, expected, shown)
            temp = _temp_beside(place, raw, expected)
            try:
                self.disk.write_new(temp, raw)
                self._dress(temp, place, status, shown)
                if checksum(self.disk.read(place)) != expected:
                    raise LostRace(shown)
                self._swap(temp, place, ours=checksum(raw), expected=expected, shown=shown)
            finally:
                self._remove(temp)
            self.disk.sync_folder(place.parent)

    def create(self, place: Path, raw: bytes, *, shown: str, mode: int | None = None) -> None:
        """Put `raw` where no file stands, folders included. Raises LostRace where one does; StorageFull."""
        with disk_errors(shown):
            self.disk.make_folders(place.parent)
            temp = _temp_beside(place, raw, None)
            try:
                self.disk.write_new(temp, raw)
                temp.chmod(_default_mode() if mode is None else mode)
                self._rename_new(temp, place, shown)
            finally:
                self._remove(temp)
            self.disk.sync_folder(place.parent)

    def move(self, place: Path, target: Path, *, shown: str) -> None:
        """Give a file another name, folders included, never over another one: LostRace."""
        with disk_errors(shown):
            self.disk.make_folders(target.parent)
            if _same_file(place, target):
                # another spelling of one name, on a disk that takes both for the same
                self.disk.rename_over(place, target)
            else:
                self._rename_new(place, target, shown)
            self.disk.sync_folder(target.parent)
            if place.parent != target.parent:
                self.disk.sync_folder(place.parent)

    def remove(self, place: Path, *, shown: str) -> None:
        """Remove a file for good."""
        with disk_errors(shown):
            self._patient(lambda: self.disk.unlink(place))
            self.disk.sync_folder(place.parent)

    def _writable_status(self, place: Path, expected: str, shown: str) -> os.stat_result:
        if checksum(self.disk.read(place)) != expected:
            raise LostRace(shown)
        status = self.disk.status(place)
        # asked of the mode, not of the system, which lets the superuser write everything
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise UnwritableNote(shown, "the file is read-only")
        if status.st_nlink > 1:
            # usual in vaults with hard-linked snapshots, and there parting is what keeps the snapshot
            _LOG.info("%s has %d hard links; the write parts it from the others", shown, status.st_nlink)
        if not os.access(place, os.W_OK):
            raise UnwritableNote(shown, "the system forbids writing this file")
        return status

    def _dress(self, temp: Path, place: Path, status: os.stat_result, shown: str) -> None:
        try:
            self.disk.dress(temp, place, status)
        except PermissionError as exc:
            raise UnwritableNote(
                shown, "the file belongs to another user and group, which a write would change"
            ) from exc

    def _swap(self, temp: Path, place: Path, *, ours: str, expected: str, shown: str) -> None:
        try:
            self._patient(lambda: self.disk.exchange(temp, place))
        except OSError as exc:
            if exc.errno not in NOT_SUPPORTED:
                raise
            self._patient(lambda: self.disk.rename_over(temp, place))
            return
        if not self._untouched(temp, expected):
            self._give_way(temp, place, ours=ours)
            raise LostRace(shown)

    def _give_way(self, temp: Path, place: Path, *, ours: str) -> None:
        """A save slipped in and came out of the swap: it gets its place back, ours goes."""
        self.disk.exchange(temp, place)
        if self._untouched(temp, ours):
            return
        # a second save went over ours in the meantime: it is the newest and stays in place; the first one is kept
        self.disk.exchange(temp, place)
        for pause_s in _SHARING_PAUSES_S:
            if self.disk.open_for_writing(temp) is not True:
                break
            self.pause(pause_s)
        self.displaced(place, self.disk.read(temp))

    def _untouched(self, place: Path, expected: str) -> bool:
        # a writer is asked for first: one that has closed meanwhile shows in the bytes
        return self.disk.open_for_writing(place) is not True and checksum(self.disk.read(place)) == expected

    def _rename_new(self, one: Path, other: Path, shown: str) -> None:
        try:
            self._patient(lambda: self._exclusive_rename(one, other))
        except FileExistsError as exc:
            raise LostRace(shown) from exc

    def _exclusive_rename(self, one: Path, other: Path) -> None:
        try:
            self.disk.rename_new(one, other)
            return
        except OSError as exc:
            if exc.errno not in NOT_SUPPORTED:
                raise
        try:
            self.disk.link(one, other)
        except OSError as exc:
            if exc.errno not in NOT_SUPPORTED | {errno.EPERM}:
                raise
            # neither exclusive renames nor links: FAT and the like; look, then rename
            if os.path.lexists(other):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(other)) from exc
            self.disk.rename_over(one, other)
        else:
            self.disk.unlink(one)

    def _patient(self, step: Callable[[], None]) -> None:
        """Run a step; where Windows says that another program has the file open, a few times over 0.8 s."""
        for pause_s in _SHARING_PAUSES_S:
            try:
                return step()
            except PermissionError as exc:
                if getattr(exc, "winerror", None) not in _SHARING_WINERRORS:
                    raise
                self.pause(pause_s)
        return step()

    def _remove(self, temp: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.disk.unlink(temp)


def _temp_beside(place: Path, raw: bytes, expected: str | None) -> Path:
    old = _NO_OLD if expected is None else expected[:16]
    return place.with_name(f".vaultd-{checksum(raw)[:16]}{old}{secrets.token_hex(4)}.tmp")


def _default_mode() -> int:
    return 0o666 & ~_UMASK


def _read_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


# read once at import, since reading means setting, and that concerns every thread
_UMASK: Final = _read_umask()


def _same_file(one: Path, other: Path) -> bool:
    """Whether two spellings (case, NFC and NFD) name one file, as on macOS and Windows."""
    spelled = [unicodedata.normalize("NFC", place.name).casefold() for place in (one, other)]
    try:
        return one != other and spelled[0] == spelled[1] and one.samefile(other)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary file that a crash left behind. `raw` is set where its text is neither the old nor the new version."""

    place: Path
    raw: bytes | None


def remove_leftovers(root: Path, *, displaced: Callable[[Path, bytes], None] | None = None) -> tuple[Leftover, ...]:
    """Remove the temporary files of writes that a crash cut short, everywhere below `root`; to be called at start.

    Such a file holds the new version, a start of it, or the old version. Should it ever hold a third text, `displaced`
    receives it first.
    """
    found = (_cleared(place, displaced) for place in leftovers(root))
    return tuple(leftover for leftover in found if leftover is not None)


def leftovers(root: Path) -> Iterator[Path]:
    """The temporary files below `root`, those of writes that are under way among them."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_WALKED]
        for name in files:
            if TEMP_NAME.fullmatch(name) or PART_NAME.fullmatch(name):
                yield Path(folder, name)


def _cleared(place: Path, displaced: Callable[[Path, bytes], None] | None) -> Leftover | None:
    match = TEMP_NAME.fullmatch(place.name)
    try:
        raw = place.read_bytes()
        known = match is None or checksum(raw)[:16] in (match["new"], match["old"])
        if not known and displaced is not None:
            displaced(place, raw)
        place.unlink()
    except OSError as exc:
        # it harms nobody where it lies, and the next start tries again
        _LOG.warning("%s can't be removed: %s", place, exc)
        return None
    return Leftover(place, None if known else raw)
