"""`vaultd status`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import daemon_of, json_option, load_settings, vault_options
from vaultd.cli.output import print_json, print_pairs, say

TIMEOUT_S: Final = 10.0

# What is shown of the answer, in this order, with the name it gets
_LINES: Final[Mapping[str, str]] = {
    "notes": "notes",
    "pending": "waiting for the index",
    "failed": "failed",
    "embedding": "embeddings",
    "embeddings_pending": "waiting for an embedding",
    "lag_s": "lag, seconds",
    "last_event": "last change seen",
    "last_reconcile": "last full comparison",
    "missed": "changes missed by the watcher",
    "waiting": "texts waiting for a model",
    "problems": "notes with problems",
    "conflicts": "conflicts",
}


@click.command()
@vault_options
@json_option
def status(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Tell whether a daemon serves the vault, and how its index is.

    Leaves with exit code 1 where none runs.

    \b
    Examples:
      vaultd status
      vaultd status --vault ~/Notes --json
    """
    runtime = daemon_of(load_settings(config, vault).settings)
    answer = DaemonClient(runtime, timeout_s=TIMEOUT_S).get("/api/status")
    found = {
        "url": runtime.url,
        "port": runtime.port,
        "pid": runtime.pid,
        "vault": runtime.vault,
        "started": runtime.started,
        **answer,
    }
    if as_json:
        print_json(found)
        return
    ready = "ready" if found.get("ready", True) else "starting"
    say(f"{runtime.vault} is served at {runtime.url} ({ready}; process {runtime.pid}, since {runtime.started})")
    print_pairs([(name, _shown(found[key])) for key, name in _LINES.items() if found.get(key) is not None])


def _shown(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(len(value)) if isinstance(value, list | tuple | dict) else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
