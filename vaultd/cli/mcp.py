"""`vaultd mcp`"""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from vaultd.cli.options import load_settings, vault_of, vault_options


@click.command()
@vault_options
def mcp(config: Path | None, vault: Path | None) -> int:
    """Speak MCP on stdin and stdout, for clients that start a process.

    A thin bridge to the daemon of the vault, which it starts where none runs; all clients share that daemon.
    `vaultd config client NAME` prints what a client needs to start this.

    \b
    Examples:
      vaultd mcp --vault ~/Notes
      claude mcp add vaultd -- vaultd mcp --vault ~/Notes
    """
    loaded = load_settings(config, vault)
    vault_of(loaded.settings)
    bridge = importlib.import_module("vaultd.tools.bridge")
    return int(bridge.run(loaded.settings, config=loaded.path if loaded.exists else None))
