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
from vaultd.config.runtime import find_daemon, is_alive, read_runtime

LONGEST_S: Final = 20.0  # calls under way are answered, and what is in memory is written
_LAST_STEPS_S: Final = 2.0  # of a process that serves no more
_LOOK_EVERY_S: Final = 0.05


@click.command()
@vault_options
def stop(config: Path | None, vault: Path | None) -> None:
    """Stop the daemon of the vault, however it was started.

    Calls under way are answered first. Clients that start a daemon when they need one go on doing so;
    a service starts it again at the next login.

    \b
    Examples:
      vaultd stop
      vaultd stop --vault ~/Notes
    """
    settings = load_settings(config, vault).settings
    runtime = find_daemon(vault_of(settings), settings.state_dir)
    if runtime is None:
        left = read_runtime(state_of(settings))
        if left is not None and is_alive(left.pid):
            raise Failure(
                f"process {left.pid}, which served {left.vault}, does not answer; end it with: kill {left.pid}"
            )
        say(f"no daemon serves {vault_of(settings)}")
        return
    try:
        os.kill(runtime.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it was ending already
    except PermissionError as exc:
        raise Failure(f"the daemon (process {runtime.pid}) is another user's; only they can stop it") from exc
    if not _ended(runtime.pid, state_of(settings)):
        raise Failure(f"the daemon (process {runtime.pid}) has not ended after {LONGEST_S:.0f} s; see its log")
    say(f"{runtime.vault} is served no more (process {runtime.pid} has ended)")


def _ended(pid: int, state: Path) -> bool:
    """Wait for the end of a daemon: of its process, or, where nobody reaps that, of its serving."""
    deadline = time.monotonic() + LONGEST_S
    while is_alive(pid) and time.monotonic() < deadline:
        left = read_runtime(state)
        if left is None or left.pid != pid:
            deadline = min(deadline, time.monotonic() + _LAST_STEPS_S)
        time.sleep(_LOOK_EVERY_S)
    left = read_runtime(state)
    return left is None or left.pid != pid or not is_alive(pid)
