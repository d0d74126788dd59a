"""kill -9 again and again. python bench/kill.py [--kills 300] [--seed N] [--seconds S]"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.killing import KILLS_BETWEEN_CHECKS, Kills, check, kill_once


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
            kill_once(Path(folder), given.seed + seen.kills, seen, known)
            if seen.kills % KILLS_BETWEEN_CHECKS == 0:
                asyncio.run(check(Path(folder), seen, known))
                print(f"{seen.kills} kills", file=sys.stderr, flush=True)
    told = dataclasses.asdict(seen) | {"seed": given.seed, "seconds": round(time.monotonic() - started)}
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
