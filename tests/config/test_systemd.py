import socket
import sys

import pytest

from vaultd.config.systemd import notify, watchdog_s

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="systemd is Linux's")


def test_the_manager_hears_what_we_say(tmp_path):
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        assert notify("READY=1", {"NOTIFY_SOCKET": address})
        assert manager.recv(100) == b"READY=1"


def test_without_a_manager_nothing_happens(tmp_path):
    assert not notify("READY=1", {})
    assert not notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})


def test_the_watchdog_is_fed_twice_as_often_as_it_asks():
    assert watchdog_s({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}, pid=7) == 30.0
    assert watchdog_s({"WATCHDOG_USEC": "60000000"}, pid=7) == 30.0


@pytest.mark.parametrize(
    "environ", [{}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "8"}]
)
def test_without_a_watchdog_of_ours_nothing_is_fed(environ):
    assert watchdog_s(environ, pid=7) is None
