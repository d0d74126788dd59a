"""The REST API over 10,000 buckets: list, search, network of 2,000 nodes. CPU time says what it costs, wall time what this machine had left.

usage: python bench/api.py [--buckets 10000] [--runs 60]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the daemon has it; read when numpy is imported

from tests.fakes import FakeEmbedder
from tests.web.served import bucket, served

WORDS = """
river boat sister printer office train chess window rain bread garden tomato letter phone meeting doctor sleep run
winter coffee museum concert bicycle lamp song grandmother hospital project deadline 实习 外婆 火车 阳台 咖啡 失眠 季度 汇报 妹妹 散步
""".split()  # noqa: SIM905 - a list of forty quoted words is no easier to read
DOMAINS = ("work", "home", "health", "reading", "旅行", "编程", "家庭", "情感")
DIMENSIONS = 384  # as many as the built-in model has
LIMITS_MS = {"list": 50, "list, filtered and with texts": 50, "next page": 50, "search": 100, "network of 2,000": 300}


def fill(vault: Path, count: int) -> None:
    """Write so many notes, each of some forty words."""
    rng = random.Random(7)
    for i in range(count):
        body = " ".join(rng.choice(WORDS) for _ in range(40)) + f" number {i}"
        domain = rng.choice(DOMAINS)
        day, month = rng.randint(1, 28), rng.randint(1, 11)
        text = bucket(
            f"f{i:011x}",
            body,
            name=" ".join(rng.choice(WORDS) for _ in range(4)),
            domain=[domain],
            tags=rng.sample(WORDS, 4),
            importance=rng.randint(1, 10),
            resolved=rng.random() < 0.2,
            created=f"2026-{month:02}-{day:02}T08:00:00+00:00",
        )
        place = vault / "dynamic" / domain / f"{i}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


async def measure(count: int, runs: int) -> None:
    """Print a line for each endpoint."""
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "vault", count)
        async with served(Path(folder), embedder=FakeEmbedder(DIMENSIONS)) as web:
            await asyncio.to_thread(web.one.core.queue.wait_idle, 600)
            second = (await web.get("/api/buckets?sort=created"))["cursor"]
            paths = {
                "list": lambda: "/api/buckets?limit=50",
                "list, filtered and with texts": lambda: (
                    f"/api/buckets?domain={rng.choice(DOMAINS)}&state=unresolved&snippet=1&limit=40"
                ),
                "next page": lambda: f"/api/buckets?sort=created&cursor={second}",
                "search": lambda: f"/api/search?q={rng.choice(WORDS)}+{rng.choice(WORDS)}+{rng.randint(0, count)}",
                "network of 2,000": lambda: f"/api/network?limit=2000&similarity=0.{rng.randint(50, 59)}",
            }
            print(f"{count:,} buckets, {runs} runs each; milliseconds")
            for name, path in paths.items():
                await web.get(path())
                times, cpu = [], []
                for _ in range(runs if "network" not in name else max(runs // 4, 8)):
                    where = path()
                    if "network" in name:
                        web.one.core.mirror.generation += 1  # as after a change: nothing is kept
                    start, spent = time.perf_counter(), time.process_time()
                    answer = await web.client.get(where)
                    times.append((time.perf_counter() - start) * 1000)
                    cpu.append((time.process_time() - spent) * 1000)
                    assert answer.status_code == 200, answer.text
                times.sort()
                p95 = times[min(len(times) - 1, round(0.95 * len(times)))]
                verdict = "ok" if p95 <= LIMITS_MS[name] else "over"
                print(
                    f"{name:32} CPU {statistics.median(cpu):6.1f}  wall median {statistics.median(times):7.1f}  p95 {p95:7.1f}  limit {LIMITS_MS[name]:4}  {verdict}"
                )


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buckets", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=60)
    given = parser.parse_args()
    asyncio.run(measure(given.buckets, given.runs))


if __name__ == "__main__":
    main()
