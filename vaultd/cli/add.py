"""`vaultd add`: a text from the command line, from a file or from standard input becomes a memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import note, print_json, say
from vaultd.cli.reach import reach
from vaultd.core.errors import BadInput

MOST_BYTES: Final = 10 << 20
_UNIT: Final = click.FloatRange(0, 1)
_OUTCOMES: Final[Mapping[str, str]] = {
    "new": "kept",
    "merged": "joined to a memory that says the same",
    "same": "already there, nothing was changed",
    "pinned": "kept and pinned",
    "feel": "kept as a feeling",
}
_WOULD: Final[Mapping[str, str]] = {
    "new": "would be kept",
    "merged": "is the older memory that it would be joined to",
    "same": "is there already; nothing would be changed",
    "pinned": "would be kept and pinned",
}
_NOTICES: Final[Mapping[str, str]] = {
    "no_model": "No chat model is set, so name, domain and mood are yours or the defaults.",
    "model_failed": "The chat model did not answer; name, domain and mood are the defaults.",
}


@click.command()
@click.argument("text", nargs=-1)
@vault_options
@json_option
@click.option("--file", "-f", "file", type=click.Path(path_type=Path), metavar="FILE", help="Take the text of a file.")
@click.option("--name", metavar="NAME", help="Its name; default: made from the text.")
@click.option("--domain", metavar="NAMES", help="1-2 topic areas, comma-separated.")
@click.option("--tags", metavar="NAMES", help="Comma-separated.")
@click.option("--importance", type=click.IntRange(1, 10), default=5, show_default=True)
@click.option("--valence", type=_UNIT, metavar="0-1", help="Mood: 0 bad, 1 good.")
@click.option("--arousal", type=_UNIT, metavar="0-1", help="Mood: 0 calm, 1 stirred.")
@click.option("--pin", is_flag=True, help="Never fades, and always surfaces.")
@click.option("--dry-run", is_flag=True, help="Only say what would become of it.")
def add(
    text: tuple[str, ...],
    config: Path | None,
    vault: Path | None,
    as_json: bool,
    file: Path | None,
    pin: bool,
    dry_run: bool,
    **said: Any,
) -> None:
    """Keep a text as a memory.

    The text is what follows, or a file's, or what comes in on standard input. `vaultd undo` takes it back.

    \b
    Examples:
      vaultd add The rice cooker's new gasket is in the second drawer
      vaultd add --file talk.md --domain Work --importance 7
      pbpaste | vaultd add --tags recipe
    """
    body = {"text": _text(text, file), "pinned": pin, "source": "vaultd add"}
    body |= {key: value for key, value in said.items() if value is not None}
    answer = reach(load_settings(config, vault)).post(f"/api/buckets{'?dry_run=true' if dry_run else ''}", body)
    if as_json:
        print_json(answer)
        return
    if dry_run:
        say(f"{answer['name']}: {_WOULD[answer['outcome']]}")
        say(f"  {answer['path']}")
        return
    say(f"{answer['id']}  {answer['name']}: {_OUTCOMES.get(answer['outcome'], answer['outcome'])}")
    say(f"  {answer['path']}")
    for one in answer["notices"]:
        note(_NOTICES.get(one["code"], str(one)))


def _text(words: tuple[str, ...], file: Path | None) -> str:
    if words and file is not None:
        raise click.UsageError("give a text or --file, not both.")
    if words and words != ("-",):
        return " ".join(words)
    if file is not None:
        return _decoded(_read(file), str(file))
    if not words and sys.stdin.isatty():
        raise click.UsageError("give a text, --file FILE, or pipe the text in.")
    return _decoded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input")


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as exc:
        raise BadInput(f"{file}: cannot be read ({exc.strerror})") from exc


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > MOST_BYTES:
        raise BadInput(f"{name}: is over {MOST_BYTES >> 20} MiB; import it instead: vaultd import {name}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise BadInput(f"{name}: is not UTF-8 text (byte {exc.start}); save it as UTF-8") from exc
