"""A daemon's core in a child process that is killed in the middle of its work, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.fakes import FakeClock
from tests.running import running, snapshot
from vaultd.core.note import NotePath
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision
from vaultd.vault.atomic import remove_leftovers

ROOT = Path(__file__).resolve().parents[1]
NOTES = 12
KILLS_BETWEEN_CHECKS = 4
MOST_UNSAID = 1.0  # activations of one note that a kill can leave unsaid: one recall, or one ripple
_START_TIMEOUT_S = 60.0


@dataclass
class Kills:
    """What a run of kills saw."""

    kills: int = 0
    steps: int = 0
    leftovers: int = 0
    in_the_middle: int = 0


async def work(folder: Path, seed: int) -> None:
    """Writes, moves, merges, recalls and compactions without end; says each step that is done on stdout."""
    chance = random.Random(seed)
    async with running(folder, clock=FakeClock(datetime.now(UTC))) as r:
        remove_leftovers(r.vault, displaced=r.core.writer.keep_displaced)
        print("ready", flush=True)
        number = 0
        while True:
            number += 1
            ids = sorted(row.id for row in r.core.mirror.rows() if row.role == "bucket")
            match chance.randrange(7):
                case 0 if len(ids) < NOTES:
                    kept = await r.core.services.remember(NewMemory(f"held {seed}-{number} " + "words " * 400))
                    print(f"held {kept.id}", flush=True)
                case 1 if ids:
                    await r.core.services.revise(
                        chance.choice(ids), Revision(content=f"body {seed}-{number} " + "text " * chance.randrange(900))
                    )
                case 2 if ids:
                    await r.core.services.revise(chance.choice(ids), Revision(pinned=chance.random() < 0.5))
                case 3 if ids:
                    note_id = chance.choice(ids)
                    r.core.reinforce([note_id])
                    await asyncio.to_thread(r.core.journal.flush)
                    said = (f"counted {one} {r.core.journal.total(one).activations}" for one in ids)
                    print("\n".join(said), flush=True)  # of all, for a recall stirs others too
                case 4 if ids:
                    await r.core.services.revise(chance.choice(ids), Revision(resolved=chance.random() < 0.5))
                case 5:
                    await asyncio.to_thread(r.core.tables.flush)
                case 6 if chance.random() < 0.3:
                    await asyncio.to_thread(r.core.tables.flush)
                    await asyncio.to_thread(r.core.store.compact)
            print("step", flush=True)


def kill_fork(folder: Path, seed: int, seen: Kills, known: dict[str, float]) -> None:
    """As `kill_once`, in a fork of this process, which must not have opened an index: starting takes no import then."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        sys.stdout = os.fdopen(1, "w", buffering=1)
        try:
            asyncio.run(work(folder, seed))
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        if not select.select([said], [], [], _START_TIMEOUT_S)[0]:
            os.kill(child, signal.SIGKILL)  # a fork may inherit a lock that nobody holds any more
        elif said.readline() != b"ready\n":
            os.waitpid(child, 0)
            raise AssertionError("the work did not begin")
        time.sleep(random.Random(seed).uniform(0.0, 0.8))  # the moment of the kill, not a wait
        os.kill(child, signal.SIGKILL)
        text = said.read().decode()
    os.waitpid(child, 0)
    _note(text, seen, known)


def kill_once(folder: Path, seed: int, seen: Kills, known: dict[str, float]) -> None:
    """Start the work, kill it at a random moment, and note what it had said by then."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.killing", str(folder), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(random.Random(seed).uniform(0.0, 0.8))  # the moment of the kill, not a wait
        child.send_signal(signal.SIGKILL)
    finally:
        said = child.stdout.read().decode()
        child.stdout.close()
        child.wait(_START_TIMEOUT_S)
    _note(said, seen, known)


def _note(said: str, seen: Kills, known: dict[str, float]) -> None:
    seen.kills += 1
    for line in said.split("\n")[:-1]:  # what has no end was cut off
        words = line.split(" ")
        seen.steps += words[0] == "step"
        if words[0] == "held":
            known.setdefault(words[1], 0.0)
        elif words[0] == "counted":
            known[words[1]] = max(known.get(words[1], 0.0), float(words[2]))


async def check(folder: Path, seen: Kills, known: dict[str, float]) -> None:
    """After the kill: whole notes, no leftovers, an index that is right, nothing counted twice or lost."""
    found = list((folder / "vault").rglob(".vaultd-*.tmp"))
    seen.leftovers += len(found)
    seen.in_the_middle += bool(found)
    async with running(folder, clock=FakeClock(datetime.now(UTC))) as r:
        remove_leftovers(r.vault, displaced=r.core.writer.keep_displaced)
        assert not list(r.vault.rglob(".vaultd-*.tmp"))
        await r.reconcile()
        await r.embedded()
        _check_notes(r)
        for note_id, count in known.items():
            assert r.core.mirror.get(note_id) is not None, note_id
            # each kill may come between a flush and the word of it
            now_counted = r.core.mirror.activation_count(note_id)
            assert count <= now_counted <= count + KILLS_BETWEEN_CHECKS * MOST_UNSAID + 1e-6, (count, now_counted)
            known[note_id] = r.core.mirror.activation_count(note_id)
        assert not await asyncio.to_thread(r.core.compare)
        here = snapshot(r.core)
    for part in (folder / "state").glob("index*"):
        subprocess.run(["rm", "-rf", str(part)], check=True)
    async with running(folder, clock=FakeClock(datetime.now(UTC))) as r:
        await r.embedded()
        there = snapshot(r.core)
    assert {i: _comparable(v) for i, v in here.items()} == {i: _comparable(v) for i, v in there.items()}


def _comparable(entry: tuple) -> tuple:
    row = entry[0]
    return (row.path, row.checksum, row.body_key, *entry[1:])


def _check_notes(r) -> None:
    for row in r.core.mirror.rows():
        note = r.core.reader.read(NotePath(row.path))
        assert note is not None and note.problem is None, row.path
        assert note.properties["id"] == row.id
        first = note.body.split(" ")[0]
        assert first in ("held", "body"), note.body[:80]


def main() -> None:
    """The child's part."""
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[2])))


if __name__ == "__main__":
    main()
