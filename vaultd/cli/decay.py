"""`vaultd decay`: a forgetting cycle, and what is going to be forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import Failure, note, print_json, say
from vaultd.cli.reach import reach

RESULT: Final = ("checked", "archived", "auto_resolved", "lowest_score", "failed")


@click.command()
@vault_options
@json_option
@click.option("--dry-run", is_flag=True, help="Only say what a cycle would do.")
@click.option("--forecast", type=click.IntRange(1, 365), metavar="DAYS", help="List what goes within so many days.")
def decay(config: Path | None, vault: Path | None, as_json: bool, dry_run: bool, forecast: int | None) -> None:
    """Run a forgetting cycle now.

    The daemon runs one every `decay.check_interval_hours` by itself. Memories that nobody came back to are marked
    resolved, faded ones move to the archive; `vaultd undo` takes it back.

    \b
    Examples:
      vaultd decay --dry-run
      vaultd decay --json
      vaultd decay --forecast 30
    """
    client = reach(load_settings(config, vault))
    if forecast is not None:
        _tell_forecast(client, forecast, as_json)
        return
    answer = client.post("/api/decay/run" + ("?dry_run=true" if dry_run else ""))
    if as_json:
        print_json({key: answer[key] for key in RESULT})
    else:
        _tell(answer, dry_run)
    if answer.get("reason"):
        raise Failure(str(answer["reason"]))
    if answer["failed"]:
        raise Failure(f"{answer['failed']} notes could not be changed; the daemon's log says why")


def _tell(answer: Mapping[str, Any], dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    say(f"{answer['checked']} memories looked at")
    say(f"{answer['archived']} {would}archived, {answer['auto_resolved']} {would}marked resolved")
    if answer["lowest_score"] is not None:
        say(f"the lowest score is {answer['lowest_score']:.2f}")
    for name, ids in (("archive", answer.get("to_archive", ())), ("resolve", answer.get("to_resolve", ()))):
        if dry_run and ids:
            note(f"to {name}: {' '.join(ids)}")


def _tell_forecast(client: DaemonClient, days: int, as_json: bool) -> None:
    coming = client.get("/api/decay/preview", {"days": days})["forecast"]
    if as_json:
        print_json(coming)
        return
    if not coming:
        say(f"Nothing is going to be forgotten within {days} days.")
    for one in coming:
        held = "  (kept by decay.protect_importance_floor)" if one["held"] else ""
        say(f"in {one['days']:5.1f} days  {one['id']}  {one['name']}{held}")
