"""Two files with one id: a copy on one machine, or what git leaves when two machines renamed one note."""

import contextlib
import subprocess
from datetime import UTC, datetime

from tests.fakes import FakeClock
from tests.gitworld import git
from tests.running import running
from vaultd.core.query import Query

QUIET = {"minutes": 3}
NOTE = (
    "---\nid: a1b2c3d4e5f6\nname: walk\ntype: dynamic\ndomain: [日常]\nimportance: 5\n"
    "created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-17T12:00:00+00:00\n---\nfirst river\n\nmiddle\n\nlast\n"
)


def paths_of(r):
    return {row.id: row.path for row in r.core.mirror.rows()}


def commit(r):
    git(r.vault, "add", "-A")
    git(r.vault, "commit", "-qm", "auto", check=False)


async def pull(r):
    """As a person's plugin would, who wants to keep both sides where git can't tell."""
    commit(r)
    if git(r.vault, "pull", "-q", "--no-rebase", "origin", "main", check=False).returncode:
        await r.reconcile()
        git(r.vault, "add", "-A")
        git(r.vault, "commit", "-q", "--no-edit")
    git(r.vault, "push", "-q", "origin", "HEAD:main")
    await r.reconcile()


async def keep_house(r):
    r.clock.advance(**QUIET)
    await r.core.services.housekeeping()


@contextlib.asynccontextmanager
async def two_clones(folder):
    origin = folder / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    async with contextlib.AsyncExitStack() as stack:
        machines = []
        for name in ("laptop", "desk"):
            (folder / name).mkdir()
            subprocess.run(["git", "clone", "-q", str(origin), str(folder / name / "vault")], check=True)
            machines.append(await stack.enter_async_context(running(folder / name, clock=FakeClock(datetime.now(UTC)))))
        laptop, desk = machines
        git(laptop.vault, "checkout", "-q", "-b", "main", check=False)
        await laptop.write("dynamic/日常/walk.md", NOTE)
        await laptop.core.services.answer(Query.parse("river"))
        laptop.core.journal.flush()
        commit(laptop)
        git(laptop.vault, "push", "-q", "origin", "HEAD:main")
        git(desk.vault, "pull", "-q", "origin", "main")
        await desk.reconcile()
        yield laptop, desk


def rename(r, name):
    (r.vault / "dynamic/日常/walk.md").rename(r.vault / f"dynamic/日常/{name}.md")


async def test_machines_that_renamed_one_note_differently_give_its_id_to_the_same_file(tmp_path):
    async with two_clones(tmp_path) as (laptop, desk):
        rename(laptop, "zoo")
        await laptop.reconcile()
        rename(desk, "ape")
        await desk.reconcile()
        await pull(laptop)
        await pull(desk)
        await pull(laptop)

        for r in (laptop, desk):
            await r.core.services.housekeeping()
        soon = paths_of(laptop), paths_of(desk)
        for r in (laptop, desk):
            await keep_house(r)
        counted = [r.core.mirror.activation_count("a1b2c3d4e5f6") for r in (laptop, desk)]

        assert soon[0] == soon[1]
        assert len(soon[0]) == 2
        assert paths_of(laptop) == paths_of(desk) == soon[0]
        assert counted == [1, 1]
        written = [sorted(place.read_text() for place in r.vault.rglob("dynamic/*/*.md")) for r in (laptop, desk)]
        assert sum("id: a1b2c3d4e5f6\n" in text for text in written[0]) == 1
        assert written[0] == written[1]


async def test_a_note_that_one_machine_renamed_and_the_other_rewrote_keeps_its_id_where_it_was(tmp_path):
    async with two_clones(tmp_path) as (laptop, desk):
        rename(laptop, "zoo")
        await laptop.write("dynamic/日常/zoo.md", NOTE.partition("first")[0] + "quite another text\n" * 9)
        await desk.write("dynamic/日常/walk.md", NOTE.partition("first")[0] + "what was typed here\n" * 9)
        await laptop.reconcile()
        await pull(laptop)
        await pull(desk)
        await pull(laptop)
        for r in (laptop, desk):
            await r.core.services.housekeeping()

        assert paths_of(laptop) == paths_of(desk)
        assert paths_of(desk)["a1b2c3d4e5f6"] == "dynamic/日常/walk.md"


async def test_a_copy_is_the_copy_on_every_machine_whatever_its_name(tmp_path):
    async with two_clones(tmp_path) as (laptop, desk):
        await laptop.core.services.ownership.claim()
        await desk.write("dynamic/日常/ape.md", NOTE + "typed into the copy\n")
        await pull(desk)
        await pull(laptop)
        seen = paths_of(laptop), paths_of(desk)
        (tmp_path / "anew").mkdir()
        (tmp_path / "anew/vault").symlink_to(laptop.vault)
        async with running(tmp_path / "anew") as anew:
            seen += (paths_of(anew),)

        assert seen[0] == seen[1] == seen[2]
        assert seen[0]["a1b2c3d4e5f6"] == "dynamic/日常/walk.md"
