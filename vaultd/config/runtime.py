"""Who serves a vault on this machine: the runtime file that a daemon leaves for the other commands, and the token."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vaultd.config.files import read_text, write_text
from vaultd.config.paths import holder_file, lock_file, runtime_file, state_folder, token_file

HEALTH_TIMEOUT_S: Final = 2.0
TOKEN_BYTES: Final = 32

# of the Windows API
_SYNCHRONIZE: Final = 0x100000
_ACCESS_DENIED: Final = 5
_WAIT_TIMEOUT: Final = 258


@dataclass(frozen=True, slots=True)
class Runtime:
    """A running daemon. `url` has no slash at its end; `started` is ISO 8601 with offset."""

    pid: int
    url: str
    port: int
    token: str
    vault: str
    started: str


def write_runtime(folder: Path, runtime: Runtime) -> None:
    """Tell the other commands who serves the vault of this state folder. Raises SettingsError."""
    text = json.dumps(dataclasses.asdict(runtime), ensure_ascii=False, indent=1)
    write_text(runtime_file(folder), text + "\n", private=True)


def read_runtime(folder: Path) -> Runtime | None:
    """What the last daemon left; None where there is nothing usable. It may have ended without tidying up."""
    text = read_text(runtime_file(folder))
    try:
        found = json.loads(text or "")
        return Runtime(
            pid=int(found["pid"]),
            url=str(found["url"]),
            port=int(found["port"]),
            token=str(found["token"]),
            vault=str(found["vault"]),
            started=str(found["started"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def remove_runtime(folder: Path, pid: int) -> None:
    """Take the runtime file away, if it is still the one of this process."""
    left = read_runtime(folder)
    if left is not None and left.pid == pid:
        runtime_file(folder).unlink(missing_ok=True)


def find_daemon(vault: Path, state_dir: Path | None = None) -> Runtime | None:
    """The daemon that serves this vault: its process lives and its /health answers. None where none does."""
    left = read_runtime(state_folder(vault, state_dir))
    if left is None or not is_alive(left.pid) or not _answers(left):
        return None
    return left


@contextlib.contextmanager
def named_as_holder(folder: Path) -> Iterator[None]:
    """Tell the other commands that this process holds the lock of this state folder. Raises SettingsError."""
    place = holder_file(folder)
    write_text(place, f"{os.getpid()}\n", private=True)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)


def lock_holder(folder: Path) -> int | None:
    """The process that holds the lock of this state folder: it serves, or is starting or ending. None where none does."""
    try:
        pid = int(read_text(holder_file(folder)) or "")
    except ValueError:
        return None
    if not is_alive(pid):
        return None
    from filelock import FileLock  # only where there may be one

    try:
        with FileLock(lock_file(folder)).acquire(timeout=0):
            return None  # it was killed, and its number is another program's now
    except OSError:  # it is held, or another user's
        return pid


def is_alive(pid: int) -> bool:
    """True where a process with this number runs, or where that cannot be told."""
    if pid <= 0:
        return False
    if sys.platform == "win32":  # os.kill(pid, 0) ends the process there
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _is_alive_on_windows(pid: int) -> bool:
    import ctypes

    if sys.platform != "win32":  # tells mypy where the next lines are right
        return True

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
    if not handle:
        return ctypes.get_last_error() == _ACCESS_DENIED  # another user's
    try:
        return bool(kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0) == _WAIT_TIMEOUT)
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def keep_token(folder: Path) -> str:
    """The token of this vault's state folder, made at the first call. Raises SettingsError."""
    kept = (read_text(token_file(folder)) or "").strip()
    if kept:
        return kept
    return make_token(folder)


def make_token(folder: Path) -> str:
    """A new token in the place of the old one; a running daemon goes on with the old until it is started again."""
    import secrets

    made = secrets.token_urlsafe(TOKEN_BYTES)
    write_text(token_file(folder), made + "\n", private=True)
    return made


def _answers(runtime: Runtime) -> bool:
    parts = urlsplit(runtime.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        health = json.loads(answer.read(65536))
        return (
            answer.status == http.client.OK
            and health.get("status") == "ok"
            and health.get("pid", runtime.pid) == runtime.pid  # the port may have passed to another vault's daemon
        )
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return False
    finally:
        connection.close()
