"""`vaultd log` and `vaultd undo`"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import Failure, print_json, say
from vaultd.cli.reach import reach


@click.command()
@vault_options
@json_option
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=50, show_default=True, help="Most writes.")
@click.argument("memory", default="")
def log(config: Path | None, vault: Path | None, as_json: bool, limit: int, memory: str) -> None:
    """Show the newest writes to the vault, newest first; of one MEMORY where its id is given.

    \b
    Examples:
      vaultd log
      vaultd log -n 5
      vaultd log 76237984fa5d --json
    """
    client = reach(load_settings(config, vault))
    query: dict[str, str | int | float] = {"limit": limit}
    if memory:
        query["id"] = memory
    writes = client.get("/api/log", query)["items"]
    if as_json:
        print_json(writes)
        return
    for one in writes:
        say(_line(one))
    if not writes:
        say("Nothing was written yet.")


def _line(one: Mapping[str, object]) -> str:
    where = str(one["path"]) if one["target"] is None else f"{one['path']} → {one['target']}"
    final = "" if one["undoable"] else "  (for good)"
    return f"{one['entry']:>6}  {str(one['at'])[:19]}  {one['operation']:<8} {where}  {one['why']}{final}"


@click.command()
@vault_options
@json_option
@click.argument("entry", default="")
def undo(config: Path | None, vault: Path | None, as_json: bool, entry: str) -> None:
    """Take a write back, with all that was written together with it: the newest, or ENTRY of `vaultd log`.

    Every file comes back byte for byte; a file that was changed since is left alone, and then nothing is undone.

    \b
    Examples:
      vaultd undo
      vaultd undo 118
    """
    client = reach(load_settings(config, vault))
    if not entry:
        writes = client.get("/api/log")["items"]
        if not writes:
            raise Failure("nothing was written yet")
        entry = str(writes[0]["entry"])
    answer = client.post("/api/undo", {"entry": entry})
    if as_json:
        print_json(answer)
        return
    for path in answer["paths"]:
        say(f"as before: {path}")
