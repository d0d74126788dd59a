"""One import from the file to its end: sent to the daemon, looked at, asked about, watched."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.output import Failure, note, print_json, progress, say
from vaultd.core.errors import BadInput

LOOK_EVERY_S: Final = 0.3
MOST_BYTES: Final = 4 << 30
FAILED: Final = 1
AGAIN_HINT: Final = "what it brought in is not brought in twice, unless with --again"


def run_import(
    client: DaemonClient,
    file: Path,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    dry_run: bool,
    detach: bool,
    yes: bool,
) -> int:
    """Import a file or a folder; the exit code. What is not begun leaves nothing behind. Raises VaultdError."""
    job_id = str(_upload(client, file)["id"])
    begun = False
    try:
        found = client.post(f"/api/import/{job_id}/preflight", options)
        if as_json and dry_run:
            print_json(found)
        elif not as_json:
            tell_contents(found)
        if not dry_run:
            _refuse(found, options)
            if not yes:
                click.confirm("Import it?", default=True, abort=True, err=True)
            client.post(f"/api/import/{job_id}/start", options)
            begun = True
    finally:
        if not begun:
            client.delete(f"/api/import/{job_id}")
    if dry_run:
        return 0
    if detach:
        print_json({"id": job_id}) if as_json else say(f"{job_id} has begun; see: vaultd import status {job_id}")
        return 0
    return tell_end(client, job_id, as_json=as_json, pause=time.sleep)


def _upload(client: DaemonClient, file: Path) -> Mapping[str, Any]:
    headers = {"X-Filename": quote(file.resolve().name)}
    if file.is_file():
        return _sent(client, file, headers)
    from vaultd.services.importing.packing import pack_folder

    with tempfile.TemporaryDirectory(prefix="vaultd-") as folder:
        packed = Path(folder) / "notes.zip"
        pack_folder(file, packed, MOST_BYTES)
        return _sent(client, packed, headers)


def _sent(client: DaemonClient, file: Path, headers: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        with file.open("rb") as opened:
            size = {"Content-Length": str(file.stat().st_size)}
            answer: Mapping[str, Any] = client.upload("/api/import/upload", opened, {**headers, **size})
    except OSError as exc:
        raise BadInput(f"{file}: cannot be read ({exc.strerror})") from exc
    return answer


def tell_contents(found: Mapping[str, Any]) -> None:
    """What an upload holds, for a person."""
    say(f"{found['format_name']}: {_counted(found) or 'nothing'}")
    if found["first"]:
        say(f"  from {str(found['first'])[:10]} to {str(found['last'])[:10]}")
    if found["titles"]:
        say(f"  such as: {', '.join(found['titles'][:4])}")
    if known := _counted(found, "known_"):
        say(f"  brought in before, and left out: {known}")
    if found["attachments"]:
        say(f"  noted by name, not taken over: {_number(found['attachments'], 'attachments')}")
    for warning in found["warnings"]:
        say(f"  {warning}")
    if found["requests"]:
        say(f"  the chat model will be asked about {_spend(found)}, and once for each memory that joins an older one")
        if not found["model_available"]:
            say("  but no chat model is set: only --mode notes works now")


def _counted(found: Mapping[str, Any], which: str = "") -> str:
    counts = [(found[f"{which}{names}"], names) for names in ("conversations", "turns", "notes")]
    return ", ".join(_number(count, names) for count, names in counts if count)


def _number(count: int, names: str) -> str:
    return f"{count:,} {names if count != 1 else names[:-1]}"


def _spend(counts: Mapping[str, Any]) -> str:
    """Requests, tokens and, where prices are set, money: of an estimate as of a count."""
    cost = "" if counts["cost"] is None else f", {counts['cost']:g} {counts['currency']}".rstrip()
    tokens = _number(counts["tokens_in"] + counts["tokens_out"], "tokens")
    return f"{_number(counts['requests'], 'times')} ({tokens}{cost})"


def _refuse(found: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    if found["broken"] and not options["partial"]:
        raise BadInput(f"{found['broken']}; import those all the same with --partial, or export again")
    if options["mode"] == "memories" and found["needs_model"] and not found["model_available"]:
        raise BadInput(
            "no chat model is set, so conversations cannot be split into memories: "
            "set llm.api_key, or add --mode notes for one note per conversation"
        )


def tell_end(client: DaemonClient, job_id: str, *, as_json: bool, pause: Callable[[float], None]) -> int:
    """Watch an import to its end and tell what came of it; the exit code. Ctrl-C leaves it running."""
    status = client.get("/api/import/status", {"job": job_id})
    try:
        with progress("Importing", int(status["chunks"]) or None) as update:
            while status["state"] == "running":
                update(int(status["done"]))
                pause(LOOK_EVERY_S)
                status = client.get("/api/import/status", {"job": job_id})
            update(int(status["done"]))
    except KeyboardInterrupt:
        note(f"It goes on in the background; see `vaultd import status`, stop it with `vaultd import pause {job_id}`")
        return FAILED
    if as_json:
        print_json(status)
    else:
        _tell_kept(job_id, status)
    if status["state"] == "done":
        return 0
    raise Failure(f"the import is {status['state']}: {status['reason']}; go on with: vaultd import resume {job_id}")


def _tell_kept(job_id: str, status: Mapping[str, Any]) -> None:
    kept = status["kept"]
    named = (("new", "new"), ("merged", "joined to older ones"), ("same", "there already"))
    counts = [f"{kept[key]} {name}" for key, name in named if kept.get(key)]
    say(f"memories: {', '.join(counts) or 'none'}")
    if status["near"]:
        say(f"{status['near']} say much the same as others")
    if status["requests"]:
        say(f"the chat model was asked {_spend(status)}")
    if kept:
        say(f"go through them: vaultd import results {job_id}, or in the dashboard")
