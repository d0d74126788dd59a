"""Starting the daemon for a client that found none: one daemon, however many clients ask at the same instant."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

if TYPE_CHECKING:  # importing the settings costs a third of the bridge's whole start
    from vaultd.config.runtime import Runtime

START_TIMEOUT_S: Final = 60.0
ALREADY_SERVED: Final = 0
"""Exit code of a daemon that found another one serving the vault, or that was told to end while it was starting."""

_POLL_S: Final = 0.05
_SPAWN_AGAIN_AFTER_S: Final = 2.0
_LONGEST_LOG_BYTES: Final = 4 * 1024 * 1024
_PATH_VARIABLES: Final = ("VAULTD_CONFIG", "VAULTD_STATE_DIR", "VAULTD_VAULT", "OMBRE_BUCKETS_DIR")
_TRANSPORT_VARIABLES: Final = ("VAULTD_TRANSPORT", "OMBRE_TRANSPORT")


_T = TypeVar("_T")


class DaemonDown(Exception):
    """No daemon serves the vault, and none could be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """How to start the daemon of one vault. `start` is what the bridge calls."""

    command: Sequence[str]
    find: Callable[[], Runtime | None]
    """The daemon that answers now; may block for a moment."""

    lock_path: Path
    """Held while starting, so that twenty clients do not load twenty daemons of which nineteen give up."""

    log_path: Path
    """What the daemon prints; mode 0600, since it prints a login link."""

    environ: Mapping[str, str]
    timeout_s: float = START_TIMEOUT_S

    async def start(self) -> Runtime:
        """Start the daemon, or wait for the one that another client is starting. Raises DaemonDown."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_s
        with _StartLock(self.lock_path) as lock:
            spawned: _Spawned | None = None
            while True:
                ours = lock.take()
                runtime = await off_loop(self.find)
                if runtime is not None:
                    return runtime
                if not ours:
                    pass  # another client is starting it
                elif spawned is None:
                    spawned = _spawn(self.command, log_path=self.log_path, environ=self.environ, now_s=loop.time())
                elif (code := spawned.process.poll()) is not None:
                    if code != ALREADY_SERVED:
                        raise DaemonDown(self._failure(f"vaultd ended with exit code {code} while it was starting"))
                    if loop.time() - spawned.at_s > _SPAWN_AGAIN_AFTER_S:
                        spawned = None  # the one that was there may have been closing
                if loop.time() > deadline:
                    raise DaemonDown(self._failure(f"vaultd did not answer within {self.timeout_s:.0f} s"))
                await asyncio.sleep(_POLL_S)

    def _failure(self, what: str) -> str:
        last = _last_line(self.log_path)
        return f"{what}{f': {last}' if last else ''} (log: {self.log_path})"


async def off_loop(work: Callable[[], _T]) -> _T:
    """The result of a function that may block, from a thread that the end of the process does not wait for."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_T] = loop.create_future()

    def settle(value: _T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(cast("_T", value))

    def run() -> None:
        value: _T | None = None
        error: BaseException | None = None
        try:
            value = work()
        except BaseException as exc:  # noqa: BLE001 - handed on to the caller, whatever it is
            error = exc
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="off-loop", daemon=True).start()
    return await result


def serve_command(vault: Path, *, config: Path | None = None) -> list[str]:
    """The command line that serves this vault in another process."""
    # nobody looks when this one starts: where the port is taken, another one serves as well
    options = ["--vault", str(vault.absolute()), "--any-port", "--if-needed"]
    if config is not None:
        options += ["--config", str(config.absolute())]
    # -P: a module that happens to lie in the working folder must not take the place of another
    return [sys.executable, "-P", "-m", "vaultd", "serve", *options]


def launcher_of(vault: Path, state_dir: Path | None, *, config: Path | None, environ: Mapping[str, str]) -> Launcher:
    """How to start the daemon of this vault. `config`: the settings file that it must read."""
    from vaultd.config.paths import log_file, state_folder
    from vaultd.config.runtime import find_daemon

    folder = state_folder(vault, state_dir)
    return Launcher(
        command=serve_command(vault, config=config),
        find=lambda: find_daemon(vault, state_dir),
        lock_path=folder / "start.lock",
        log_path=log_file(folder),
        environ=environ,
    )


@dataclass(frozen=True, slots=True)
class _Spawned:
    process: subprocess.Popen[bytes]
    at_s: float


def _spawn(command: Sequence[str], *, log_path: Path, environ: Mapping[str, str], now_s: float) -> _Spawned:
    process: subprocess.Popen[bytes] | None = None
    for flags in _creation_flags():
        try:
            process = _open_process(command, log_path=log_path, environ=environ, flags=flags)
            break
        except PermissionError:
            continue  # this client's job lets nothing out
        except OSError as exc:
            raise DaemonDown(f"vaultd cannot be started: {exc}") from exc
    if process is None:
        raise DaemonDown(f"vaultd cannot be started: permission denied ({log_path}, {command[0]})")
    # a daemon that ends before we do must not stay behind as a zombie
    threading.Thread(target=process.wait, name="daemon", daemon=True).start()
    return _Spawned(process, now_s)


def _open_process(
    command: Sequence[str], *, log_path: Path, environ: Mapping[str, str], flags: int
) -> subprocess.Popen[bytes]:
    log = _open_log(log_path)
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=_home(),
            env=_environment(environ),
            # clients end the whole process group of what they started
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
    finally:
        os.close(log)


def _creation_flags() -> Sequence[int]:
    """Windows only: out of the client's console, and if it may be out of the job that ends with the client."""
    if sys.platform != "win32":
        return (0,)
    detached = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    return (detached | subprocess.CREATE_BREAKAWAY_FROM_JOB, detached)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The client's environment, made independent of its working folder, and without what is meant for the bridge."""
    result = {name: value for name, value in environ.items() if name not in _TRANSPORT_VARIABLES}
    for name in _PATH_VARIABLES:
        value = result.get(name, "")
        if value and not value.startswith("~"):
            result[name] = str(Path(value).absolute())
    package_home = Path(__file__).resolve().parents[3]
    if package_home.name not in ("site-packages", "dist-packages"):  # run from a checkout
        result["PYTHONPATH"] = os.pathsep.join(filter(None, (str(package_home), result.get("PYTHONPATH", ""))))
    return result


def _home() -> str:
    """A working folder that nobody wants to move or unmount."""
    try:
        home = Path.home()
    except RuntimeError:
        return os.sep
    return str(home) if home.is_dir() else os.sep


def _open_log(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        if path.stat().st_size > _LONGEST_LOG_BYTES:
            path.replace(path.with_name(path.name + ".1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


class _StartLock:
    """A lock between processes; it is given back at the end of the context, or of the process."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as exc:
            raise DaemonDown(f"vaultd cannot be started: {exc}") from exc
        self._held = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.close(self._descriptor)

    def take(self) -> bool:
        """Whether this process has the lock now; does not wait."""
        self._held = self._held or _try_lock(self._descriptor)
        return self._held


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
