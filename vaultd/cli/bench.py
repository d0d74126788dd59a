"""`vaultd bench`: how fast vaultd is on this machine, measured from outside on a vault made for it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.client import DaemonClient
from vaultd.cli.output import Failure, note, print_json, print_pairs, progress, say
from vaultd.config.paths import state_folder
from vaultd.config.runtime import find_daemon

START_TIMEOUT_S: Final = 120.0
READY_TIMEOUT_S: Final = 900.0
STOP_TIMEOUT_S: Final = 15.0
LOOK_EVERY_S: Final = 0.05
SEARCHES: Final = 60
WRITES: Final = 15
EMBEDDING_S: Final = 20.0  # how long embeddings are watched
SENTENCES_A_NOTE: Final = (3, 14)
DOMAINS: Final = ("日常", "工作", "学习", "旅行", "work", "reading", "家庭", "编程")


@click.command()
@click.option(
    "--notes", type=click.IntRange(10, 100_000), default=1_000, show_default=True, help="Memories in the vault."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def bench(notes: int, as_json: bool) -> None:
    """Measure this machine.

    Makes a vault in a temporary folder, serves it there, and measures what a person would feel: the first
    index, searches, keeping a memory, memory and time to stop. Your own vault is not touched.

    \b
    Examples:
      vaultd bench
      vaultd bench --notes 10000 --json
    """
    with tempfile.TemporaryDirectory(prefix="vaultd-bench-") as folder:
        root = Path(folder)
        note(f"Making a vault of {notes:,} memories")
        words = make_vault(root / "vault", notes)
        with _served(root) as served:
            figures = _measured(served, notes, words)
        figures["stop_s"] = round(served.stopped_s, 2)
    if as_json:
        print_json(figures)
        return
    say(f"{notes:,} memories:")
    print_pairs([(name, f"{figures[key]:,} {unit}") for key, name, unit in _TOLD if figures[key] is not None])


_TOLD: Final = (
    ("start_s", "until the daemon answers", "s"),
    ("index_s", "first index", "s"),
    ("notes_per_s", "notes read", "a second"),
    ("embeddings_per_s", "passages embedded", "a second"),
    ("search_p50_ms", "search, median", "ms"),
    ("search_p95_ms", "search, 19 of 20 within", "ms"),
    ("keep_p50_ms", "keeping a memory, median", "ms"),
    ("decay_ms", "a look at all scores", "ms"),
    ("memory_mib", "memory of the daemon", "MiB"),
    ("stop_s", "until it has stopped", "s"),
)


@dataclass(slots=True)
class _Served:
    client: DaemonClient
    pid: int
    start_s: float
    stopped_s: float = 0.0


def make_vault(root: Path, notes: int, *, seed: int = 7) -> list[str]:
    """Memories of recombined sentences of the sample vault; a word of each that no other has. The same for a seed."""
    rng = random.Random(seed)
    pool = _sentences()
    now = datetime.now(UTC)
    words = []
    for number in range(notes):
        note_id = f"{rng.getrandbits(48):012x}"
        word = "".join(rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(5)) + str(number)
        body = [*rng.sample(pool, rng.randint(*SENTENCES_A_NOTE)), f"The word of this note is {word}."]
        created = now - timedelta(minutes=rng.randint(0, 60 * 24 * 365))
        place = root / "dynamic" / rng.choice(DOMAINS) / f"note_{note_id}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(
            f"---\nid: '{note_id}'\nname: {word}\nimportance: {rng.randint(1, 10)}\n"
            f"created: {created.isoformat(timespec='seconds')}\nlast_active: {created.isoformat(timespec='seconds')}\n---\n"
            + "\n".join(body)
            + "\n",
            encoding="utf-8",
        )
        words.append(word)
    return words


def _sentences() -> list[str]:
    found: list[str] = []
    for path in sorted((Path(str(files("vaultd"))) / "data" / "sample_vault").rglob("*.md")):
        body = path.read_text(encoding="utf-8").split("\n---\n", 1)[-1]
        found += [text.strip() for text in re.findall(r"[^。！？.!?\n]+[。！？.!?]", body) if len(text.strip()) > 5]
    return found


@contextlib.contextmanager
def _served(root: Path) -> Iterator[_Served]:
    state, vault = root / "state", root / "vault"
    config = root / "config.yaml"
    config.touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VAULTD_", "OMBRE_"))}
    command = [sys.executable, "-P", "-m", "vaultd", "serve", "--vault", str(vault), "--port", "0"]
    begun = time.monotonic()
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=kept | {"VAULTD_STATE_DIR": str(state), "VAULTD_CONFIG": str(config)},
        )
    try:
        while (runtime := find_daemon(vault, state)) is None:
            if process.poll() is not None or time.monotonic() - begun > START_TIMEOUT_S:
                lines = (root / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise Failure(f"the daemon did not start: {lines[-1] if lines else 'it said nothing'}")
            time.sleep(LOOK_EVERY_S)
        served = _Served(DaemonClient(runtime), process.pid, time.monotonic() - begun)
        yield served
        ending = time.monotonic()
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        served.stopped_s = time.monotonic() - ending
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(state_folder(vault, state), ignore_errors=True)


def _measured(served: _Served, notes: int, words: list[str]) -> dict[str, Any]:
    client = served.client
    begun = time.monotonic()
    with progress("Indexing", notes) as update:
        while not (status := client.get("/api/status"))["ready"]:
            if time.monotonic() - begun > READY_TIMEOUT_S:
                raise Failure("the first index did not come to its end")
            update(int(status["notes"]))
            time.sleep(LOOK_EVERY_S)
        update(notes)
    index_s = served.start_s + time.monotonic() - begun  # reading begins before the daemon answers
    embedded = _embedding_rate(client)
    rng = random.Random(1)
    asked = rng.sample(words, min(SEARCHES, len(words)))
    searches = [_took("GET", client, "/api/search", {"q": word, "limit": 10}) for word in asked]
    texts = [f"Kept {n}, {word}." for n, word in enumerate(words[:WRITES])]
    writes = [_took("POST", client, "/api/buckets", {"text": text}) for text in texts]
    return {
        "notes": notes,
        "start_s": round(served.start_s, 2),
        "index_s": round(index_s, 2),
        "notes_per_s": round(notes / index_s),
        "embeddings_per_s": embedded,
        "search_p50_ms": round(statistics.median(searches) * 1000, 1),
        "search_p95_ms": round(sorted(searches)[int(len(searches) * 0.95)] * 1000, 1),
        "keep_p50_ms": round(statistics.median(writes) * 1000, 1),
        "decay_ms": round(_took("POST", client, "/api/decay/run?dry_run=true", {}) * 1000, 1),
        "memory_mib": _resident_mib(served.pid),
    }


def _took(method: str, client: DaemonClient, path: str, values: Mapping[str, str | int]) -> float:
    begun = time.perf_counter()
    if method == "GET":
        client.get(path, values)
    else:
        client.post(path, values)
    return time.perf_counter() - begun


def _embedding_rate(client: DaemonClient) -> float | None:
    """Passages a second while some wait; None without a model, or where nothing waits."""
    first = client.get("/api/status")
    begun = time.monotonic()
    latest = first
    while latest["pending"] and time.monotonic() - begun < EMBEDDING_S:
        time.sleep(LOOK_EVERY_S)
        latest = client.get("/api/status")
    done = latest["embedding"]["done"] - first["embedding"]["done"]
    return round(done / (time.monotonic() - begun), 1) if done else None


def _resident_mib(pid: int) -> int | None:
    if sys.platform == "win32":
        return None
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    return None
