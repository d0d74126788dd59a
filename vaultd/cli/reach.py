"""The daemon for commands that cannot do without: found, or started where none runs, and waited for until it is ready."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import vault_of
from vaultd.cli.output import note, progress
from vaultd.config.loading import Loaded
from vaultd.config.runtime import Runtime, find_daemon
from vaultd.core.errors import VaultdError

READY_TIMEOUT_S: Final = 600.0
STUCK_S: Final = 30.0  # without a step forward, while the daemon names a problem
LONG_S: Final = 600.0  # for requests that ask a model, or go over the whole vault
_LOOK_EVERY_S: Final = 0.1


class NotReady(VaultdError):
    """The daemon is there, but its index is not."""


def reach(loaded: Loaded, *, timeout_s: float = LONG_S) -> DaemonClient:
    """A client of the vault's daemon, whose index is ready; started where none runs. Raises VaultdError."""
    client = DaemonClient(found_or_started(loaded), timeout_s=timeout_s)
    wait_until_ready(client)
    return client


def found_or_started(loaded: Loaded, *, quiet: bool = False) -> Runtime:
    """The vault's daemon, started where none runs. Raises VaultdError, in one line that names the log."""
    settings = loaded.settings
    vault = vault_of(settings)
    found = find_daemon(vault, settings.state_dir)
    if found is not None:
        return found
    if not vault.is_dir():
        raise VaultdError(f"the vault {vault} is not a folder; name one with --vault DIR, or make it: vaultd init")
    if not quiet:
        note(f"Starting vaultd for {vault}; it goes on in the background")
    import asyncio  # only a start needs it

    from vaultd.tools.bridging.launch import DaemonDown, launcher_of

    config = loaded.path if loaded.exists else None
    launcher = launcher_of(vault, settings.state_dir, config=config, environ=os.environ)
    try:
        return asyncio.run(launcher.start())
    except DaemonDown as exc:
        raise VaultdError(str(exc)) from exc


def wait_until_ready(
    client: DaemonClient,
    *,
    timeout_s: float = READY_TIMEOUT_S,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Until the first look through the vault is over; shows how far it is. Raises NotReady, DaemonError."""
    status = client.get("/api/status")
    if _is_ready(status):
        return
    begun = moved = clock()
    with progress("Indexing", _total(status)) as update:
        while not _is_ready(status):
            problem = status.get("index_problem")
            if problem and clock() - moved > STUCK_S:
                raise NotReady(f"the index is not ready: {problem}")
            if clock() - begun > timeout_s:
                raise NotReady(f"the index is not ready after {timeout_s:.0f} s; see `vaultd status`")
            done = int(status.get("notes") or 0)
            update(done)
            pause(_LOOK_EVERY_S)
            status = client.get("/api/status")
            moved = clock() if int(status.get("notes") or 0) != done else moved


def _is_ready(status: Mapping[str, Any]) -> bool:
    if status.get("vault_available") is False:
        raise NotReady("the vault is not available; see `vaultd status`")
    return bool(status.get("ready"))


def _total(status: Mapping[str, Any]) -> int | None:
    total = status.get("total")
    return int(total) if total else None
