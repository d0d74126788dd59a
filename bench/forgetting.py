"""A forgetting cycle over 10,000 memories of which 500 change, and what a question waits meanwhile.

python -m bench.forgetting [--notes 10000] [--changes 500]
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.vaultgen import make_vault
from vaultd.compose import compose
from vaultd.core.query import Query
from vaultd.settings import EmbeddingSettings, Settings, VaultSettings
from vaultd.vault.writer import VaultWriter

QUESTIONS = 60


def last_used(vault: Path, notes: list[tuple[str, str]], days: int, now: datetime) -> None:
    """Write into the notes that they were last used so many days ago: after 150 they have faded, after 1 not."""
    for path, _ in notes:
        place = vault / path
        lines = place.read_text(encoding="utf-8").split("\n")
        active = now - timedelta(days=days)
        lines = [
            f"last_active: {active.isoformat(timespec='seconds')}" if s.startswith("last_active:") else s for s in lines
        ]
        lines = ["importance: 5" if s.startswith("importance:") else s for s in lines]
        place.write_text("\n".join(lines), encoding="utf-8")


async def ask(core, marks: list[str], seconds: list[float]) -> None:
    """Questions one after the other until cancelled."""
    for mark in marks:
        begun = time.perf_counter()
        await core.services.answer(Query.parse(f"{mark} tea", max_results=5))
        seconds.append(time.perf_counter() - begun)
        await asyncio.sleep(0.01)


class WritesCpu:
    """Adds up the CPU seconds that the writer spends: notes, undo log, history, and the waiting for the disk's word."""

    def __init__(self, writer: VaultWriter) -> None:
        self.seconds = 0.0
        for name in ("change", "move"):
            setattr(writer, name, self._timed(getattr(writer, name)))

    def _timed(self, write):
        def timed(*args, **kwargs):
            begun = time.thread_time()
            try:
                return write(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - begun

        return timed


def p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)] * 1000


async def measure(count: int, changes: int, scratch: Path) -> dict[str, object]:
    vault, state = scratch / "vault", scratch / "state"
    state.mkdir()
    now = datetime.now(UTC)
    notes = make_vault(vault, count)
    last_used(vault, notes[:changes], 150, now)
    last_used(vault, notes[changes:], 1, now)
    settings = Settings(vault=VaultSettings(path=vault), embedding=EmbeddingSettings(provider="none"))
    core = compose(dataclasses.replace(settings), state)
    await asyncio.to_thread(core.open_index)
    consumer = asyncio.create_task(core.pipeline.run())
    core.pipeline.put_all((await asyncio.to_thread(core.compare)).paths)
    await core.pipeline.idle()
    writes = WritesCpu(core.writer)

    cpu = time.process_time()
    planned = await core.services.forget(dry_run=True)
    plan_s = time.process_time() - cpu
    begun, cpu = time.perf_counter(), time.process_time()
    first = await core.services.forget()
    wall_s, cycle_s, writes_s = time.perf_counter() - begun, time.process_time() - cpu, writes.seconds

    marks = [mark for _, mark in notes[-QUESTIONS:]]
    last_used(vault, notes[changes : 2 * changes], 150, now)
    core.pipeline.put_all((await asyncio.to_thread(core.compare)).paths)
    await core.pipeline.idle()
    idle: list[float] = []
    await ask(core, marks, idle)
    busy: list[float] = []
    asking = asyncio.create_task(ask(core, marks * 20, busy))
    second = await core.services.forget()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    await asyncio.to_thread(core.close)
    return {
        "notes": count,
        "archived": [first.archived, second.archived],
        "failed": first.failed + second.failed,
        "planned": planned.archived,
        "plan, CPU s": round(plan_s, 3),
        "cycle, CPU s": round(cycle_s, 2),
        "of it the file writes": round(writes_s, 2),
        "besides the file writes": round(cycle_s - writes_s, 2),
        "cycle, wall s": round(wall_s, 2),
        "question p50 / p95 ms, idle": [round(statistics.median(idle) * 1000, 1), round(p95(idle), 1)],
        "question p50 / p95 ms, during a second cycle": [round(statistics.median(busy) * 1000, 1), round(p95(busy), 1)],
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(asyncio.run(measure(options.notes, options.changes, Path(scratch))), indent=1))


if __name__ == "__main__":
    main()
