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

QUESTIONS = 60


def fade(vault: Path, notes: list[tuple[str, str]], changes: int, now: datetime) -> None:
    """Make `changes` of the notes fall below the threshold, and keep all others above it."""
    for i, (path, _) in enumerate(notes):
        place = vault / path
        lines = place.read_text(encoding="utf-8").split("\n")
        active = now - timedelta(days=150 if i < changes else 1)
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


def p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)] * 1000


async def measure(count: int, changes: int, scratch: Path) -> dict[str, object]:
    vault, state = scratch / "vault", scratch / "state"
    state.mkdir()
    now = datetime.now(UTC)
    notes = make_vault(vault, count)
    fade(vault, notes, changes, now)
    settings = Settings(vault=VaultSettings(path=vault), embedding=EmbeddingSettings(provider="none"))
    core = compose(dataclasses.replace(settings), state)
    await asyncio.to_thread(core.open_index)
    consumer = asyncio.create_task(core.pipeline.run())
    core.pipeline.put_all((await asyncio.to_thread(core.compare)).paths)
    await core.pipeline.idle()
    marks = [mark for _, mark in notes[-QUESTIONS:]]
    idle: list[float] = []
    await ask(core, marks, idle)

    cpu = time.process_time()
    planned = await core.services.forget(dry_run=True)
    plan_s = time.process_time() - cpu
    busy: list[float] = []
    begun, cpu = time.perf_counter(), time.process_time()
    asking = asyncio.create_task(ask(core, marks * 20, busy))
    result = await core.services.forget()
    wall_s, cycle_s = time.perf_counter() - begun, time.process_time() - cpu
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    await asyncio.to_thread(core.close)
    return {
        "notes": count,
        "archived": result.archived,
        "failed": result.failed,
        "planned": planned.archived,
        "plan, CPU s": round(plan_s, 3),
        "whole cycle with its file writes and the questions meanwhile, CPU s": round(cycle_s, 2),
        "whole cycle, wall s": round(wall_s, 2),
        "question p50 / p95 ms, idle": [round(statistics.median(idle) * 1000, 1), round(p95(idle), 1)],
        "question p50 / p95 ms, during the cycle": [round(statistics.median(busy) * 1000, 1), round(p95(busy), 1)],
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
