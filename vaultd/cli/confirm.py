"""`vaultd confirm-deletions`"""

from __future__ import annotations

from pathlib import Path

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import daemon_of, json_option, load_settings, vault_options
from vaultd.cli.output import print_json, say


@click.command("confirm-deletions")
@vault_options
@json_option
def confirm_deletions(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Say that a mass deletion is meant, so that the notes leave the index.

    When more than 50 notes and a fifth of the vault vanish at once, the daemon keeps them and writes nothing: the
    disk may be unmounted.

    \b
    Examples:
      vaultd confirm-deletions
    """
    answer = DaemonClient(daemon_of(load_settings(config, vault).settings)).post("/api/confirm-deletions")
    if as_json:
        print_json(answer)
        return
    say(f"{answer['confirmed']} deletions confirmed")
