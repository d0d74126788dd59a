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

# What is always shown of the answer, and what only where it is not 0 or empty; in this order
_LINES: Final[Mapping[str, str]] = {
    "notes": "notes",
    "waiting": "notes to look at",
    "pending": "waiting for an embedding",
    "failed": "failed",
    "lag_s": "behind, seconds",
    "last_event": "last change seen",
    "last_reconcile": "last full comparison",
}
_FAULTS: Final[Mapping[str, str]] = {
    "problems": "notes with problems",
    "held_deletions": "deletions held back",
    "missed": "changes the watcher missed",
    "watcher_restarts": "restarts of the watcher",
    "index_problem": "the index",
}


@click.command()
@vault_options
@json_option
def status(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Tell whether a daemon serves the vault, and how its index is.

    Leaves with exit code 1 where none runs, or one is only starting.

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
    say(f"{runtime.vault} is served at {runtime.url} ({_state(found)}; process {runtime.pid})")
    print_pairs(_pairs(found))


def _state(found: Mapping[str, object]) -> str:
    if found.get("vault_available") is False:
        return "vault not available"
    if found.get("ready") is False:
        return f"indexing {found.get('notes', 0)} of {found.get('total', '?')}"
    return "ready"


def _pairs(found: Mapping[str, object]) -> list[tuple[str, str]]:
    pairs = [(name, _shown(found[key])) for key, name in _LINES.items() if found.get(key) is not None]
    embedding = found.get("embedding")
    if isinstance(embedding, Mapping):
        problem = embedding.get("problem")
        pairs.append(("embeddings by", f"{embedding.get('model')}" + (f" ({problem})" if problem else "")))
    return pairs + [(name, _shown(found[key])) for key, name in _FAULTS.items() if found.get(key)]


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
