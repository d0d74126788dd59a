"""Words to the service manager that started us: systemd's notification protocol, sd_notify(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] | None = None) -> bool:
    """Send a state such as `READY=1`; False where no manager listens, or it cannot be told."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(state.encode(), address)
    except OSError:
        return False
    return True


def watchdog_s(environ: Mapping[str, str] | None = None, pid: int | None = None) -> float | None:
    """How often the manager wants to hear `WATCHDOG=1`, in seconds: half of its patience. None where it does not."""
    given = os.environ if environ is None else environ
    wanted, of = given.get("WATCHDOG_USEC", ""), given.get("WATCHDOG_PID", "")
    if not wanted.isdigit() or (of and of != str(os.getpid() if pid is None else pid)):
        return None
    return int(wanted) / 2_000_000 or None
