"""Three machines with one vault, a daemon each, synced by real git: random life on them, and what must hold at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client

from tests.e2e.daemon import Daemon, serving
from vaultd.vault import gitsetup
from vaultd.vault.frontmatter import part

MACHINES = 3
STEPS_BETWEEN_SYNCS = 5
MOST_ROUNDS_AT_THE_END = 40
_MARKER = re.compile(r"^(<<<<<<<|=======|>>>>>>>)( .*)?\n", re.MULTILINE)
_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
_WORDS = ("harbour", "violin", "lantern", "marmalade", "walnut", "bicycle", "umbrella", "telescope")
_CONFIG = """\
embedding: {provider: none}
journal: {quiet_s: 0, project_every: 5s}
decay: {threshold: 1.0}
"""  # nothing waits for quiet, and what is resolved is forgotten at once: the steps follow close upon each other


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
    missed: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


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


@dataclass
class Machine:
    """A clone, its daemon, and a model that speaks to it."""

    vault: Path
    daemon: Daemon
    client: Client

    async def ask(self, path: str, *, method: str = "GET", body: object = None) -> dict:
        """A REST call."""
        return await asyncio.to_thread(self.daemon.get, path, method=method, body=body)

    async def git(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        """A git command in this clone."""
        return await asyncio.to_thread(git, self.vault, *arguments, check=check)

    def notes(self) -> list[Path]:
        """The files of memories, as a person sees them."""
        return sorted(
            place for kind in ("dynamic", "permanent", "archive") for place in self.vault.glob(f"{kind}/**/*.md")
        )

    async def memories(self) -> dict[str, dict]:
        """What the daemon lists, by path."""
        page = await self.ask("/api/buckets?limit=200&sort=name")
        items = page["items"]
        while page["cursor"]:
            page = await self.ask(f"/api/buckets?limit=200&sort=name&cursor={page['cursor']}")
            items += page["items"]
        return {item["path"]: item for item in items if item["kind"] != "own"}

    async def settled(self) -> list[dict]:
        """What the doctor finds once the daemon has looked at everything."""
        for _ in range(100):
            findings = (await self.ask("/api/doctor"))["findings"]
            if not any(one["where"] == "index" for one in findings):
                return findings
            await asyncio.sleep(0.1)
        raise AssertionError(findings)


class GitWorld:
    """The machines, and every line that a person or a model gave to keep."""

    def __init__(self, machines: list[Machine], chance: random.Random) -> None:
        self.machines = machines
        self.chance = chance
        self.kept: set[str] = set()
        self.figures = Figures()

    async def step(self, number: int) -> None:
        """Something happens on one machine; now and then it syncs."""
        m = self.chance.choice(self.machines)
        action = self.chance.choice(
            (
                "type",
                "type",
                "type",
                "rename",
                "hold",
                "hold",
                "recall",
                "recall",
                "pin",
                "change",
                "forget",
                "restore",
                "keep_house",
            )
        )
        self.figures.actions[action] += 1
        await getattr(self, action)(m, number)
        if number % STEPS_BETWEEN_SYNCS == 0:
            await self.sync(self.chance.choice(self.machines))
        self.figures.steps += 1

    async def _tool(self, m: Machine, name: str, **arguments: object) -> bool:
        result = await m.client.call_tool(name, arguments)
        if result.is_error:
            self.figures.refused[result.content[0].text.rpartition(": ")[2]] += 1
        return not result.is_error

    async def _memory(self, m: Machine) -> str:
        ids = sorted(item["id"] for item in (await m.memories()).values())
        return self.chance.choice(ids) if ids else "none"

    # -- a person's ---------------------------------------------------------------------------------------------------

    async def type(self, m: Machine, number: int) -> None:
        """A line by hand, at the end of a note."""
        if notes := m.notes():
            line = f"typed-{number}-{self.chance.choice(_WORDS)}"
            with contextlib.suppress(FileNotFoundError), self.chance.choice(notes).open("r+b") as file:
                file.seek(0, os.SEEK_END)  # a file that moved meanwhile is not made anew
                file.write(f"{line}\n".encode())
                self.kept.add(line)

    async def rename(self, m: Machine, number: int) -> None:
        """Another name by hand."""
        if notes := m.notes():
            place = self.chance.choice(notes)
            with contextlib.suppress(FileNotFoundError):
                place.rename(place.with_name(f"{self.chance.choice(_WORDS)} {number}.md"))

    # -- the tools' ---------------------------------------------------------------------------------------------------

    async def hold(self, m: Machine, number: int) -> None:
        """A text by a tool."""
        line = f"held-{number} {' '.join(self.chance.sample(_WORDS, 4))}"
        importance = self.chance.randrange(1, 11)
        if await self._tool(
            m, "hold", content=line, domain="日常", tags=self.chance.choice(_WORDS), importance=importance
        ):
            self.kept.add(line.split(" ")[0])

    async def recall(self, m: Machine, _: int) -> None:
        """A question."""
        await self._tool(m, "breath", query=self.chance.choice(_WORDS))

    async def pin(self, m: Machine, _: int) -> None:
        """A memory that moves, or moves back."""
        await self._tool(m, "trace", bucket_id=await self._memory(m), pinned=self.chance.randrange(2))

    async def change(self, m: Machine, _: int) -> None:
        """Properties by a tool."""
        tags = self.chance.sample(_WORDS, 2)
        await self._tool(
            m, "trace", bucket_id=await self._memory(m), tags=",".join(tags), resolved=self.chance.randrange(2)
        )

    async def restore(self, m: Machine, _: int) -> None:
        """Out of the archive."""
        await self._tool(m, "trace", bucket_id=await self._memory(m), restore=True)

    async def forget(self, m: Machine, _: int) -> None:
        """A cycle; only the owner's does anything."""
        await m.ask("/api/decay/run", method="POST")

    async def keep_house(self, m: Machine, _: int) -> None:
        """A round."""
        await m.ask("/api/doctor/fix", method="POST")

    # -- git ----------------------------------------------------------------------------------------------------------

    async def sync(self, m: Machine) -> None:
        """Commit, pull by merge or rebase, settle what is left to a person, push."""
        rebase = self.chance.random() < 0.5
        for _ in range(20):
            added = await m.git("add", "-A", check=False)
            if added.returncode:
                # a note was moved while git looked at it; a plugin tries again with its next round
                assert "unable to stat" in added.stderr and ".tmp'" not in added.stderr, added
                continue
            await m.git("commit", "-qm", "auto", check=False)
            pulled = await m.git("pull", "-q", "--rebase" if rebase else "--no-rebase", "origin", "main", check=False)
            if pulled.returncode == 0:
                break
            if _is_under_way(m.vault):
                await self._settle(m, rebase=rebase)
                break
            # the daemon wrote between the commit and the pull, and git wants that committed first
            assert re.search(r"unstaged changes|uncommitted changes|would be overwritten|index\.lock", pulled.stderr), (
                pulled
            )
        else:
            raise AssertionError(pulled.stderr)
        self.figures.rebases += rebase
        self.figures.merges += not rebase
        await m.git("push", "-q", "origin", "HEAD:main")

    async def _settle(self, m: Machine, *, rebase: bool) -> None:
        """As a person would: both sides are wanted."""
        for _ in range(50):
            self.figures.with_markers += 1
            await self._refuses(m)
            status = (await m.git("status", "--porcelain")).stdout
            assert re.search(r"^(UU|AA|DU|UD|AU|UA|DD) ", status, re.MULTILINE), status
            await asyncio.to_thread(_take_markers_out, m.vault)
            await m.git("add", "-A")
            going_on = ("rebase", "--continue") if rebase else ("commit", "-q", "--no-edit")
            done = await m.git(*going_on, check=False)
            if not _is_under_way(m.vault):
                return
            assert "CONFLICT" in done.stdout + done.stderr, done
        raise AssertionError("the rebase comes to no end")

    async def _refuses(self, m: Machine) -> None:
        """While git is in the middle of it, nothing is written."""
        before = (await m.git("status", "--porcelain")).stdout
        note_id = await self._memory(m)
        assert not await self._tool(m, "trace", bucket_id=note_id, importance=self.chance.randrange(1, 11))
        await m.ask("/api/doctor/fix", method="POST")
        await self._tool(m, "breath", query=self.chance.choice(_WORDS))
        assert (await m.git("status", "--porcelain")).stdout == before
        self.figures.refused_while_merging += 1

    # -- the end ------------------------------------------------------------------------------------------------------

    async def end(self) -> None:
        """Everybody keeps house and syncs until all have the same; counters reach the journals within seconds."""
        for _ in range(MOST_ROUNDS_AT_THE_END):
            for m in self.machines:
                await m.ask("/api/doctor/fix", method="POST")
                await self.sync(m)
            if await self._is_equal():
                break
        await self._check()

    async def _is_equal(self) -> bool:
        heads = {(await m.git("rev-parse", "HEAD")).stdout for m in self.machines}
        changed = [(await m.git("status", "--porcelain")).stdout for m in self.machines]
        if len(heads) > 1 or any(changed):
            return False
        seen = [await self._seen(m) for m in self.machines]
        return seen[0] == seen[1] == seen[2]

    async def _seen(self, m: Machine) -> dict[str, tuple]:
        await m.settled()
        return {path: (item["id"], item["activation_count"]) for path, item in (await m.memories()).items()}

    async def _check(self) -> None:
        trees = [(await m.git("rev-parse", "HEAD^{tree}")).stdout for m in self.machines]
        assert len(set(trees)) == 1
        places = [place for place in self.machines[0].vault.rglob("*.md") if ".git" not in place.parts]
        whole = "\n".join(place.read_text() for place in places)
        lost = [line for line in self.kept if line not in whole]
        assert not lost, lost
        seen: list[dict[str, tuple]] = []
        for m in self.machines:
            findings = await m.settled()
            assert not [one for one in findings if one["level"] == "error"], findings
            seen.append(await self._seen(m))
            assert len({note_id for note_id, _ in seen[-1].values()}) == len(seen[-1])
            self.figures.missed += (await m.ask("/api/status"))["missed"]
        assert seen[0] == seen[1] == seen[2], [dict(one.items() ^ seen[0].items()) for one in seen]
        self.figures.typed = len(self.kept)
        self.figures.notes = len(places)


def _is_under_way(vault: Path) -> bool:
    return any((vault / ".git" / mark).exists() for mark in ("MERGE_HEAD", "rebase-merge", "rebase-apply"))


def _take_markers_out(vault: Path) -> None:
    for place in vault.rglob("*.md"):
        if ".git" in place.parts:
            continue
        text = place.read_text()
        if _MARKER.search(text):
            assert not _MARKER.search(part(text).header), text
            place.write_text(_MARKER.sub("", text))


def _first_clone(vault: Path, origin: Path) -> None:
    for number in range(6):
        place = vault / f"dynamic/日常/seed {number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(
            f"---\nid: seed{number}\nname: seed {number}\ntype: dynamic\ndomain: [日常]\ntags: []\nimportance: 5\n"
            f"activation_count: 1\ncreated: 2026-05-17T12:00:00+00:00\nlast_active: 2026-11-29T12:00:00+00:00\n"
            f"---\nfirst {_WORDS[number]}\n\nmiddle\n\nlast\n"
        )
    git(vault, "init", "-q", "-b", "main")
    gitsetup.install(vault)
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "first")
    git(vault, "remote", "add", "origin", str(origin))
    git(vault, "push", "-q", "origin", "main")


@contextlib.asynccontextmanager
async def _machines(folder: Path) -> AsyncIterator[list[Machine]]:
    origin = folder / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    async with contextlib.AsyncExitStack() as stack:
        machines = []
        for number in range(MACHINES):
            vault, state = folder / f"m{number}/vault", folder / f"m{number}/state"
            state.mkdir(parents=True)
            (state / "config.yaml").write_text(_CONFIG)
            if number:
                subprocess.run(["git", "clone", "-q", str(origin), str(vault)], check=True)
                gitsetup.install(vault)
            else:
                _first_clone(vault, origin)
            daemon = stack.enter_context(serving(vault, state))
            daemon.wait(lambda status: status["ready"])
            machines.append(Machine(vault, daemon, await stack.enter_async_context(daemon.client())))
        yield machines


async def simulate(folder: Path, steps: int, seed: int, tell: Callable[[int], None] = lambda _: None) -> Figures:
    """Run a simulation, `tell`ing of each step; an AssertionError where something did not hold."""
    async with _machines(folder) as machines:
        await machines[0].ask("/api/lifecycle", method="POST", body={"action": "claim"})
        world = GitWorld(machines, random.Random(seed))
        for number in range(1, steps + 1):
            await world.step(number)
            tell(number)
        await world.end()
        return world.figures
