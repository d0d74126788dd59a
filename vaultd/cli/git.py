"""`vaultd git`"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from vaultd.cli.options import json_option, load_settings, vault_of, vault_options
from vaultd.cli.output import print_json, print_pairs
from vaultd.vault.gitsetup import GitStatus
from vaultd.vault.gitsetup import install as install_driver
from vaultd.vault.gitsetup import status as status_of
from vaultd.vault.gitsetup import uninstall as uninstall_driver


@click.group()
def git() -> None:
    """Let git merge notes property by property.

    \b
    Examples:
      vaultd git install       once in each clone of the vault
      vaultd git status
    """


@git.command()
@vault_options
@json_option
def install(config: Path | None, vault: Path | None, as_json: bool) -> int:
    """Set up .gitattributes and this clone's merge driver.

    \b
    Examples:
      vaultd git install
    """
    return _told(install_driver, config, vault, as_json)


@git.command()
@vault_options
@json_option
def status(config: Path | None, vault: Path | None, as_json: bool) -> int:
    """Tell how this clone is set up; exit code 1 where something is missing.

    \b
    Examples:
      vaultd git status
    """
    return _told(status_of, config, vault, as_json)


@git.command()
@vault_options
@json_option
def uninstall(config: Path | None, vault: Path | None, as_json: bool) -> int:
    """Take the merge driver out again.

    \b
    Examples:
      vaultd git uninstall
    """
    _told(uninstall_driver, config, vault, as_json)
    return 0


def _told(step: Callable[[Path], GitStatus], config: Path | None, vault: Path | None, as_json: bool) -> int:
    found = step(vault_of(load_settings(config, vault).settings))
    if as_json:
        print_json(asdict(found) | {"complete": found.complete})
    else:
        print_pairs(
            [
                ("vault in git", _word(found.in_git)),
                (".gitattributes", _word(found.attributes)),
                ("merge driver", _word(found.driver)),
                ("the driver's command", "not set" if found.driver_works is None else _word(found.driver_works)),
                ("passing files ignored", _word(found.excluded)),
            ]
        )
    return 0 if found.complete else 1


def _word(value: bool) -> str:
    return "yes" if value else "no"
