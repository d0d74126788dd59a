"""`vaultd demo`: the sample vault, moved to today."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from vaultd.cli.clients import Connection, snippet
from vaultd.cli.options import load_settings
from vaultd.cli.output import note, say
from vaultd.config.files import write_text
from vaultd.core.errors import BadInput, StorageFull

SAMPLE_ZONE: Final = timezone(timedelta(hours=8))
SAMPLE_TODAY: Final = date(2026, 11, 30)  # the day that the sample vault takes for today

_CONFIG: Final = """\
# Settings of this demonstration alone.
vault:
  path: vault
state_dir: state
"""
_FRONTMATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_DATE: Final = re.compile(r"^(\s*(?:-\s+|[^\s#:][^:\n]*:\s+)[\"']?)(\d{4}-\d{2}-\d{2})(?=[T \"']|$)", re.MULTILINE)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("vaultd-demo"))
@click.option("--port", type=int, metavar="N", help="Port to listen on; 0 takes a free one; default 8000.")
@click.option("--copy-only", is_flag=True, help="Make the vault and its settings, serve nothing.")
def demo(folder: Path, port: int | None, copy_only: bool) -> int:
    """Copy the sample vault into FOLDER, its dates moved to today, and serve it.

    A folder that is there already is served as it is. Delete it, and all traces are gone.

    \b
    Examples:
      vaultd demo
      vaultd demo /tmp/try --port 0
    """
    folder = folder.absolute()
    prepare(folder, today=datetime.now(SAMPLE_ZONE).date())
    if copy_only:
        say(f"The demonstration is in {folder}; serve it with: vaultd serve --config {folder / 'config.yaml'}")
        return 0
    return _serve(folder, port)


def _serve(folder: Path, port: int | None) -> int:
    from vaultd.cli.clients import CLIENTS
    from vaultd.cli.serve import run_daemon

    config = folder / "config.yaml"
    own = {"server.port": port, "state_dir": folder / "state"}
    settings = load_settings(config, folder / "vault", own).settings
    note(f"The vault: {folder / 'vault'} (open it in Obsidian, too)")
    note("For a client that starts a process (Claude Desktop, Cursor, Gemini CLI; others: vaultd config client NAME):")
    note(snippet(CLIENTS["claude-desktop"], Connection.by_process(folder / "vault", config, {})).rstrip())
    return run_daemon(settings, config)


def prepare(folder: Path, *, today: date) -> None:
    """Make `folder`/vault and `folder`/config.yaml where they are not there. Raises BadInput, StorageFull."""
    vault, config = folder / "vault", folder / "config.yaml"
    if folder.exists() and any(folder.iterdir()) and not (vault.is_dir() and config.is_file()):
        raise BadInput(f"{folder} holds other things; name a new folder: vaultd demo FOLDER")
    if not vault.is_dir():
        say(f"Making a sample vault in {vault}")
        try:
            _copy(files("vaultd").joinpath("data", "sample_vault"), vault, (today - SAMPLE_TODAY).days)
        except OSError as exc:
            raise StorageFull(f"{vault}: cannot be written ({exc.strerror}); name another folder") from exc
    if not config.is_file():
        write_text(config, _CONFIG)


def _copy(source: Traversable, target: Path, days: int) -> None:
    target.mkdir(parents=True)
    for item in source.iterdir():
        if item.is_dir():
            _copy(item, target / item.name, days)
        elif item.name.endswith(".md"):
            text = item.read_bytes().decode("utf-8")
            (target / item.name).write_bytes(shifted(text, days).encode("utf-8"))
        else:
            (target / item.name).write_bytes(item.read_bytes())


def shifted(text: str, days: int) -> str:
    """A note with the dates that stand as values in its frontmatter moved by whole days; the body is left alone."""
    found = _FRONTMATTER.match(text)
    if not found:
        return text
    start, end = found.span(1)
    return text[:start] + _DATE.sub(lambda match: match[1] + _moved(match[2], days), text[start:end]) + text[end:]


def _moved(day: str, days: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except (ValueError, OverflowError):  # looks like a date and is none
        return day
