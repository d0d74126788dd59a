"""Options that many commands share, and the settings that come of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from vaultd.config.loading import Loaded, load_with_sources
from vaultd.config.paths import state_folder
from vaultd.config.runtime import Runtime, find_daemon, lock_holder, read_runtime
from vaultd.core.errors import SettingsError, VaultdError
from vaultd.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
FOLDER = click.Path(file_okay=False, path_type=Path)


class NoDaemon(VaultdError):
    """No daemon serves the vault, or none yet, or one that does not answer: `holder` is its process."""

    def __init__(self, vault: Path, holder: int | None = None, *, starting: bool = False) -> None:
        if holder is None:
            super().__init__(f"no daemon serves {vault}; start it with `vaultd serve`")
        elif starting:
            super().__init__(f"no daemon serves {vault} yet: one is starting (pid {holder})")
        else:
            super().__init__(
                f"the daemon that serves {vault} (pid {holder}) does not answer; end it with `vaultd stop`"
            )


def config_option(function: Command) -> Command:
    """--config FILE"""
    return click.option(
        "--config",
        "config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Settings file; default: VAULTD_CONFIG, else the platform's folder.",
    )(function)


def vault_options(function: Command) -> Command:
    """--vault DIR and --config FILE"""
    option = click.option(
        "--vault", type=FOLDER, metavar="DIR", help="The vault; default: VAULTD_VAULT, else the settings file's."
    )
    return option(config_option(function))


def json_option(function: Command) -> Command:
    """--json"""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(function)


def load_settings(
    config: Path | None,
    vault: Path | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    may_be_missing: bool = False,
) -> Loaded:
    """Settings by options, environment and file; `overrides` are options by key. Raises SettingsError."""
    options = {"vault.path": vault, **(overrides or {})}
    return load_with_sources(config, os.environ, options, may_be_missing=may_be_missing)


def vault_of(settings: Settings) -> Path:
    """The vault that is set. Raises SettingsError where none is."""
    if settings.vault.path is None:
        raise SettingsError("no vault is set; use --vault DIR or VAULTD_VAULT, or make one with `vaultd init`")
    return settings.vault.path


def state_of(settings: Settings) -> Path:
    """The state folder of the vault that is set."""
    return state_folder(vault_of(settings), settings.state_dir)


def daemon_of(settings: Settings) -> Runtime:
    """The daemon that serves the vault that is set. Raises NoDaemon."""
    vault, state = vault_of(settings), state_of(settings)
    found = find_daemon(vault, settings.state_dir)
    if found is None:
        left = read_runtime(state)
        holder = lock_holder(state)
        raise NoDaemon(vault, holder, starting=left is None or left.pid != holder)
    return found
