"""Read one note, or take stock of all: what lies in the vault now."""

from __future__ import annotations

import errno
import os
import stat
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from vaultd.core.errors import OutsideVault, UnreadableNote, VaultUnavailable
from vaultd.core.note import FileStamp, Note, NotePath, NoteProblem
from vaultd.vault import sync
from vaultd.vault.codec import body_of, checksum, decode
from vaultd.vault.layout import Layout
from vaultd.vault.mounts import is_local

MAX_NOTE_BYTES: Final = 10 * 1024 * 1024
_SETTLED_NS: Final = 2_000_000_000  # some file systems tell times in steps of two seconds
_READ_TRIES: Final = 3
_CHUNK: Final = 1 << 20
_GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO))
_HOW_TO_OPEN: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_IN_THE_CLOUD: Final = "its content is in the cloud only"
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


class Identity(NamedTuple):
    """What the directory says of a file: while it stays the same, so does what lies in the file."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


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
        found = self._found(path)
        return decode(path, *found) if isinstance(found, tuple) else found

    def body(self, path: NotePath, readable: str = "") -> str | None:
        """The body of the note at `path`, as `read` gives it; None if no file is there.

        Quicker where the note's checksum is `readable`: that of a note which was read before, without a problem.
        """
        found = self._found(path)
        if isinstance(found, tuple):
            raw, stamp = found
            return body_of(raw) if checksum(raw) == readable else decode(path, raw, stamp).body
        return None if found is None else found.body

    def _found(self, path: NotePath) -> tuple[bytes, FileStamp] | Note | None:
        """Bytes and stamp of the note at `path`, the note itself where it can't be read, None where no file is."""
        try:
            place = self._layout.named(path)
            if self._behind_a_link(path):
                return None
            raw, status = _read_whole(place)
        except OutsideVault:
            return None
        except OSError as exc:
            if exc.errno in _GONE:
                return None
            return _unread(path, None, os.strerror(exc.errno) if exc.errno else str(exc))
        if not stat.S_ISREG(status.st_mode):
            return None
        if raw is None:
            return _unread(path, status, _TOO_LARGE if status.st_size > MAX_NOTE_BYTES else _IN_THE_CLOUD)
        return raw, stamp_of(status)

    def read_bytes(self, path: NotePath) -> bytes | None:
        """The bytes at `path`; None if no file is there. Raises UnreadableNote, OutsideVault."""
        place = self._layout.absolute(path)
        try:
            return place.read_bytes()
        except IsADirectoryError:
            return None
        except OSError as exc:
            if exc.errno in _GONE:
                return None
            raise UnreadableNote(path, os.strerror(exc.errno) if exc.errno else str(exc)) from exc

    def identity(self, path: NotePath) -> Identity | None:
        """Of the regular file at `path`; None if there is none, or it was changed so lately that it may change unseen."""
        try:
            status = os.lstat(self._layout.named(path))
        except (OSError, OutsideVault):
            return None
        settled = 0 <= status.st_mtime_ns <= time.time_ns() - _SETTLED_NS
        if not settled or not stat.S_ISREG(status.st_mode):
            return None
        return Identity(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    def is_local(self) -> bool:
        """Whether the vault lies on a disk of this machine, as far as that can be told."""
        return is_local(self._layout.root)

    def stamp(self, path: NotePath) -> FileStamp | None:
        """The stamp of the file at `path`; None if no regular file is there."""
        try:
            place = self._layout.named(path)
            status = None if self._behind_a_link(path) else os.lstat(place)
        except (OSError, OutsideVault):
            return None
        return stamp_of(status) if status is not None and stat.S_ISREG(status.st_mode) else None

    def _behind_a_link(self, path: str) -> bool:
        """Whether a link leads to a file's folder: what it leads to inside the vault is found where it lies."""
        if os.name == "nt":  # junctions are no links to lstat
            folder = os.path.normpath(os.path.dirname(self._layout.named(path)))  # noqa: PTH120 – asked for every note
            return os.path.normcase(os.path.realpath(folder)) != os.path.normcase(folder)
        at = path.find("/")
        while at > 0:
            if stat.S_ISLNK(os.lstat(self._layout.named(path[:at])).st_mode):
                return True
            at = path.find("/", at + 1)
        return False

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
            self.skipped.append(Skipped(NotePath(path), _IN_THE_CLOUD, still_there=True))
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


def _read_whole(place: str) -> tuple[bytes | None, os.stat_result]:
    """Bytes and status that belong together; after three tries under a busy writer, the last ones.

    Follows no link and waits for no pipe. No bytes where it is not a regular file, too large, or in a cloud only.
    """
    for _ in range(_READ_TRIES):
        descriptor = os.open(place, _HOW_TO_OPEN)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode) or before.st_size > MAX_NOTE_BYTES or sync.is_dataless(before):
                return None, before
            raw = _read_to_the_end(descriptor, before.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if (before.st_size, before.st_mtime_ns) == (len(raw), after.st_mtime_ns):
            break
    return raw, after


def _read_to_the_end(descriptor: int, expected: int) -> bytes:
    """Usually in one go: a read that brings just what was expected was the last one, unless the file grows meanwhile."""
    raw = os.read(descriptor, expected + 1)
    while len(raw) != expected:
        more = os.read(descriptor, _CHUNK)
        if not more:
            break
        raw += more
    return raw


def _unread(path: NotePath, status: os.stat_result | None, reason: str) -> Note:
    stamp = FileStamp(0, 0, 0) if status is None else stamp_of(status)
    return Note(path, {}, "", "", stamp, NoteProblem(reason))
