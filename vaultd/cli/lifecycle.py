"""`vaultd lifecycle`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import print_json, say
from vaultd.cli.reach import reach


@click.group()
def lifecycle() -> None:
    """Choose the machine that forgets, adopts and moves notes. Where nobody claimed it, every machine may.

    \b
    Examples:
      vaultd lifecycle claim
      vaultd lifecycle status
    """


@lifecycle.command()
@vault_options
@json_option
def status(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Tell who owns it.

    \b
    Examples:
      vaultd lifecycle status --json
    """
    _tell(reach(load_settings(config, vault)).get("/api/lifecycle"), as_json)


@lifecycle.command()
@vault_options
@json_option
def claim(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Make it this machine's, whoever had it.

    \b
    Examples:
      vaultd lifecycle claim
    """
    _tell(reach(load_settings(config, vault)).post("/api/lifecycle", {"action": "claim"}), as_json)


@lifecycle.command()
@vault_options
@json_option
def release(config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Make it nobody's again.

    \b
    Examples:
      vaultd lifecycle release
    """
    _tell(reach(load_settings(config, vault)).post("/api/lifecycle", {"action": "release"}), as_json)


def _tell(owned: Mapping[str, object], as_json: bool) -> None:
    if as_json:
        print_json(owned)
    elif not owned["machine"]:
        say("Nobody owns the life cycle: every machine may forget and move notes.")
    else:
        mine = "this machine" if owned["mine"] else "another machine"
        say(f"{owned['name'] or owned['machine']} ({mine}) owns the life cycle since {owned['since']}.")
