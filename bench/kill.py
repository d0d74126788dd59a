"""kill -9 again and again. python bench/kill.py [--kills 300] [--seed N] [--seconds S]"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import pickle
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lancedb  # noqa: F401 – before the forks, which then need not import it

from tests.killing import KILLS_BETWEEN_CHECKS, Kills, check, kill_fork


def checked(folder: Path, seen: Kills, known: dict[str, float]) -> tuple[Kills, dict[str, float]]:
    """The check, with what it found."""
    asyncio.run(check(folder, seen, known))
    return seen, known


def in_fork(step: Callable[[], object]) -> Any:
    """What a step returns, done in a fork of this process, so that this one stays without threads."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        done = False
        try:
            with os.fdopen(writing, "wb") as out:
                pickle.dump(step(), out)
            done = True
        finally:
            if not done:
                traceback.print_exc()
            os._exit(0 if done else 1)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        raw = told.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the check failed"
    return pickle.loads(raw)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr)
    seen, known, started = Kills(), {}, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vaultd-kill-") as folder:
        while seen.kills < given.kills and time.monotonic() - started < given.seconds:
            kill_fork(Path(folder), given.seed + seen.kills, seen, known)
            if seen.kills % KILLS_BETWEEN_CHECKS == 0:
                seen, known = in_fork(lambda folder=Path(folder), seen=seen, known=known: checked(folder, seen, known))
                print(f"{seen.kills} kills", file=sys.stderr, flush=True)
    told = dataclasses.asdict(seen) | {"seed": given.seed, "seconds": round(time.monotonic() - started)}
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
