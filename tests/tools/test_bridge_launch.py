from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultd.config.runtime import Runtime, is_alive
from vaultd.tools.bridging.launch import DaemonDown, Launcher, off_loop, serve_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")

# A stand-in for the daemon: it takes the lock or ends with code 0, and leaves a runtime file after a while.
DAEMON = """
import fcntl, json, os, sys, time
folder, delay_s, code = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
with open(f"{folder}/starts", "a") as file:
    file.write(f"{os.getpid()}\\n")
print("a line about the start", flush=True)
if code:
    print("vault.path: no such folder", file=sys.stderr)
    sys.exit(code)
lock = open(f"{folder}/lock", "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit(0)
time.sleep(delay_s)
about = {"pid": os.getpid(), "group": os.getpgid(0), "cwd": os.getcwd(), "environ": dict(os.environ)}
with open(f"{folder}/new", "w") as file:
    json.dump(about, file)
os.rename(f"{folder}/new", f"{folder}/runtime")
time.sleep(20)
"""


class Place:
    """A folder in which stand-ins are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def about(self) -> dict | None:
        try:
            return json.loads((self.folder / "runtime").read_text())
        except FileNotFoundError:
            return None

    def find(self) -> Runtime | None:
        about = self.about()
        if about is None or not is_alive(about["pid"]):
            return None
        return Runtime(about["pid"], "http://127.0.0.1:1", 1, "token", "/vault", "now")

    def launcher(self, *, delay_s: float = 0.0, code: int = 0, timeout_s: float = 10.0, **environ: str) -> Launcher:
        return Launcher(
            command=[sys.executable, "-S", "-c", DAEMON, str(self.folder), str(delay_s), str(code)],
            find=self.find,
            lock_path=self.folder / "state" / "start.lock",
            log_path=self.folder / "state" / "daemon.log",
            environ={**os.environ, **environ},
            timeout_s=timeout_s,
        )

    @property
    def started(self) -> list[int]:
        try:
            return [int(line) for line in (self.folder / "starts").read_text().split()]
        except FileNotFoundError:
            return []

    def kill_all(self) -> None:
        for pid in self.started:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.kill_all()


async def test_a_daemon_that_is_there_is_not_started_again(place):
    first = await place.launcher().start()

    again = await place.launcher().start()

    assert again.pid == first.pid
    assert place.started == [first.pid]


async def test_the_daemon_is_detached_from_its_client(place):
    runtime = await place.launcher().start()

    about = place.about()
    assert about is not None
    assert about["group"] == runtime.pid
    assert about["cwd"] == str(Path.home())


async def test_many_at_the_same_instant_start_one(place):
    runtimes = await asyncio.gather(*(place.launcher(delay_s=0.2).start() for _ in range(8)))

    assert len({runtime.pid for runtime in runtimes}) == 1
    assert len(place.started) == 1


async def test_a_client_that_is_stopped_while_starting_leaves_the_start_to_the_next(place):
    starting = asyncio.create_task(place.launcher(delay_s=0.3).start())
    while not place.started:
        await asyncio.sleep(0.01)
    starting.cancel()

    runtime = await place.launcher(delay_s=0.3).start()

    assert runtime.pid == place.started[0]


async def test_a_daemon_that_was_closing_is_followed_by_a_new_one(place):
    """The first try finds the lock still held, by a daemon that is about to end."""
    import fcntl

    with (place.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        starting = asyncio.create_task(place.launcher().start())
        while not place.started:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
    runtime = await starting

    assert len(place.started) >= 2
    assert runtime.pid == place.started[-1]


async def test_a_daemon_that_cannot_start_says_why(place):
    with pytest.raises(DaemonDown) as caught:
        await place.launcher(code=1).start()

    assert str(caught.value) == (
        "vaultd ended with exit code 1 while it was starting: vault.path: no such folder "
        f"(log: {place.folder / 'state' / 'daemon.log'})"
    )


async def test_a_daemon_that_does_not_answer_in_time_is_given_up(place):
    with pytest.raises(DaemonDown, match=r"did not answer within 0 s: a line about the start"):
        await place.launcher(delay_s=20, timeout_s=0.3).start()


async def test_a_command_that_is_not_there_is_an_error(place):
    launcher = Launcher(
        command=["/no/such/program"],
        find=lambda: None,
        lock_path=place.folder / "start.lock",
        log_path=place.folder / "daemon.log",
        environ={},
    )

    with pytest.raises(DaemonDown, match=r"cannot be started: .*No such file"):
        await launcher.start()


async def test_a_state_folder_that_cannot_be_made_is_an_error(place):
    (place.folder / "state").write_text("a file")

    with pytest.raises(DaemonDown, match="cannot be started"):
        await place.launcher().start()


async def test_a_daemon_that_ends_leaves_no_zombie(place):
    runtime = await place.launcher().start()

    os.kill(runtime.pid, signal.SIGKILL)

    deadline = time.monotonic() + 5
    while is_alive(runtime.pid):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_the_log_is_the_owners_and_does_not_grow_for_ever(place):
    log = place.folder / "state" / "daemon.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * (5 * 1024 * 1024))

    await place.launcher().start()

    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text() == "a line about the start\n"
    assert (log.parent / "daemon.log.1").stat().st_size == 5 * 1024 * 1024


async def test_the_environment_is_independent_of_the_clients_folder(place, monkeypatch):
    monkeypatch.chdir(place.folder)

    await place.launcher(
        VAULTD_CONFIG="config.yaml", VAULTD_STATE_DIR="~/state", VAULTD_TRANSPORT="stdio", VAULTD_TOKEN="t"
    ).start()

    about = place.about()
    assert about is not None
    environ = about["environ"]
    assert environ["VAULTD_CONFIG"] == str(place.folder / "config.yaml")
    assert environ["VAULTD_STATE_DIR"] == "~/state"
    assert environ["VAULTD_TOKEN"] == "t"
    assert "VAULTD_TRANSPORT" not in environ


def test_the_command_serves_this_vault_with_this_python(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    command = serve_command(Path("my notes"), config=Path("c.yaml"))

    assert command[0] == sys.executable
    assert command[-8:] == [
        "vaultd",
        "serve",
        "--vault",
        str(tmp_path / "my notes"),
        "--any-port",
        "--if-needed",
        "--config",
        str(tmp_path / "c.yaml"),
    ]


async def test_work_off_the_loop_gives_its_result_or_its_error():
    assert await off_loop(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await off_loop(lambda: 1 // 0)
