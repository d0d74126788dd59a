"""The torture vault under a real core: one file per hazard, the heavy ones too. python bench/torture.py [--seeds 5]

Every file is indexed or named, no byte of it changes by being read; a property is set in each and taken out again, and
then the file is as it was; the doctor names every file that can't be read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.running import running
from tests.torture import build
from vaultd.core.errors import UnwritableNote
from vaultd.core.note import NotePath
from vaultd.vault import codec


async def torture(folder: Path, seed: int, *, heavy: bool) -> dict[str, int]:
    """Figures of one vault; an AssertionError where something did not hold."""
    vault = folder / "vault"
    vault.mkdir()
    hazards = build(vault, seed, heavy=heavy)
    before = {hazard.path: (vault / hazard.path).read_bytes() for hazard in hazards}
    outside = {place: place.read_bytes() for place in (folder / "vault-outside").iterdir()}
    written = refused = 0
    async with running(folder) as r:
        await r.embedded()
        named = {finding.where for finding in await r.core.services.doctor() if finding.level != "hint"}
        for hazard in hazards:
            path = NotePath(hazard.path)
            try:
                await r.core.scribe.set_properties(path, {"model_valence": 0.25}, why="torture")
                await r.core.scribe.set_properties(path, {"model_valence": codec.REMOVE}, why="torture")
                written += 1
                assert hazard.writable, hazard
            except UnwritableNote:
                refused += 1
                assert not hazard.writable, hazard
            assert (vault / path).read_bytes() == before[path], hazard
            assert not hazard.listed or path in named or before[path].__len__() > 10 * 2**20, hazard
        assert not await asyncio.to_thread(r.core.compare)
    assert outside == {place: place.read_bytes() for place in (folder / "vault-outside").iterdir()}
    return {"hazards": len(hazards), "written and taken back": written, "refused": refused}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    started, total = time.monotonic(), {}
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory(prefix="vaultd-torture-") as folder:
            for name, count in asyncio.run(torture(Path(folder), seed, heavy=seed == 0)).items():
                total[name] = total.get(name, 0) + count
    print(json.dumps({"seeds": given.seeds, **total, "seconds": round(time.monotonic() - started, 1)}, indent=1))


if __name__ == "__main__":
    main()
