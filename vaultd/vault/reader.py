"""Read one note, or take stock of all: what lies in the vault now."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.core.errors import OutsideVault, UnreadableNote, VaultUnavailable
from vaultd.core.note import FileStamp, Note, NotePath, NoteProblem
from vaultd.vault import sync
from vaultd.vault.codec import decode
from vaultd.vault.layout import Layout

MAX_NOTE_BYTES: Final = 10 * 1024 * 1024
_READ_TRIES: Final = 3
_GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))
_TOO_LARGE: Final = f"larger than {MAX_NOTE_BYTES // 2**20} MiB: skipped"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the vault that is not read, and why. `still_there`: it is a note that must not count as deleted."""

    path: NotePath
    reason: str
    still_there: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """The vault's stock: a stamp for every note, what was skipped, how many folders were walked."""

    stamps: dict[NotePath, FileStamp]
    skipped: tuple[Skipped, ...]
    directories: int

    def hides(self, path: str) -> bool:
        """Whether a path that is not among the stamps may still exist: evicted, or in a folder we may not read."""
        return any(
            skipped.still_there and (path == skipped.path or path.startswith(skipped.path + "/"))
            for skipped in self.skipped
        )


def stamp_of(status: os.stat_result) -> FileStamp:
    """The stamp of a file's status. Windows tells no inode while listing a folder, so there it is 0."""
    return FileStamp(status.st_size, status.st_mtime_ns, 0 if os.name == "nt" else status.st_ino)


class VaultReader:
    """Reads notes; never writes. Paths are those of the vault."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def read(self, path: NotePath) -> Note | None:
        """The note at `path`; None if no file is there. A note that can't be read has its `problem` set.

        A note over 10 MiB, or whose content lies in a cloud only, is not read: its checksum is empty.
        """
        try:
            place = self._layout.absolute(path)
            if self._behind_a_link(place):
                return None
            status = place.stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            reason = _TOO_LARGE if status.st_size > MAX_NOTE_BYTES else "its content is in the cloud only"
            if status.st_size > MAX_NOTE_BYTES or sync.is_dataless(status):
                return _unread(path, status, reason)
            raw, status = _read_whole(place)
        except OutsideVault:
            return None
        except OSError as exc:
            if exc.errno in _GONE:
                return None
            return _unread(path, None, os.strerror(exc.errno) if exc.errno else str(exc))
        return decode(path, raw, stamp_of(status))

    def read_bytes(self, path: NotePath) -> bytes | None:
        """The bytes at `path`; None if no file is there. Raises UnreadableNote, OutsideVault."""
        place = self._layout.absolute(path)
        try:
            return _read_whole(place)[0]
        except IsADirectoryError:
            return None
        except OSError as exc:
            if exc.errno in _GONE:
                return None
            raise UnreadableNote(path, os.strerror(exc.errno) if exc.errno else str(exc)) from exc

    def stamp(self, path: NotePath) -> FileStamp | None:
        """The stamp of the file at `path`; None if no regular file is there."""
        try:
            place = self._layout.absolute(path)
            if self._behind_a_link(place):
                return None
            status = place.stat()
        except (OSError, OutsideVault):
            return None
        return stamp_of(status) if stat.S_ISREG(status.st_mode) else None

    def _behind_a_link(self, place: Path) -> bool:
        """Whether a link leads there: what it leads to inside the vault is found where it lies."""
        return os.path.realpath(place.parent) != str(place.parent) or place.is_symlink()

    def scan(self) -> Scan:
        """Take stock of the whole vault. Raises VaultUnavailable if its root can't be listed.

        Links are not followed: what they lead to inside the vault is found where it lies, and nothing outside is read.
        """
        walk = _Walk(self._layout)
        walk.run()
        return Scan(walk.stamps, tuple(walk.skipped), walk.directories)

    def below(self, folder: str) -> list[NotePath]:
        """The notes in one folder and below it; none where it is gone or can't be listed."""
        walk = _Walk(self._layout)
        try:
            walk.run(folder)
        except VaultUnavailable:
            return []
        return list(walk.stamps)


class _Walk:
    """One walk over the vault."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.stamps: dict[NotePath, FileStamp] = {}
        self.skipped: list[Skipped] = []
        self.directories = 0
        self._names_by_key: dict[str, NotePath] = {}

    def run(self, start: str = "") -> None:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._layout.root / folder) as entries:
                    # sorted, so that two spellings of one name always give the same one
                    for entry in sorted(entries, key=lambda entry: entry.name):
                        waiting.extend(self._look(folder, entry))
                self.directories += 1
            except OSError as exc:
                self._unlisted(folder, exc)

    def _unlisted(self, folder: str, exc: OSError) -> None:
        reason = os.strerror(exc.errno) if exc.errno else str(exc)
        if not folder:
            raise VaultUnavailable(
                f"the vault {self._layout.root} can't be read: {reason}; is its disk there?"
            ) from exc
        if exc.errno not in _GONE:
            self.skipped.append(Skipped(NotePath(folder), f"the folder can't be read: {reason}", still_there=True))

    def _look(self, folder: str, entry: os.DirEntry[str]) -> Iterator[str]:
        """Take one entry in; yields it if it is a folder to walk."""
        name = entry.name
        path = f"{folder}/{name}" if folder else name
        if entry.is_symlink() or _is_junction(entry):
            self._skip_link(path, entry)
        elif entry.is_dir(follow_symlinks=False):
            if not self._layout.is_ignored_dir(path):
                yield path
        elif name.startswith("."):
            self._skip_evicted(folder, name)
        elif name[-3:].lower() == ".md":
            self._take(path, entry)

    def _take(self, path: str, entry: os.DirEntry[str]) -> None:
        if not self._layout.is_note_name(entry.name):
            original = sync.conflict_original(path)
            if original is not None:
                self.skipped.append(Skipped(NotePath(path), f"a sync tool's conflict copy of {original}"))
            return
        if self._layout.is_excluded_file(path):
            return
        try:
            path.encode()
            status = entry.stat(follow_symlinks=False)
        except UnicodeEncodeError:
            shown = path.encode("utf-8", "backslashreplace").decode()
            self.skipped.append(Skipped(NotePath(shown), "the file name is not UTF-8"))
            return
        except OSError as exc:
            if exc.errno not in _GONE:
                self.skipped.append(Skipped(NotePath(path), os.strerror(exc.errno or 0), still_there=True))
            return
        if not stat.S_ISREG(status.st_mode):
            self.skipped.append(Skipped(NotePath(path), "not a regular file"))
        elif status.st_size > MAX_NOTE_BYTES:
            self.skipped.append(Skipped(NotePath(path), _TOO_LARGE))
        elif sync.is_dataless(status):
            self.skipped.append(Skipped(NotePath(path), "its content is in the cloud only", still_there=True))
        else:
            self._keep(NotePath(path), stamp_of(status))

    def _keep(self, path: NotePath, stamp: FileStamp) -> None:
        if not path.isascii():
            twin = self._names_by_key.setdefault(unicodedata.normalize("NFC", path), path)
            if twin != path:
                self.skipped.append(Skipped(path, f"the same name as {twin}, spelled with other code points"))
                return
        self.stamps[path] = stamp

    def _skip_link(self, path: str, entry: os.DirEntry[str]) -> None:
        name = entry.name
        if name.startswith(".") or self._layout.is_ignored_dir(path) or self._layout.is_excluded_file(path):
            return
        try:
            target = Path(os.path.realpath(entry.path, strict=True))
            folder = target.is_dir()
        except OSError as exc:
            reason = "a link that leads to itself" if exc.errno == errno.ELOOP else "a link that leads nowhere"
            self.skipped.append(Skipped(NotePath(path), reason))
            return
        if not folder and not self._layout.is_note_name(name):
            return
        if target != self._layout.root and not target.is_relative_to(self._layout.root):
            reason = "a link that leads out of the vault: not read"
        else:
            reason = "a link inside the vault: read where it leads"
        self.skipped.append(Skipped(NotePath(path), reason))

    def _skip_evicted(self, folder: str, name: str) -> None:
        original = sync.evicted_original(name)
        if original is not None and self._layout.is_note_name(original):
            path = f"{folder}/{original}" if folder else original
            self.skipped.append(Skipped(NotePath(path), "evicted by iCloud: its content is not here", still_there=True))


def _is_junction(entry: os.DirEntry[str]) -> bool:
    if os.name != "nt":
        return False
    attributes = getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
    return bool(attributes == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1))


def _read_whole(place: Path) -> tuple[bytes, os.stat_result]:
    """Bytes and status that belong together; after three tries under a busy writer, the last ones."""
    for _ in range(_READ_TRIES):
        with place.open("rb") as file:
            before = os.fstat(file.fileno())
            raw = file.read()
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) == (len(raw), after.st_mtime_ns):
            break
    return raw, after


def _unread(path: NotePath, status: os.stat_result | None, reason: str) -> Note:
    stamp = FileStamp(0, 0, 0) if status is None else stamp_of(status)
    return Note(path, {}, "", "", stamp, NoteProblem(reason))
