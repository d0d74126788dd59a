"""Questions to vaultd and its peers in turns: what slows the machine slows all of them, so their ratio can be trusted.

    python -m bench.turns --harness DIR --base DIR --out DIR [--targets null:1000,vaultd:1000,basic-memory:1000] [--json FILE]

`--harness` and `--base` are those of `bench.peers`; a target is a name and how many notes it gets. All servers run at
once, each over a fresh copy of the same vault, and are asked by one client each: `--rounds` times `--questions`
questions. CPU is that of the server's process tree.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import statistics
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.peers import OVER_HTTP, add_vaultd, all_alive
from bench.road import speed_s

FIRST_PORT = 18_800
WARM_UP = 10
INDEXED_S = 1_500.0


def harness_module(folder: Path) -> ModuleType:
    """The harness's bench.py, under a name that is not ours."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("peer_harness", folder / "bench.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Contender:
    """One server of the harness over its own vault, running, and what its answers cost."""

    def __init__(
        self, harness: ModuleType, target: str, base: Path, out: Path, number: int, *, reuse: bool = False
    ) -> None:
        self.name = target
        self._harness = harness
        kind, _, notes = target.partition(":")
        vaults = base
        if kind == "vaultd":
            vaults = out / "alive" if reuse else all_alive(base, int(notes), out / "alive")
        transport = "http" if kind in OVER_HTTP else None
        self._run = harness.Run(
            argparse.Namespace(
                target=kind,
                n=int(notes),
                base=str(vaults),
                alt_base=str(out / "elsewhere"),
                transport=transport,
                port=FIRST_PORT + number,
                seed=11,
                reuse=reuse,
                edit_timeout=0,
            )
        )
        self.questions = [*self._run.man["queries"], *(needle["lex"] for needle in self._run.man["needles"])]
        self.cpu_ms: list[list[float]] = []
        self.wall_ms: list[list[float]] = []

    async def begin(self, open_: contextlib.AsyncExitStack) -> None:
        """Index the vault, start the server, wait until it finds what lies in it."""
        self._run.fresh()
        target = self._run.t
        for argv in () if self._run.a.reuse else target.index_cmds():
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=target.env(),
                cwd=self._run.home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await process.wait()
        self._client = await open_.enter_async_context(self._run.session())
        if target.freshness == "push" and not self._run.a.reuse:
            await target.push_all(self._client, self._run.man["notes"])
        if target.freshness != "none":
            found, wanted = await self._run.until_ready(self._client, INDEXED_S)
            print(f"{self.name}: {found} of {wanted} sentinels found", flush=True)

    async def ask(self, questions: list[str], *, counted: bool = True) -> None:
        """One round."""
        self._run.tree = self._harness.sp.tree(self._run.roots)
        cpu, wall = [], []
        for question in questions:
            _, took, server, _ = await self._run.timed(self._client, question)
            cpu.append(server * 1000)
            wall.append(took * 1000)
        if counted:
            self.cpu_ms.append(cpu)
            self.wall_ms.append(wall)

    def figures(self) -> dict[str, Any]:
        """Medians over the rounds of what a question takes."""
        every = sorted(value for values in self.cpu_ms for value in values)
        return {
            "cpu_p50_ms": round(statistics.median(map(statistics.median, self.cpu_ms)), 2),
            "cpu_p95_ms": round(every[int(len(every) * 0.95)], 2),
            "cpu_mean_ms": round(statistics.fmean(every), 2),
            "wall_p50_ms": round(statistics.median(map(statistics.median, self.wall_ms)), 2),
            "cpu_p50_ms of each round": [round(statistics.median(values), 2) for values in self.cpu_ms],
        }


async def measured(contenders: list[Contender], questions: int, rounds: int) -> dict[str, Any]:
    async with contextlib.AsyncExitStack() as open_:
        for contender in contenders:
            print(f"{contender.name}: index and start", flush=True)
            await contender.begin(open_)
        for contender in contenders:
            await contender.ask(contender.questions[:WARM_UP], counted=False)
        for number in range(rounds):
            for contender in contenders:
                await contender.ask(contender.questions[:questions])
            print(f"round {number + 1}: {[round(statistics.median(c.cpu_ms[-1]), 2) for c in contenders]}", flush=True)
        return {contender.name: contender.figures() for contender in contenders}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--targets", default="null:1000,vaultd:1000,basic-memory:1000")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--reuse", action="store_true", help="go on with the vaults and indexes of an earlier run")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    harness = harness_module(options.harness.absolute())
    add_vaultd()
    targets = options.targets.split(",")
    base, reuse = options.base.absolute(), options.reuse
    contenders = [Contender(harness, name, base, out, i, reuse=reuse) for i, name in enumerate(targets)]
    figures = asyncio.run(measured(contenders, options.questions, options.rounds)) | {"speed_s": speed_s()}
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
