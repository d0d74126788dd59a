"""The command line against a real daemon, each command a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_S = 60.0


class Account:
    """A person's account on a machine: a home folder and a command line."""

    def __init__(self, home: Path) -> None:
        self.home = home
        own = {name: value for name, value in os.environ.items() if not name.startswith(("VAULTD_", "OMBRE_", "XDG_"))}
        paths = {"HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.environ = own | paths | {"VAULTD_EMBEDDING__PROVIDER": "none"}  # words are enough here, and there at once
        self.config = home / "demo" / "config.yaml"

    def start(self, *args: str) -> subprocess.Popen[str]:
        """`vaultd demo`, in the foreground of a terminal that is not there."""
        command = [sys.executable, "-m", "vaultd", *args]
        return subprocess.Popen(
            command, cwd=self.home, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Another command about the demo's vault, to its end."""
        return self.run_plain(*args, "--config", str(self.config))

    def run_plain(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Another command, to its end."""
        command = [sys.executable, "-m", "vaultd", *args]
        return subprocess.run(
            command, cwd=self.home, env=self.environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )


@pytest.fixture
def account(tmp_path) -> Account:
    return Account(tmp_path)


@pytest.fixture
def demo(account) -> Iterator[subprocess.Popen[str]]:
    process = account.start("demo", "demo", "--port", "0")
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any("/mcp" in line for line in lines), "the daemon ended before it served"
    yield process
    process.kill()
    process.wait(PATIENCE_S)
    process.stdout.close()


def ready(account: Account) -> dict[str, object]:
    """The status once the first index is done; each try is a process, which paces the tries."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found: dict[str, object] = json.loads(account.run("status", "--json").stdout or "{}")
        if found.get("ready"):
            return found
    raise AssertionError("the index was not ready in time")


def test_commands_find_the_daemon_and_ctrl_c_ends_it(account, demo):
    found = ready(account)

    assert found["pid"] == demo.pid
    assert found["vault"] == str(account.home / "demo" / "vault")
    assert found["url"] == f"http://127.0.0.1:{found['port']}"
    assert int(str(found["notes"])) >= 60
    assert account.run("token", "--link").stdout.startswith(f"{found['url']}/")
    assert account.run("config", "client", "cursor", "--http").stdout.count(str(found["url"])) == 1

    demo.send_signal(signal.SIGINT)

    assert demo.wait(PATIENCE_S) == 0
    after = account.run("status")
    assert after.returncode == 1
    assert after.stderr.startswith("vaultd: no daemon serves ")


def test_second_daemon_says_where_the_first_is(account, demo):
    url = json.loads(account.run("status", "--json").stdout)["url"]

    second = account.run("serve", "--port", "0")

    assert second.returncode == 1
    assert str(url) in second.stderr
    assert second.stderr.count("\n") == 1
    assert account.run("serve", "--port", "0", "--if-needed").returncode == 0


def test_stop_ends_the_daemon_however_it_was_started(account, demo):
    ready(account)

    stopped = account.run("stop")

    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert demo.wait(PATIENCE_S) == 0
    assert account.run("status").returncode == 1

    assert account.run("search", "kettle").returncode == 0  # starts one in the background
    assert account.run("status").returncode == 0
    assert account.run("stop").returncode == 0
    assert account.run("status").returncode == 1
    assert account.run("stop").stdout.startswith("no daemon serves ")


def test_stop_ends_a_daemon_of_an_earlier_version(account, demo):
    ready(account)
    (named,) = account.home.rglob("daemon.pid")
    named.unlink()  # it told its number in the runtime file alone

    stopped = account.run("stop")

    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout.endswith(f"is served no more (process {demo.pid} has ended)\n")
    assert demo.wait(PATIENCE_S) == 0


def test_a_daemon_that_is_starting_is_told_and_stopped_in_good_order(account):
    assert account.run_plain("demo", "demo", "--copy-only").returncode == 0
    starting = account.start("serve", "--port", "0", "--config", str(account.config))
    end = time.monotonic() + PATIENCE_S
    while not (found := list(account.home.rglob("daemon.pid"))) or not found[0].read_text():
        assert time.monotonic() < end
    starting.send_signal(signal.SIGSTOP)  # it is starting for as long as this test likes
    try:
        assert not list(account.home.rglob("runtime.json"))

        status = account.run("status")
        stopping = account.start("stop", "--config", str(account.config))
        after = account.run("status")
    finally:
        starting.send_signal(signal.SIGCONT)

    told = f"yet: one is starting (pid {starting.pid})\n"
    assert (status.returncode, after.returncode) == (1, 1)
    assert status.stderr.endswith(told)
    assert after.stderr.endswith(told)
    assert stopping.wait(PATIENCE_S) == 0
    assert starting.wait(PATIENCE_S) == 0
    with starting.stdout, stopping.stdout:
        assert starting.stdout.read() == ""
        assert stopping.stdout.read().endswith(f"is served no more (process {starting.pid} has ended)\n")
    assert found[0].exists() is False
    assert account.run("status").stderr.startswith("vaultd: no daemon serves ")


def test_a_session_waits_for_no_daemon_that_is_only_starting(account):
    assert account.run_plain("demo", "demo", "--copy-only").returncode == 0
    begun = time.monotonic()

    first = account.run("hook", "session-start")

    took_s = time.monotonic() - begun
    assert (first.returncode, first.stderr) == (0, "")
    assert "vaultd" in first.stdout or "===" in first.stdout  # that it is starting, or what it knows already
    assert took_s < 8
    assert ready(account)["notes"] > 0  # the daemon goes on
    assert "=== 浮现记忆 ===" in account.run("hook", "session-start").stdout
    assert account.run("stop").returncode == 0
