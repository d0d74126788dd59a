"""`vaultd token`"""

from __future__ import annotations

from pathlib import Path

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import daemon_of, load_settings, state_of, vault_of, vault_options
from vaultd.cli.output import note, say
from vaultd.config.runtime import find_daemon, keep_token, make_token
from vaultd.config.tokens import scoped_tokens, token_of_scope
from vaultd.core.errors import BadInput, SettingsError
from vaultd.settings import Settings


@click.command()
@vault_options
@click.option(
    "--new", "renew", is_flag=True, help="Make a new token; the old one ends with the next start of the daemon."
)
@click.option("--link", is_flag=True, help="Print a login link for the dashboard: for one use, and soon.")
@click.option("--scope", default="", help="The token for one scope of cards; made at the first call.")
def token(config: Path | None, vault: Path | None, renew: bool, link: bool, scope: str) -> None:
    """Show the token that clients of this vault need; it is made at the first call.

    \b
    Examples:
      vaultd token
      vaultd token --link
      vaultd token --scope work
      curl -H "Authorization: Bearer $(vaultd token)" http://127.0.0.1:8000/api/buckets
    """
    settings = load_settings(config, vault).settings
    if sum((link, renew, bool(scope))) > 1:
        raise click.UsageError("--new, --link and --scope exclude each other.")
    if scope:
        known = scoped_tokens(state_of(settings))
        say(token_of_scope(state_of(settings), scope))
        if scope not in known and find_daemon(vault_of(settings), settings.state_dir) is not None:
            note("The running daemon takes it when it is started again.")
        return
    if link:
        say(login_link(settings))
    elif renew:
        say(_renewed(settings))
    else:
        say(token_of(settings))


def token_of(settings: Settings) -> str:
    """The token that the daemon of this vault takes, now or when it starts. Raises SettingsError."""
    running = find_daemon(vault_of(settings), settings.state_dir)
    if running is not None:
        return running.token
    return settings.server.token or keep_token(state_of(settings))


def login_link(settings: Settings) -> str:
    """A link that logs a browser in once. Raises NoDaemon, DaemonError."""
    answer = DaemonClient(daemon_of(settings)).post("/api/login-link")
    url = answer.get("url") if isinstance(answer, dict) else None
    if not isinstance(url, str):
        raise BadInput("the daemon gave no link; it may be of another version: restart it")
    return url


def _renewed(settings: Settings) -> str:
    if settings.server.token:
        raise SettingsError("the token is set by VAULTD_TOKEN or the settings file; change it there")
    made = make_token(state_of(settings))
    if find_daemon(vault_of(settings), settings.state_dir) is not None:
        note("The running daemon takes the old token until it is started again.")
    return made
