"""Three machines with one vault, synced by real git: random life on each, and what must hold once all is pulled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes import FakeClock
from tests.running import Running, running
from vaultd.core.errors import LostRace, NoSuchMemory, UnwritableNote
from vaultd.core.query import Query
from vaultd.services.remember import NewMemory
from vaultd.services.revise import Revision
from vaultd.vault import gitsetup
from vaultd.vault.frontmatter import part

MACHINES = 3
STEPS_BETWEEN_SYNCS = 5
_MARKER = re.compile(r"^(<<<<<<<|=======|>>>>>>>)( .*)?\n", re.MULTILINE)
_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
_WORDS = ("harbour", "violin", "lantern", "marmalade", "walnut", "bicycle", "umbrella", "telescope")


@dataclass
class Figures:
    """What a simulation did."""

    steps: int = 0
    merges: int = 0
    rebases: int = 0
    with_markers: int = 0
    refused_while_merging: int = 0
    typed: int = 0
    notes: int = 0
    actions: dict[str, int] = field(default_factory=dict)


def git(vault: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
    """A git command as a person's plugin would run it."""
    done = subprocess.run(
        ["git", *_IDENTITY, "-C", str(vault), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no", "GIT_CONFIG_GLOBAL": os.devnull},
    )
    assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done


class GitWorld:
    """The machines, and every line that a person or a model gave to keep."""

    def __init__(self, machines: list[Running], chance: random.Random) -> None:
        self.machines = machines
        self.chance = chance
        self.kept: set[str] = set()
        self.figures = Figures()

    async def step(self, number: int) -> None:
        """Something happens on one machine; now and then it syncs."""
        r = self.chance.choice(self.machines)
        action = self.chance.choice(("type", "type", "hold", "recall", "pin", "change", "forget", "keep_house"))
        self.figures.actions[action] = self.figures.actions.get(action, 0) + 1
        with contextlib.suppress(UnwritableNote, LostRace, NoSuchMemory):
            await getattr(self, action)(r, number)
        for one in self.machines:
            one.clock.advance(hours=self.chance.choice((1, 6)))
        if number % STEPS_BETWEEN_SYNCS == 0:
            await self.sync(self.chance.choice(self.machines))
        self.figures.steps += 1

    def _memory(self, r: Running) -> str:
        rows = sorted(row.id for row in r.core.mirror.rows() if r.core.layout.folder_kind(row.path) and not row.problem)
        return self.chance.choice(rows) if rows else "none"

    async def type(self, r: Running, number: int) -> None:
        """A line by hand, at the end of a note."""
        row = r.core.mirror.get(self._memory(r))
        if row is None:
            return
        line = f"typed-{number}-{self.chance.choice(_WORDS)}"
        self.kept.add(line)
        await r.write(row.path, (r.vault / row.path).read_bytes() + f"{line}\n".encode())

    async def hold(self, r: Running, number: int) -> None:
        """A text by a tool."""
        line = f"held-{number} {' '.join(self.chance.sample(_WORDS, 4))}"
        await r.core.services.remember(NewMemory(line, domain=("日常",), tags=(self.chance.choice(_WORDS),)))
        self.kept.add(line.split(" ")[0])

    async def recall(self, r: Running, _: int) -> None:
        """A question."""
        await r.core.services.answer(Query.parse(self.chance.choice(_WORDS)))

    async def pin(self, r: Running, _: int) -> None:
        """A memory that moves, or moves back."""
        await r.core.services.revise(self._memory(r), Revision(pinned=self.chance.random() < 0.5))

    async def change(self, r: Running, _: int) -> None:
        """Properties by a tool."""
        tags = tuple(self.chance.sample(_WORDS, 2))
        await r.core.services.revise(self._memory(r), Revision(tags=tags, resolved=self.chance.random() < 0.5))

    async def forget(self, r: Running, _: int) -> None:
        """A cycle; only the owner's does anything."""
        for one in self.machines:
            one.clock.advance(days=3)
        await r.core.services.forget()

    async def keep_house(self, r: Running, _: int) -> None:
        """A round."""
        await r.core.services.housekeeping()

    # -- git ------------------------------------------------------------------------------------------------------

    async def sync(self, r: Running) -> None:
        """Commit, pull by merge or rebase, settle what is left to a person, push."""
        await asyncio.to_thread(r.core.journal.flush)
        rebase = self.chance.random() < 0.5
        await asyncio.to_thread(git, r.vault, "add", "-A")
        await asyncio.to_thread(git, r.vault, "commit", "-qm", "auto", check=False)
        pulled = await asyncio.to_thread(
            git, r.vault, "pull", "-q", "--rebase" if rebase else "--no-rebase", "origin", "main", check=False
        )
        for _ in range(50):
            if pulled.returncode == 0:
                break
            self.figures.with_markers += 1
            await self._refuses(r)
            pulled = await asyncio.to_thread(self._settle, r.vault, rebase, pulled)
        assert pulled.returncode == 0, pulled.stderr
        self.figures.rebases += rebase
        self.figures.merges += not rebase
        await asyncio.to_thread(git, r.vault, "push", "-q", "origin", "HEAD:main")
        await r.reconcile()

    async def _refuses(self, r: Running) -> None:
        """While git is in the middle of it, nothing is written."""
        before = git(r.vault, "status", "--porcelain").stdout
        try:
            await r.core.services.revise(self._memory(r), Revision(importance=self.chance.randrange(1, 11)))
        except (UnwritableNote, LostRace):
            self.figures.refused_while_merging += 1
        except NoSuchMemory:
            pass
        held = await r.core.services.housekeeping()
        assert held.held
        assert git(r.vault, "status", "--porcelain").stdout == before

    def _settle(self, vault: Path, rebase: bool, pulled: subprocess.CompletedProcess) -> subprocess.CompletedProcess:
        """As a person would: both sides are wanted."""
        found = git(vault, "status", "--porcelain").stdout
        assert re.search(r"^(UU|AA|DU|UD|AU|UA|DD) ", found, re.MULTILINE), (found, pulled.stdout, pulled.stderr)
        for place in vault.rglob("*.md"):
            if ".git" in place.parts:
                continue
            text = place.read_text()
            if _MARKER.search(text):
                parts = part(text)
                assert not _MARKER.search(parts.header), text
                place.write_text(_MARKER.sub("", text))
        git(vault, "add", "-A")
        if rebase:
            return git(vault, "rebase", "--continue", check=False)
        return git(vault, "commit", "-q", "--no-edit", check=False)

    async def end(self) -> None:
        """Everybody pulls until all have the same."""
        for _ in range(3):
            for r in self.machines:
                await self.sync(r)
        await self._check()

    async def _check(self) -> None:
        trees = [git(r.vault, "rev-parse", "HEAD^{tree}").stdout for r in self.machines]
        assert len(set(trees)) == 1
        first = self.machines[0]
        texts = [place.read_text() for place in first.vault.rglob("*.md") if ".git" not in place.parts]
        whole = "\n".join(texts)
        lost = [line for line in self.kept if line not in whole]
        assert not lost, lost
        ids: dict[str, str] = {}
        for r in self.machines:
            assert not await asyncio.to_thread(r.core.compare)
            assert not [row.path for row in r.core.mirror.rows() if row.problem]
            # by path: of two files with one id, each machine lets the one it knew keep it until the other gets its own
            counts = {row.path: row.count_floor for row in r.core.mirror.rows()}
            assert ids.setdefault("rows", str(sorted(counts.items()))) == str(sorted(counts.items()))
        self.figures.typed = len(self.kept)
        self.figures.notes = len(texts)


async def simulate(folder: Path, steps: int, seed: int) -> Figures:
    """Run a simulation; an AssertionError where something did not hold."""
    chance = random.Random(seed)
    origin = folder / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    seedling = folder / "m0/vault"
    for number in range(6):
        place = seedling / f"dynamic/日常/seed {number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(
            f"---\nid: seed{number}\nname: seed {number}\ntype: dynamic\ndomain: [日常]\ntags: []\nimportance: 5\n"
            f"activation_count: 1\ncreated: 2026-05-17T12:00:00+00:00\nlast_active: 2026-11-29T12:00:00+00:00\n"
            f"---\nfirst {_WORDS[number]}\n\nmiddle\n\nlast\n"
        )
    git(seedling, "init", "-q", "-b", "main")
    gitsetup.install(seedling)
    git(seedling, "add", "-A")
    git(seedling, "commit", "-qm", "first")
    git(seedling, "remote", "add", "origin", str(origin))
    git(seedling, "push", "-q", "origin", "main")
    async with contextlib.AsyncExitStack() as stack:
        machines = []
        for number in range(MACHINES):
            home = folder / f"m{number}"
            if number:
                home.mkdir()
                subprocess.run(["git", "clone", "-q", str(origin), str(home / "vault")], check=True)
                gitsetup.install(home / "vault")
            machines.append(await stack.enter_async_context(running(home, clock=FakeClock(), seed=number)))
        await machines[0].core.services.ownership.claim()
        world = GitWorld(machines, chance)
        for number in range(1, steps + 1):
            await world.step(number)
        await world.end()
        return world.figures
