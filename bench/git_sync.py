"""Three daemons, three clones of one vault, real git: a long simulation. python bench/git_sync.py [--steps 1000] [--seed N]"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.gitworld import simulate


def tell(steps: int) -> None:
    """How far it is."""
    if steps % 50 == 0:
        print(f"{steps} steps", file=sys.stderr, flush=True)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vaultd-git-") as folder:
        figures = asyncio.run(simulate(Path(folder), given.steps, given.seed, tell))
    told = vars(figures) | {"seed": given.seed, "seconds": round(time.monotonic() - started)}
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
