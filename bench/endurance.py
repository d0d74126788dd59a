"""Hours of edits and searches against one daemon: does anything grow, does anything get slower?

python -m bench.endurance [--minutes 120] [--notes 10000] [--edits 10] [--searches 5]

Edits and searches a second, through the files and through MCP. Every half minute: memory, descriptors, threads, bytes
of the index. At the end the p95 of searches in the last tenth beside the first, and the growth from the second tenth
on (the first one is warming up). Every second search asks for a word that one note alone has, and must find it. Words only: a model's work would be measured instead of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.road import Daemon, p50_p95, timed, with_client
from bench.vaultgen import id_of, make_vault, word

SAMPLE_EVERY_S = 30.0
PARTS = 10


@dataclass
class Seen:
    """What was measured: seconds of searches with the moment of each, samples, edits and how many were not found."""

    searches: list[tuple[float, float]] = field(default_factory=list)
    samples: list[dict[str, float]] = field(default_factory=list)
    edits: int = 0
    checked: int = 0
    missed: int = 0


def sample(daemon: Daemon, state: Path, at: float) -> dict[str, float]:
    proc = Path(f"/proc/{daemon.process.pid}")
    return {
        "minute": round(at / 60, 1),
        "rss_mb": round(daemon.rss_mb(), 1),
        "descriptors": len(list((proc / "fd").iterdir())),
        "threads": len(list((proc / "task").iterdir())),
        "index_mb": round(sum(p.stat().st_size for p in state.rglob("index/**/*") if p.is_file()) / 1e6, 1),
        "state_mb": round(sum(p.stat().st_size for p in state.rglob("*") if p.is_file()) / 1e6, 1),
        "cpu_s": round(daemon.cpu_s(), 1),
    }


async def edit(vault: Path, notes: list[tuple[str, str]], rate: float, until: float, seen: Seen, last: dict) -> None:
    """Exchange the last line of a note, as often as asked; half of them by rename."""
    rng = random.Random(1)
    next_at = time.monotonic()
    while time.monotonic() < until:
        path, _ = rng.choice(notes)
        place, mark = vault / path, word(rng) + "e"
        lines = place.read_text(encoding="utf-8").split("\n")
        kept = [line for line in lines if not line.startswith("edited: ")]
        text = "\n".join(kept).rstrip("\n") + f"\nedited: {mark}\n"
        if seen.edits % 2:
            aside = place.with_name(f".{place.name}.tmp")
            aside.write_text(text, encoding="utf-8")
            aside.rename(place)
        else:
            place.write_text(text, encoding="utf-8")
        seen.edits += 1
        last[path] = mark
        next_at += 1 / rate
        await asyncio.sleep(max(0.0, next_at - time.monotonic()))


async def search(client, notes: list[tuple[str, str]], rate: float, until: float, seen: Seen) -> None:
    rng = random.Random(2)
    begun = next_at = time.monotonic()
    while time.monotonic() < until:
        path, mark = rng.choice(notes)
        alone = len(seen.searches) % 2 == 0
        query = mark if alone else f"{mark} morning tea"
        seconds, text = await timed(client, "breath", query=query, max_results=5)
        seen.searches.append((time.monotonic() - begun, seconds))
        seen.checked += alone
        seen.missed += alone and id_of(path) not in text
        next_at = max(next_at + 1 / rate, time.monotonic() - 1)
        await asyncio.sleep(max(0.0, next_at - time.monotonic()))


async def watch(daemon: Daemon, state: Path, until: float, seen: Seen) -> None:
    begun = time.monotonic()
    while time.monotonic() < until:
        seen.samples.append(await asyncio.to_thread(sample, daemon, state, time.monotonic() - begun))
        await asyncio.sleep(min(SAMPLE_EVERY_S, max(0.1, until - time.monotonic())))
    seen.samples.append(sample(daemon, state, time.monotonic() - begun))


def growth(samples: list[dict[str, float]], name: str) -> dict[str, float]:
    """The mean of the second and of the last tenth, and the most there ever was."""
    size = max(1, len(samples) // PARTS)
    second, last = samples[size : 2 * size] or samples[:1], samples[-size:]
    return {
        "second tenth": round(sum(s[name] for s in second) / len(second), 1),
        "last tenth": round(sum(s[name] for s in last) / len(last), 1),
        "most": max(s[name] for s in samples),
    }


def measure(minutes: float, count: int, edits: float, searches: float, scratch: Path) -> dict[str, object]:
    vault, state = scratch / "vault", scratch / "state"
    notes = make_vault(vault, count)
    daemon = Daemon(vault, state, "")
    daemon.wait(lambda status: status["ready"])
    seen, last = Seen(), {}

    async def run(client) -> list[str]:
        until = time.monotonic() + minutes * 60
        await asyncio.gather(
            edit(vault, notes, edits, until, seen, last),
            search(client, notes, searches, until, seen),
            watch(daemon, state, until, seen),
        )
        await asyncio.sleep(3)
        sought = list(last.items())[-200:]
        return [path for path, mark in sought if id_of(path) not in (await timed(client, "breath", query=mark))[1]]

    lost = asyncio.run(with_client(daemon, run))
    stop_s = daemon.stop()
    size = max(1, len(seen.searches) // PARTS)
    tenths = [p50_p95([s for _, s in seen.searches[i * size : (i + 1) * size]]) for i in range(PARTS)]
    return {
        "minutes": minutes,
        "notes": count,
        "edits": seen.edits,
        "searches": len(seen.searches),
        "searches for a note's own word": seen.checked,
        "of these missed": seen.missed,
        "of the last 200 edited notes not found": len(lost),
        "search ms, by tenths": tenths,
        "p95 of the last tenth by the first": round(tenths[-1]["p95_ms"] / tenths[0]["p95_ms"], 2),
        **{name: growth(seen.samples, name) for name in ("rss_mb", "descriptors", "threads", "index_mb", "state_mb")},
        "cpu, share of a core": round(seen.samples[-1]["cpu_s"] / (minutes * 60), 3),
        "stop_s": round(stop_s, 2),
        "load": round(os.getloadavg()[0], 1),
        "samples": seen.samples[:: max(1, len(seen.samples) // 20)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--edits", type=float, default=10, help="a second")
    parser.add_argument("--searches", type=float, default=5, help="a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(options.minutes, options.notes, options.edits, options.searches, Path(scratch))
    print(json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
