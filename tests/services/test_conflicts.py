"""Copies of sync tools and markers of git: listed, and solved where only our keys differ."""

import pytest

from tests.running import running
from vaultd.core.errors import BadInput

NOTE = (
    "---\nid: a1b2c3d4e5f6\nname: walk\ntype: dynamic\ndomain:\n  - 日常\nimportance: 5\nactivation_count: {count}\n"
    "created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-{day}T12:00:00+00:00\nmine: {mine}\n---\n{body}\n"
)
COPIES = [
    "walk.sync-conflict-20260517-120000-ABCDEFG.md",
    "walk (conflicted copy 2026-05-17 120000).md",
    "walk (Conflicted copy laptop 202605171200).md",
    "walk 2.md",
]


def a_note(*, count=1, day=17, mine="kept", body="river"):
    return NOTE.format(count=count, day=day, mine=mine, body=body)


@pytest.mark.parametrize("name", COPIES)
async def test_a_copy_that_differs_in_our_keys_alone_is_merged_and_trashed(tmp_path, name):
    async with running(tmp_path) as r:
        await r.write("dynamic/walk.md", a_note(count=3, day=18))
        await r.write(f"dynamic/{name}", a_note(count=5, day=17))
        (conflict,) = await r.core.services.conflicts.all()

        await r.core.services.conflicts.solve("dynamic/walk.md")

        assert (conflict.path, conflict.copies, conflict.solvable) == ("dynamic/walk.md", (f"dynamic/{name}",), True)
        assert r.read("dynamic/walk.md") == a_note(count=5, day=18)
        assert not (r.vault / "dynamic" / name).exists()
        assert (r.vault / ".trash" / name).exists()
        assert r.ids() == {"a1b2c3d4e5f6"}
        assert await r.core.services.conflicts.all() == []


@pytest.mark.parametrize("other", [{"body": "sea"}, {"mine": "changed"}], ids=["body", "a key of the person"])
async def test_what_is_the_persons_is_left_to_the_person(tmp_path, other):
    async with running(tmp_path) as r:
        await r.write("dynamic/walk.md", a_note())
        await r.write(f"dynamic/{COPIES[0]}", a_note(**other))
        (conflict,) = await r.core.services.conflicts.all()

        with pytest.raises(BadInput):
            await r.core.services.conflicts.solve("dynamic/walk.md")

        assert not conflict.solvable
        assert r.read("dynamic/walk.md") == a_note()
        assert (r.vault / "dynamic" / COPIES[0]).read_text() == a_note(**other)


async def test_markers_are_listed_with_their_line_and_the_last_good_row_stays(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/walk.md", a_note())
        merged = a_note().replace("river\n", "<<<<<<< ours\nriver\n=======\nsea\n>>>>>>> theirs\n")
        await r.write("dynamic/walk.md", merged)

        (conflict,) = await r.core.services.conflicts.all()

        assert (conflict.path, conflict.line) == ("dynamic/walk.md", 13)
        assert r.core.mirror.get("a1b2c3d4e5f6").stale
        assert r.read("dynamic/walk.md") == merged


async def test_a_copy_whose_original_is_gone_becomes_a_note_where_its_name_is_no_proof(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/walk.md", a_note())
        await r.write("dynamic/walk 2.md", a_note(body="sea"))
        (r.vault / "dynamic/walk.md").unlink()

        await r.look("dynamic/walk.md")

        assert r.core.mirror.get("a1b2c3d4e5f6").path == "dynamic/walk 2.md"
        assert await r.core.services.conflicts.all() == []
        assert await r.reconcile() == 0
