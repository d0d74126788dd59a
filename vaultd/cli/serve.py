"""`vaultd serve`"""

from __future__ import annotations

from pathlib import Path

import click

from vaultd.cli.options import load_settings, vault_of, vault_options
from vaultd.cli.output import note, progress
from vaultd.core.errors import AlreadyServed
from vaultd.frugal import one_thread_for_products
from vaultd.settings import KEYS, Settings


@click.command()
@vault_options
@click.option("--host", metavar="H", help="Address to listen on; default 127.0.0.1.")
@click.option("--port", type=int, metavar="N", help="Port to listen on; 0 takes a free one; default 8000.")
@click.option("--any-port", is_flag=True, help="Take a free port where the wanted one is in use.")
@click.option("--if-needed", is_flag=True, help="Leave with exit code 0 where the vault is served already.")
@click.option("--transport", type=click.Choice(KEYS["transport"].choices), help="How to speak MCP.")
def serve(
    config: Path | None,
    vault: Path | None,
    host: str | None,
    port: int | None,
    any_port: bool,
    if_needed: bool,
    transport: str | None,
) -> int:
    """Serve the vault in the foreground until Ctrl-C: MCP, REST API, dashboard.

    One daemon serves a vault on a machine; a second one says where the first is, and fails.

    \b
    Examples:
      vaultd serve --vault ~/Notes
      vaultd serve --port 8123
    """
    loaded = load_settings(config, vault, {"server.host": host, "server.port": port, "transport": transport})
    vault_of(loaded.settings)
    try:
        return run_daemon(loaded.settings, loaded.path, any_port=any_port)
    except AlreadyServed as exc:
        if not if_needed:
            raise
        note(str(exc))
        return 0


def run_daemon(settings: Settings, config: Path | None = None, *, any_port: bool = False) -> int:
    """Run the daemon until it is stopped; its exit code. Raises VaultdError."""
    one_thread_for_products()  # before numpy is imported
    from vaultd.launch import run  # the heaviest import there is: only this command pays it

    return run(settings, config, any_port=any_port, progress_bar=progress)
