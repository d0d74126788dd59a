"""`vaultd doctor`"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from vaultd.cli import service
from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import print_json, say
from vaultd.cli.reach import reach


@click.command()
@vault_options
@json_option
@click.option("--fix", is_flag=True, help="Mend what is vaultd's own; your text is never touched.")
def doctor(config: Path | None, vault: Path | None, as_json: bool, fix: bool) -> int:
    """Find what is wrong with notes, index, git and this machine, and say how to mend it.

    Leaves with exit code 1 where an error is left; warnings and hints are no errors.

    \b
    Examples:
      vaultd doctor
      vaultd doctor --fix
      vaultd doctor --json
    """
    loaded = load_settings(config, vault)
    client = reach(loaded)
    answer = client.post("/api/doctor/fix") if fix else client.get("/api/doctor")
    findings = answer["findings"] = [*answer["findings"], *map(dataclasses.asdict, service.findings(loaded))]
    code = 1 if any(one["level"] == "error" for one in findings) else 0
    if as_json:
        print_json(answer)
        return code
    for done in answer.get("done", ()):
        say(f"mended   {done}")
    for one in findings:
        line = "" if one["line"] is None else f":{one['line']}"
        say(f"{one['level']:<8} {one['where']}{line}: {one['what']}")
        say(f"         {one['mend']}")
    if not findings:
        say("Nothing is wrong.")
    return code
