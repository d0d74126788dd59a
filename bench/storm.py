"""A checkout of thousands of notes there and back under a real watcher. python bench/storm.py [--notes 10000]"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.running import running

_WAIT_S = 600.0


def _git(vault: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", *identity, "-C", str(vault), *arguments], check=True, capture_output=True)


async def _equal(r, applied: int) -> float:
    """Seconds until every touched path was looked at."""
    started = time.monotonic()
    while r.core.pipeline.counters.applied < applied:
        assert time.monotonic() - started < _WAIT_S, r.core.pipeline.counters
        await asyncio.sleep(0.05)
    await r.core.pipeline.idle()
    took = time.monotonic() - started
    left = await asyncio.to_thread(r.core.compare)
    assert not left, len(left)
    return round(took, 1)


async def storm(folder: Path, notes: int) -> dict[str, object]:
    """The figures."""
    vault = folder / "vault"
    for number in range(notes):
        place = vault / f"Notes/{number % 50}/{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"first words of note {number}\n")
    _git(vault, "init", "-q", "-b", "main")
    _git(vault, "add", "-A")
    _git(vault, "commit", "-qm", "one")
    for number in range(notes):
        (vault / f"Notes/{number % 50}/{number}.md").write_text(f"second words of note {number}\n")
    _git(vault, "commit", "-qam", "two")
    started = time.monotonic()
    async with running(folder, watch=True) as r:
        first = round(time.monotonic() - started, 1)
        await asyncio.to_thread(r.core.queue.wait_idle, _WAIT_S)
        applied = r.core.pipeline.counters.applied
        await asyncio.to_thread(_git, vault, "checkout", "-q", "HEAD~1")
        there = await _equal(r, applied + notes)
        await asyncio.to_thread(r.core.queue.wait_idle, _WAIT_S)
        asked, applied = len(r.embedder.passages), r.core.pipeline.counters.applied
        await asyncio.to_thread(_git, vault, "checkout", "-q", "main")
        back = await _equal(r, applied + notes)
        await asyncio.to_thread(r.core.queue.wait_idle, _WAIT_S)
        again = len(r.embedder.passages) - asked
        batches = r.core.pipeline.counters.batches
    assert asked == 2 * notes and not again, (asked, again)
    return {
        "notes": notes,
        "first index, s": first,
        "there, s": there,
        "back, s": back,
        "batches": batches,
        "embeddings asked for": asked,
        "embeddings computed twice": again,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vaultd-storm-") as folder:
        print(json.dumps(asyncio.run(storm(Path(folder), given.notes)), indent=1))


if __name__ == "__main__":
    main()
