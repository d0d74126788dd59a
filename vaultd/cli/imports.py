"""`vaultd import`: an export of another program becomes memories; how imports stand, and going through what came in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.importrun import AGAIN_HINT, run_import, tell_end
from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import Failure, note, print_json, say
from vaultd.cli.reach import reach
from vaultd.core.errors import BadInput

WORDS_SHOWN: Final = 15
_VERDICTS: Final = ("keep", "important", "pin", "noise")


class Importing(click.Group):
    """`vaultd import FILE` is short for `vaultd import run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, with `run` put in where no command is named."""
        asks_help = bool(args) and args[0] in (*self.commands, "-h", "--help")
        return super().parse_args(ctx, args if asks_help or not args else ["run", *args])


@click.group(name="import", cls=Importing)
def import_() -> None:
    """Bring in conversations and notes from elsewhere.

    Claude, ChatGPT and DeepSeek exports (JSON, or the ZIP they come in), Markdown, plain text, folders of
    notes, whole Ombre `buckets/` folders. First it says what is in them and what it is going to cost.

    \b
    Examples:
      vaultd import export.zip --dry-run
      vaultd import conversations.json
      vaultd import ~/old-notes --mode notes --yes
      vaultd import status
      vaultd import review --noise 0123456789ab,ba9876543210
    """


@import_.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER")
@vault_options
@json_option
@click.option(
    "--mode",
    type=click.Choice(("memories", "notes")),
    default="memories",
    show_default=True,
    help="Memories by the chat model, or one note per conversation.",
)
@click.option(
    "--branches",
    type=click.Choice(("current", "all")),
    default="current",
    show_default=True,
    help="Which threads of a conversation.",
)
@click.option("--again", is_flag=True, help="Also what an earlier import brought in.")
@click.option("--partial", is_flag=True, help="Although the end of the file is missing.")
@click.option("--dry-run", is_flag=True, help="Only say what is in it.")
@click.option("--detach", is_flag=True, help="Do not wait for the end; see `vaultd import status`.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def run(
    file: Path,
    config: Path | None,
    vault: Path | None,
    as_json: bool,
    dry_run: bool,
    detach: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Import a file or a folder; `run` may be left out.

    \b
    Examples:
      vaultd import run export.zip --dry-run
      vaultd import conversations.json --branches all
      vaultd import ~/old-notes --mode notes --yes
    """
    if not file.exists():
        raise BadInput(f"{file}: there is no such file or folder")
    client = reach(load_settings(config, vault))
    return run_import(client, file, options, as_json=as_json, dry_run=dry_run, detach=detach, yes=yes)


@import_.command()
@click.argument("job", default="")
@vault_options
@json_option
def status(job: str, config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Say how imports stand; all of them, or one.

    \b
    Examples:
      vaultd import status
      vaultd import status --json
    """
    client = reach(load_settings(config, vault))
    if job:
        found = client.get("/api/import/status", {"job": job})
        print_json(found) if as_json else _tell_job(found)
        return
    items = client.get("/api/import/status")["items"]
    if as_json:
        print_json(items)
        return
    if not items:
        say("No imports yet.")
    for item in items:
        _tell_job(item)


def _tell_job(job: Mapping[str, Any]) -> None:
    say(f"{job['id']}  {job['filename']}: {job['state']}, {job['done']} of {job['chunks']} chunks")
    if job.get("reason"):
        say(f"  {job['reason']}")


@import_.command()
@click.argument("job", default="")
@vault_options
def pause(job: str, config: Path | None, vault: Path | None) -> None:
    """Pause an import after the step at hand.

    \b
    Examples:
      vaultd import pause
    """
    client = reach(load_settings(config, vault))
    job_id = _chosen(client, job)
    client.post("/api/import/pause", {"job": job_id})
    say(f"{job_id} pauses; go on with: vaultd import resume {job_id}")


@import_.command()
@click.argument("job", default="")
@vault_options
@click.option("--detach", is_flag=True, help="Do not wait for the end.")
def resume(job: str, config: Path | None, vault: Path | None, detach: bool) -> int:
    """Go on with an import where it stopped; chunks that failed are tried again.

    \b
    Examples:
      vaultd import resume
      vaultd import resume --detach
    """
    client = reach(load_settings(config, vault))
    job_id = _chosen(client, job)
    client.post("/api/import/pause", {"job": job_id, "resume": True})
    if detach:
        say(f"{job_id} goes on")
        return 0
    return tell_end(client, job_id, as_json=False, pause=time.sleep)


@import_.command()
@click.argument("job", default="")
@vault_options
@json_option
def results(job: str, config: Path | None, vault: Path | None, as_json: bool) -> None:
    """List what an import brought in.

    \b
    Examples:
      vaultd import results
      vaultd import results --json
    """
    client = reach(load_settings(config, vault))
    items = client.get("/api/import/results", {"job": _chosen(client, job)})["items"]
    if as_json:
        print_json(items)
        return
    if not items:
        say("Nothing yet.")
    for item in items:
        near = f"  (much like {', '.join(one['id'] for one in item['near'])})" if item["near"] else ""
        verdict = f"  [{item['verdict']}]" if item["verdict"] else ""
        say(f"{item['id']}  {item['outcome']:<6}  {item['name']}{near}{verdict}")


@import_.command()
@click.argument("job", default="")
@vault_options
@json_option
def patterns(job: str, config: Path | None, vault: Path | None, as_json: bool) -> None:
    """Say what comes up again and again in an import.

    \b
    Examples:
      vaultd import patterns
    """
    client = reach(load_settings(config, vault))
    found = client.get("/api/import/patterns", {"job": _chosen(client, job)})
    if as_json:
        print_json(found)
        return
    say(f"{found['memories']} memories")
    for name in ("words", "tags", "domains"):
        shown = [f"{one['word']} {one['memories']}" for one in found[name][:WORDS_SHOWN]]
        if shown:
            say(f"  {name}: {', '.join(shown)}")


@import_.command()
@click.argument("job", default="")
@vault_options
@json_option
@click.option("--keep", metavar="IDS", help="Good as they are.")
@click.option("--important", metavar="IDS", help="Worth more than others.")
@click.option("--pin", metavar="IDS", help="Never to fade.")
@click.option("--noise", metavar="IDS", help="Into the trash.")
def review(job: str, config: Path | None, vault: Path | None, as_json: bool, **ids: str | None) -> None:
    """Say what to do with memories of an import, many at once.

    IDS are ids with commas between them, as `vaultd import results` lists them.

    \b
    Examples:
      vaultd import review --important 0123456789ab --noise ba9876543210,0a1b2c3d4e5f
    """
    given = {verdict: (ids[verdict] or "").replace(",", " ").split() for verdict in _VERDICTS}
    decisions = {note_id: verdict for verdict, listed in given.items() for note_id in listed}
    if not decisions:
        raise click.UsageError("give ids with --keep, --important, --pin or --noise.")
    client = reach(load_settings(config, vault))
    answer = client.post("/api/import/review", {"job": _chosen(client, job), "decisions": decisions})
    if as_json:
        print_json(answer)
    else:
        say(f"{len(answer['done'])} done")
        for note_id, reason in answer["failed"].items():
            note(f"{note_id}: {reason}")
    if answer["failed"]:
        raise Failure(f"{len(answer['failed'])} could not be done")


@import_.command()
@click.argument("job")
@vault_options
def remove(job: str, config: Path | None, vault: Path | None) -> None:
    """Delete what is stored of an import; its memories stay.

    \b
    Examples:
      vaultd import remove 20260517-120000-0123abcd
    """
    client = reach(load_settings(config, vault))
    client.delete(f"/api/import/{job}")
    say(f"{job} is removed; {AGAIN_HINT}")


def _chosen(client: DaemonClient, job: str) -> str:
    """The import that is named, else the newest. Raises BadInput where there is none."""
    if job:
        return job
    items = client.get("/api/import/status")["items"]
    if not items:
        raise BadInput("there is no import yet; begin one with: vaultd import FILE")
    return str(items[0]["id"])
