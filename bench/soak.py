"""Random operations without end over one vault, index and rebuild compared again and again.

python bench/soak.py [--operations 10000] [--every 100] [--seed N] [--seconds S]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.running import running
from tests.world import World


async def soak(operations: int, every: int, seed: int, seconds: float) -> dict[str, object]:
    """The figures of a run; an AssertionError where something did not hold, with the seed to repeat it."""
    folder = Path(tempfile.mkdtemp(prefix="vaultd-soak-"))
    started, done, checks, restarts = time.monotonic(), 0, 0, 0
    chance = random.Random(seed)
    counts: dict[str, int] = {}
    clock = embedder = None
    try:
        while done < operations and time.monotonic() - started < seconds:
            async with running(folder, clock=clock, embedder=embedder) as r:
                clock, embedder = r.clock, r.embedder
                world = World(r, chance.getrandbits(32))
                for _ in range(3):
                    for _ in range(every):
                        await world.step()
                    done += every
                    await world.check(folder / "anew")
                    checks += 1
                for name, count in world.done.items():
                    counts[name] = counts.get(name, 0) + count
            restarts += 1
            print(f"{done} operations, {checks} comparisons", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "seed": seed,
        "operations": done,
        "comparisons": checks,
        "restarts": restarts,
        "seconds": round(time.monotonic() - started),
        "counts": counts,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr)
    print(json.dumps(asyncio.run(soak(given.operations, given.every, given.seed, given.seconds)), indent=1))


if __name__ == "__main__":
    main()
