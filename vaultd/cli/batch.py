"""`vaultd reindex`, `reclassify`, `migrate`: work on the whole vault."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import Failure, note, print_json, progress, say
from vaultd.cli.reach import reach
from vaultd.core.errors import VaultdError

LOOK_EVERY_S: Final = 0.3
STILL_WAITING_S: Final = 3_600.0
STEPS_SHOWN: Final = 20


@click.command()
@vault_options
@json_option
@click.option("--embeddings", is_flag=True, help="Only ask again for embeddings that are missing or failed.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--detach", is_flag=True, help="Do not wait for the end.")
def reindex(
    config: Path | None, vault: Path | None, as_json: bool, embeddings: bool, dry_run: bool, detach: bool
) -> None:
    """Read every note again, as if the index were new.

    The index follows the vault by itself; this is for the doubt that it did. Searches answer meanwhile.
    Embeddings of texts that did not change are kept. Nothing in the vault is written, so nothing needs
    to be undone.

    \b
    Examples:
      vaultd reindex
      vaultd reindex --dry-run
      vaultd reindex --embeddings
    """
    client = reach(load_settings(config, vault))
    answer = client.post(_with_switches("/api/reindex", embeddings=embeddings, dry_run=dry_run))
    what = "passages" if embeddings else "notes"
    total = int(answer[what])
    if dry_run:
        print_json(answer) if as_json else say(f"{total:,} {what} would be {'embedded' if embeddings else 'read'}")
        return
    if not detach:
        _watch(client, "pending" if embeddings else "waiting", total, "Embedding" if embeddings else "Reading")
    status = client.get("/api/status")
    if as_json:
        print_json({**answer, "failed": status["failed"], "pending": status["pending"], "problems": status["problems"]})
    elif embeddings:
        say(f"{total:,} passages had no embedding; {status['pending']:,} wait for one now")
    else:
        say(
            f"{total:,} notes {'are being read' if detach else 'read'}; {status['pending']:,} passages wait for embedding"
        )
    if status["failed"] and not detach:
        raise Failure(f"{status['failed']} could not be done; the daemon's log says why")


def _watch(client: DaemonClient, key: str, total: int, label: str) -> None:
    deadline = time.monotonic() + STILL_WAITING_S
    with progress(label, total) as update:
        while (left := int(client.get("/api/status")[key])) and time.monotonic() < deadline:
            update(max(0, total - left))
            time.sleep(LOOK_EVERY_S)
        update(total - min(left, total))


@click.command()
@vault_options
@json_option
@click.option("--llm", is_flag=True, help="Ask the chat model instead of going by words.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def reclassify(config: Path | None, vault: Path | None, as_json: bool, llm: bool, dry_run: bool) -> None:
    """Give memories without a topic area one, and move them into its folder.

    By the words in them, or by the chat model. Nothing else in them changes; `vaultd undo` takes all back.

    \b
    Examples:
      vaultd reclassify --dry-run
      vaultd reclassify --llm
    """
    client = reach(load_settings(config, vault))
    done = _with_progress(client, _with_switches("/api/reclassify", llm=llm, dry_run=dry_run), "Sorting")
    _report(done, as_json=as_json, dry_run=dry_run, told=lambda step: f"{step['name']}: {', '.join(step['after'])}")
    if not as_json and done["left"]:
        note(f"{done['left']} say too little to be sorted" + ("" if llm else "; try --llm"))


@click.command()
@vault_options
@json_option
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def migrate(config: Path | None, vault: Path | None, as_json: bool, dry_run: bool) -> None:
    """Move memories into the folders of their topic areas.

    For vaults whose memories lie flat in `dynamic/`, as earlier programs left them. Links to them are kept
    alive; `vaultd undo` takes all back.

    \b
    Examples:
      vaultd migrate --dry-run
      vaultd migrate
    """
    client = reach(load_settings(config, vault))
    done = _with_progress(client, _with_switches("/api/migrate", dry_run=dry_run), "Moving")
    _report(done, as_json=as_json, dry_run=dry_run, told=lambda step: f"{step['path']} → {step['target']}")


def _with_switches(path: str, **switches: bool) -> str:
    """A path with those that are on."""
    on = [f"{name}=true" for name, given in switches.items() if given]
    return f"{path}?{'&'.join(on)}" if on else path


def _with_progress(client: DaemonClient, path: str, label: str) -> Mapping[str, Any]:
    """The answer of a POST that takes its time, while a bar shows how far it is. Raises VaultdError."""
    results: list[Mapping[str, Any] | VaultdError] = []

    def work() -> None:
        try:
            results.append(client.post(path))
        except VaultdError as exc:
            results.append(exc)

    thread = threading.Thread(target=work, name="request", daemon=True)
    thread.start()
    thread.join(LOOK_EVERY_S)  # most are done by now
    if thread.is_alive():
        with progress(label, None) as update:
            while thread.is_alive():
                update(int(client.get("/api/sorting")["done"]))
                thread.join(LOOK_EVERY_S)
    if isinstance(results[0], VaultdError):
        raise results[0]
    return results[0]


def _report(done: Mapping[str, Any], *, as_json: bool, dry_run: bool, told: Callable[[Mapping[str, Any]], str]) -> None:
    steps = done["steps"]
    if as_json:
        print_json(done)
    else:
        for step in steps if dry_run else steps[:STEPS_SHOWN]:
            say(told(step))
        if not dry_run and len(steps) > STEPS_SHOWN:
            say(f"… and {len(steps) - STEPS_SHOWN:,} more")
        verb = "would be moved" if dry_run else "moved"
        say(f"{len(steps):,} of {done['checked']:,} memories {verb}")
        if done["undo"]:
            say(f"take it back: vaultd undo {done['undo']}")
    for note_id, reason in done["failed"].items():
        note(f"{note_id}: {reason}")
    if done["failed"]:
        raise Failure(f"{len(done['failed'])} could not be done")
