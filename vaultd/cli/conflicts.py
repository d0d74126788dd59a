"""`vaultd conflicts`"""

from __future__ import annotations

from pathlib import Path

import click

from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import print_json, say
from vaultd.cli.reach import reach


@click.command()
@vault_options
@json_option
@click.option("--solve", is_flag=True, help="Merge copies that differ in vaultd's own properties alone.")
@click.argument("note", default="")
def conflicts(config: Path | None, vault: Path | None, as_json: bool, solve: bool, note: str) -> int:
    """List conflict copies of sync tools and notes with conflict markers; exit code 1 where there are some.

    With --solve, what is no question of taste is merged (NOTE alone, or all); `vaultd undo` takes it back.

    \b
    Examples:
      vaultd conflicts
      vaultd conflicts --solve
      vaultd conflicts --solve "dynamic/日常/a walk.md"
    """
    client = reach(load_settings(config, vault))
    solved = client.post("/api/conflicts/solve", {"path": note})["solved"] if solve else []
    left = client.get("/api/conflicts")["items"]
    if as_json:
        print_json({"solved": solved, "items": left})
        return 1 if left else 0
    for one in solved:
        say(f"merged    {one['path']}")
    for one in left:
        line = "" if one["line"] is None else f":{one['line']}"
        say(f"conflict  {one['path']}{line}")
        for copy in one["copies"]:
            say(f"          {copy}")
        say(f"          {one['how']}")
    if not left and not solved:
        say("No conflicts.")
    return 1 if left else 0
