"""`vaultd config`: show and change settings, list models, set up MCP clients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.clientfiles import Written
from vaultd.cli.clients import CLIENTS, Connection, snippet, write_client
from vaultd.cli.options import config_option, json_option, load_settings, state_of, vault_of, vault_options
from vaultd.cli.output import note, print_json, print_pairs, say
from vaultd.cli.token import token_of
from vaultd.config.example import example as example_text
from vaultd.config.loading import Loaded, check_value, secrets_in, variables
from vaultd.config.paths import config_path, default_config_path
from vaultd.config.runtime import find_daemon
from vaultd.config.saving import save
from vaultd.config.values import as_text
from vaultd.settings import KEYS, Key, value_of

MASK: Final = "(set)"


@click.group()
def config() -> None:
    """Show and change settings; set up MCP clients.

    \b
    Examples:
      vaultd config show
      vaultd config set matching.topic fuzzy
      vaultd config client claude-desktop --write
    """


@config.command()
@config_option
@json_option
@click.option("--changed", is_flag=True, help="Only what is not at its default.")
def show(config: Path | None, as_json: bool, changed: bool) -> None:
    """List the settings.

    With their values and where each comes from; secrets are masked.

    \b
    Examples:
      vaultd config show --changed
    """
    loaded = load_settings(config)
    if as_json:
        print_json({name: _described(loaded, KEYS[name]) for name in _chosen(loaded, changed)})
        return
    print_pairs([(name, _line(loaded, KEYS[name])) for name in _chosen(loaded, changed)])


def _keys(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Names of settings, for the shell."""
    return [name for name in KEYS if name.startswith(begun)]


def _chosen(loaded: Loaded, changed: bool) -> list[str]:
    return [name for name in KEYS if not changed or name in loaded.sources]


def _described(loaded: Loaded, key: Key) -> dict[str, object]:
    value: object = value_of(loaded.settings, key)
    if key.secret:
        value = MASK if value else ""
    return {
        "value": list(value) if isinstance(value, tuple) else value,
        "default": list(key.default) if isinstance(key.default, tuple) else key.default,
        "source": loaded.sources.get(key.name, "default"),
        "allowed": key.allowed,
        "about": key.about,
        "live": key.hot,
    }


def _line(loaded: Loaded, key: Key) -> str:
    source = loaded.sources.get(key.name)
    return _shown(loaded, key) + (f"   ({source})" if source else "")


def _shown(loaded: Loaded, key: Key) -> str:
    text = as_text(key, value_of(loaded.settings, key))
    return MASK if key.secret and text else text


@config.command()
@config_option
@click.argument("key", shell_complete=_keys)
def get(config: Path | None, key: str) -> None:
    """Print the value of one setting.

    \b
    Examples:
      vaultd config get matching.topic
    """
    check_value(key, None, Path.cwd())
    say(_shown(load_settings(config), KEYS[key]))


@config.command(name="set")
@config_option
@click.argument("key", shell_complete=_keys)
@click.argument("value")
def set_(config: Path | None, key: str, value: str) -> None:
    """Write one setting into the settings file.

    Only its line changes; all comments stay. A daemon that runs goes by it at once where that is possible.

    \b
    Examples:
      vaultd config set language en
      vaultd config set vault.exclude "Private/**, *.draft.md"
    """
    parsed = check_value(key, value, Path.cwd())
    path = _file(config)
    load_settings(path, overrides={key: parsed}, may_be_missing=True)
    save(path, {key: parsed})
    say(f"{path}: {key} is now {as_text(KEYS[key], parsed) or 'empty'}")
    winner = next((name for name in variables(KEYS[key]) if os.environ.get(name, "").strip()), None)
    if winner:
        note(f"The variable {winner} is set and wins over the file.")
        return
    taken_up = _taken_up(path, key, value)
    if taken_up is not None:
        note(
            "The running daemon goes by it." if taken_up else "The running daemon takes it up when it is started again."
        )


def _taken_up(path: Path, key: str, value: str) -> bool | None:
    """Whether the daemon that these settings are for goes by a new value now; None where none runs."""
    settings = load_settings(path).settings
    runtime = None if settings.vault.path is None else find_daemon(settings.vault.path, settings.state_dir)
    if runtime is None:
        return None
    client = DaemonClient(runtime)
    if not KEYS[key].hot or client.get("/api/config")["file"] != str(path.absolute()):
        return False
    client.post("/api/config", {key: value})
    return True


def _file(config: Path | None) -> Path:
    return config_path(config, os.environ)


@config.command()
@vault_options
@click.option("--state", is_flag=True, help="The vault's state folder instead: index, log and token.")
def path(config: Path | None, vault: Path | None, state: bool) -> None:
    """Print where the settings file is, or would be.

    \b
    Examples:
      vaultd config path
      vaultd config path --state
    """
    say(str(state_of(load_settings(config, vault).settings) if state else _file(config)))


@config.command()
def example() -> None:
    """Print a settings file that explains itself.

    \b
    Examples:
      vaultd config example > config.yaml
    """
    click.echo(example_text(), nl=False)


@config.command()
@config_option
@json_option
@click.option("--embedding", is_flag=True, help="Of the endpoint for embeddings instead of the chat model's.")
def models(config: Path | None, as_json: bool, embedding: bool) -> None:
    """List the models of the endpoint.

    \b
    Examples:
      vaultd config models
      vaultd config models --embedding
    """
    from vaultd.cli.models import list_models  # urllib.request costs the other commands a tenth of their start

    settings = load_settings(config).settings
    source = settings.embedding if embedding else settings.llm
    found = list_models(source.base_url, source.api_key, "embedding" if embedding else "llm")
    if as_json:
        print_json(found)
        return
    for name in found:
        say(f"{name}  (set)" if name == source.model else name)
    if source.model and source.model not in found:
        note(f"The model that is set, {source.model}, is not among them.")


@config.command()
@vault_options
@click.argument("name", type=click.Choice(list(CLIENTS)), metavar="CLIENT")
@click.option("--write", is_flag=True, help="Merge it into the client's own settings file, which is backed up first.")
@click.option("--http", is_flag=True, help="Connect by address and token instead of starting `vaultd mcp`.")
def client(config: Path | None, vault: Path | None, name: str, write: bool, http: bool) -> None:
    """Set up an MCP client.

    Prints what the client needs in its settings to reach this vault, or writes it there. CLIENT is
    claude-desktop, claude-code, cursor, codex or gemini.

    \b
    Examples:
      vaultd config client claude-desktop --write
      vaultd config client claude-code
      vaultd config client codex --http
    """
    loaded = load_settings(config, vault)
    chosen = CLIENTS[name]
    if http and not chosen.http:
        raise click.UsageError(f"{name} takes no address in its file; leave out --http.")
    connection = _connection(loaded, http)
    if not write:
        note(f"For {chosen.path()}:")
        click.echo(snippet(chosen, connection), nl=False)
        if chosen.hint:
            note(chosen.hint(connection))
        return
    _report(chosen.path(), write_client(chosen, connection))


def _report(path: Path, written: Written) -> None:
    if not written.changed:
        say(f"{path}: vaultd is already there")
        return
    say(f"{path}: vaultd is in, restart the client")
    if written.backup:
        say(f"the file as it was: {written.backup}")


def _connection(loaded: Loaded, http: bool) -> Connection:
    settings = loaded.settings
    vault = vault_of(settings)
    if http:
        running = find_daemon(vault, settings.state_dir)
        url = running.url if running else f"http://127.0.0.1:{settings.server.port}"
        return Connection(url=f"{url}/mcp", token=token_of(settings))
    given = loaded.path if loaded.exists and loaded.path != default_config_path() else None
    for name in secrets_in(os.environ):
        note(f"{name} is not copied: the client's daemon has it if you start `vaultd serve` yourself.")
    environment = {"VAULTD_STATE_DIR": str(settings.state_dir)} if settings.state_dir else {}
    return Connection.by_process(vault, given, environment)
