"""`vaultd stop`"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Final

import click

from vaultd.cli.options import load_settings, state_of, vault_of, vault_options
from vaultd.cli.output import Failure, say
from vaultd.config.runtime import find_daemon, is_alive, lock_holder, read_runtime

LONGEST_S: Final = 20.0  # calls under way are answered, and what is in memory is written
_LAST_STEPS_S: Final = 2.0  # of a process that serves no more
_LOOK_EVERY_S: Final = 0.05


@click.command()
@vault_options
def stop(config: Path | None, vault: Path | None) -> None:
    """Stop the daemon of the vault, however it was started, even while it is still starting.

    Calls under way are answered first. Clients that start a daemon when they need one go on doing so;
    a service starts it again at the next login.

    \b
    Examples:
      vaultd stop
      vaultd stop --vault ~/Notes
    """
    settings = load_settings(config, vault).settings
    vault, state = vault_of(settings), state_of(settings)
    pid = lock_holder(state)
    if pid is None and (answering := find_daemon(vault, settings.state_dir)) is not None:
        pid = answering.pid  # of an earlier version, which did not name itself as the holder
    if pid is None:
        say(f"no daemon serves {vault}")
        return
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it was ending already
    except PermissionError as exc:
        raise Failure(f"the daemon (process {pid}) is another user's; only they can stop it") from exc
    if not _ended(pid, state):
        raise Failure(f"the daemon (process {pid}) has not ended after {LONGEST_S:.0f} s; see its log")
    say(f"{vault} is served no more (process {pid} has ended)")


def _ended(pid: int, state: Path) -> bool:
    """Wait for the end of a daemon: of its process, or, where nobody reaps that, of its serving."""
    deadline = time.monotonic() + LONGEST_S
    while is_alive(pid) and time.monotonic() < deadline:
        if not _serves(pid, state):
            deadline = min(deadline, time.monotonic() + _LAST_STEPS_S)
        time.sleep(_LOOK_EVERY_S)
    return not _serves(pid, state)


def _serves(pid: int, state: Path) -> bool:
    left = read_runtime(state)
    return lock_holder(state) == pid or (left is not None and left.pid == pid and is_alive(pid))
