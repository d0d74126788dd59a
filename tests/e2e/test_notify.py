"""What systemd hears of a daemon that it started."""

import contextlib
import socket
import sys
import time

import pytest

from tests.e2e.daemon import serving

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's"),
]


def test_the_manager_hears_that_it_is_ready_that_it_lives_and_that_it_stops(tmp_path):
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0.2)

        def listen_until(word: str, timeout_s: float) -> None:
            deadline = time.monotonic() + timeout_s
            while not any(word in said for said in heard) and time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    heard.append(manager.recv(1000).decode())

        environ = {
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "1000000",
            "VAULTD_EMBEDDING__PROVIDER": "none",
        }
        with serving(tmp_path / "vault", tmp_path / "state", **environ):
            listen_until("READY=1", 30)
            listen_until("WATCHDOG=1", 30)
        listen_until("STOPPING=1", 5)

    assert heard[0].startswith("READY=1\nSTATUS=serves ")
    assert "WATCHDOG=1" in heard
    assert heard[-1] == "STOPPING=1"
