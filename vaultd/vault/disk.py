"""The operating system's calls behind a write, in one place: the rim where a test puts a full or a failing disk."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_LINUX_NOREPLACE: Final = 1
_LINUX_EXCHANGE: Final = 2
_MACOS_SWAP: Final = 2
_MACOS_EXCL: Final = 4
_COPYFILE_ACL_AND_XATTR: Final = 1 | 4

# what a kernel or file system says that does not know the flag
NOT_SUPPORTED: Final = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))


def _libc() -> ctypes.CDLL | None:
    if sys.platform not in ("linux", "darwin"):
        return None
    try:
        return ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None


_LIBC: Final = _libc()


class Disk:
    """Each method is one step of a write and raises what the system raises (OSError)."""

    def read(self, place: Path) -> bytes:
        """All bytes of a file."""
        return place.read_bytes()

    def status(self, place: Path) -> os.stat_result:
        """Status of a file, links followed."""
        return place.stat()

    def write_new(self, place: Path, raw: bytes) -> None:
        """Create a file that must not exist, readable by us alone, and bring its bytes to the platter."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(place, flags, 0o600)
        try:
            view = memoryview(raw)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def dress(self, place: Path, like: Path, status: os.stat_result) -> None:
        """Give a new file the owner, group, mode, extended attributes and, on macOS, creation time of the one it replaces.

        Raises PermissionError where neither owner nor group can be kept.
        """
        if sys.platform == "win32":
            return
        own = place.stat()
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            try:
                os.chown(place, status.st_uid, status.st_gid)
            except PermissionError:
                os.chown(place, -1, status.st_gid)
        _copy_attributes(like, place)
        _keep_birth(place, status)
        place.chmod(stat.S_IMODE(status.st_mode))

    def exchange(self, one: Path, other: Path) -> None:
        """Swap two files in one step. Raises OSError with an errno of NOT_SUPPORTED where that does not exist."""
        if sys.platform == "linux":
            _call_rename("renameat2", one, other, _LINUX_EXCHANGE)
        elif sys.platform == "darwin":
            _call_rename("renamex_np", one, other, _MACOS_SWAP)
        else:
            raise OSError(errno.ENOTSUP, "no exchange of files here")

    def rename_new(self, one: Path, other: Path) -> None:
        """Rename, never over another file: FileExistsError."""
        if sys.platform == "linux":
            _call_rename("renameat2", one, other, _LINUX_NOREPLACE)
        elif sys.platform == "darwin":
            _call_rename("renamex_np", one, other, _MACOS_EXCL)
        elif sys.platform == "win32":
            one.rename(other)  # refuses an existing file on Windows
        else:
            raise OSError(errno.ENOTSUP, "no exclusive rename here")

    def link(self, one: Path, other: Path) -> None:
        """A second name for a file; FileExistsError where the name is taken."""
        os.link(one, other)

    def rename_over(self, one: Path, other: Path) -> None:
        """Rename, in place of another file."""
        one.replace(other)

    def unlink(self, place: Path) -> None:
        """Remove a file."""
        place.unlink()

    def open_for_writing(self, place: Path) -> bool | None:
        """Whether any program has this file open for writing; None where the system can't tell.

        Asked of Linux by a read lease, which is granted only while there is no writer.
        """
        if sys.platform != "linux":
            return None
        import fcntl  # Windows has none

        handle = os.open(place, os.O_RDONLY)
        try:
            # a broken lease must not send SIGIO, whose default is to end the process; SIGURG's is to do nothing
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as exc:
            return True if exc.errno == errno.EAGAIN else None
        finally:
            os.close(handle)
        return False

    def sync_folder(self, folder: Path) -> None:
        """Bring a folder's entries to the platter where the system can."""
        if sys.platform == "win32":
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as exc:
            # some network and FUSE file systems know no fsync of a folder
            if exc.errno not in NOT_SUPPORTED:
                raise
        finally:
            os.close(handle)

    def make_folders(self, folder: Path) -> None:
        """Create a folder and those above it."""
        folder.mkdir(parents=True, exist_ok=True)


def _call_rename(name: str, one: Path, other: Path, flag: int) -> None:
    function = getattr(_LIBC, name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"no {name} here")
    paths = os.fsencode(one), os.fsencode(other)
    if name == "renameat2":
        failed = function(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(flag))
    else:
        failed = function(*paths, ctypes.c_uint(flag))
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(one), None, str(other))


def _keep_birth(place: Path, status: os.stat_result) -> None:
    """Give a new file the creation time of the one it replaces, where that can be set: macOS.

    There a modification time before the creation time takes the latter along; the modification time is then now again.
    """
    birth = getattr(status, "st_birthtime", None)
    if sys.platform == "darwin" and birth is not None:
        os.utime(place, (birth, birth))
        os.utime(place)


def _copy_attributes(source: Path, target: Path) -> None:
    """Extended attributes (Finder tags, access lists), as far as the system lets us."""
    if sys.platform == "darwin":
        copyfile = getattr(_LIBC, "copyfile", None)
        if copyfile is not None:
            copyfile(os.fsencode(source), os.fsencode(target), None, ctypes.c_uint32(_COPYFILE_ACL_AND_XATTR))
    elif sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))
