"""What is wrong around the notes is named, with where and how to mend it; `fix` mends this machine's own."""

import asyncio
import json
import os
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeClock
from tests.running import running
from vaultd.core.errors import ModelUnavailable
from vaultd.core.query import Query
from vaultd.services.revise import Revision
from vaultd.vault.machine import machine_id

NOTE = "---\nid: {id}\nname: {name}\ntype: dynamic\ndomain: [a]\nimportance: 5\ncreated: 2026-05-17T12:00:00+00:00\n"
NOTE += "last_active: 2026-05-17T12:00:00+00:00\n---\nthe river\n"
WALK = NOTE.format(id="a1b2c3d4e5f6", name="walk")
THERE = "bbbbbbbbbbbb"


@pytest.fixture
def clock():
    return FakeClock(datetime.now(UTC))


def journal_of(r, machine=None, name="activations.jsonl"):
    place = r.vault / f".vaultd/machines/{machine or machine_id(r.core.state)}/{name}"
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def line(note_id, count):
    return json.dumps({"id": note_id, "t": count, "s": 1}) + "\n"


async def findings(r, where):
    return [one for one in await r.core.services.doctor() if one.where == where]


def shown(r, place):
    return place.relative_to(r.vault).as_posix()


async def test_a_torn_journal_is_named_by_line_and_written_anew_with_every_count_it_holds(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a/walk.md", WALK)
        await r.core.services.answer(Query.parse("river"))
        r.core.journal.flush()
        place = journal_of(r)
        place.write_bytes(b'{"id": "half' + b"\n" + place.read_bytes() + b"\xff\n")

        (before,) = await findings(r, shown(r, place))
        done = await r.core.services.doctor.fix()
        after = await findings(r, shown(r, place))

        assert (before.level, before.line, before.fixable) == ("warning", 1, True)
        assert before.what.startswith("2 lines can't be read")
        assert done == [f"wrote {shown(r, place)} anew"]
        assert after == []
        assert r.core.mirror.activation_count("a1b2c3d4e5f6") == 1
        assert json.loads(place.read_bytes())["t"] == 1


async def test_counts_put_aside_under_an_earlier_machine_id_are_named_and_count_where_they_are_moved_to(
    tmp_path, clock
):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a/walk.md", WALK)
        for machine in (THERE, machine_id(r.core.state)):
            (r.core.state / f"activations-{machine}.jsonl").write_text(line("a1b2c3d4e5f6", 3.0))
        left = r.core.state / f"activations-{THERE}.jsonl"

        (named,) = [one for one in await r.core.services.doctor() if "count nowhere" in one.what]
        left.rename(journal_of(r, THERE, left.name))
        await r.core.services.housekeeping()

        assert (named.level, named.where) == ("warning", "state folder")
        assert named.what.startswith(left.name)
        assert named.mend.startswith(f"move {left} into the vault's .vaultd/machines/{THERE}")
        assert r.core.mirror.activation_count("a1b2c3d4e5f6") == 3
        assert not [one for one in await r.core.services.doctor() if "count nowhere" in one.what]


async def test_a_sync_tool_s_copy_of_the_journal_is_joined_and_no_count_comes_twice(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a/walk.md", WALK)
        await r.core.services.answer(Query.parse("river"))
        r.core.journal.flush()
        copy = journal_of(r, name="activations.sync-conflict-20260517-120000-ABCDEFG.jsonl")
        copy.write_bytes(journal_of(r).read_bytes())

        (before,) = await findings(r, shown(r, copy))
        await r.core.services.doctor.fix()

        assert before.fixable
        assert not copy.exists()
        assert r.core.mirror.activation_count("a1b2c3d4e5f6") == 1


async def test_what_another_machine_left_is_named_and_never_touched(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        place = journal_of(r, THERE)
        place.write_text(line("a1b2c3d4e5f6", 2) + "torn")
        old = clock().timestamp() - 200 * 86_400
        os.utime(place, (old, old))

        (torn,) = await findings(r, shown(r, place))
        (silent,) = await findings(r, f".vaultd/machines/{THERE}")
        (unclaimed,) = await findings(r, "lifecycle")
        done = await r.core.services.doctor.fix()
        await r.core.services.ownership.claim()

        assert (torn.line, torn.fixable) == (2, False)
        assert "for 200 days" in silent.what
        assert "2 machines" in unclaimed.what
        assert done == []
        assert place.read_text().endswith("torn")
        assert await findings(r, "lifecycle") == []


async def test_a_temporary_file_is_named_before_it_is_removed(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        left = r.vault / f".vaultd-{'0' * 40}.tmp"
        left.write_text("half")

        (found,) = await findings(r, left.name)
        await r.core.services.doctor.fix()

        assert found.fixable
        assert not left.exists()


async def test_a_link_that_could_not_follow_our_move_is_named_with_its_line_until_it_is_mended(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a/walk.md", WALK)
        own = "first\n\nsee [[dynamic/a/walk|the walk]] and [[walk]] and [[dynamic/a/never]]\n"
        await r.write("diary.md", own)
        (r.vault / "plan.canvas").write_text(json.dumps({"nodes": [{"file": "dynamic/a/walk.md"}]}))
        (r.vault / "diary.md").chmod(0o444)
        await r.core.services.revise("a1b2c3d4e5f6", Revision(pinned=True))
        (moved,) = (row.path for row in r.core.mirror.rows() if row.id == "a1b2c3d4e5f6")

        (dead,) = await findings(r, "diary.md")
        canvas = await findings(r, "plan.canvas")
        await r.core.services.doctor.fix()
        untouched = r.read("diary.md")
        (r.vault / "diary.md").chmod(0o644)
        await r.write("diary.md", own.replace("dynamic/a/walk|", moved.removesuffix(".md") + "|"))

        assert dead.line == 3
        assert "link dynamic/a/walk " in dead.what and moved in dead.what and moved in dead.mend
        assert len(canvas) == 1
        assert untouched == own
        assert await findings(r, "diary.md") == []


async def test_a_model_that_is_missing_or_fails_is_named(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        r.embedder.error = ModelUnavailable("the model's file is gone; install the package again")
        await r.write("dynamic/a/walk.md", WALK)
        await asyncio.to_thread(r.core.queue.wait_idle, 0.2)
        found = await findings(r, "embedding")

        assert [one.level for one in found] == ["warning"]
        assert "file is gone" in found[0].what


async def test_recalls_during_a_merge_are_known_after_a_restart_and_nothing_is_written_before_its_end(tmp_path, clock):
    mark = tmp_path / "vault/.git/MERGE_HEAD"
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a/walk.md", WALK)
        mark.parent.mkdir()
        mark.touch()
        await r.core.services.answer(Query.parse("river"))

    async with running(tmp_path, clock=clock) as r:
        place = journal_of(r)
        place.write_text("torn\n")

        assert r.core.mirror.activation_count("a1b2c3d4e5f6") == 1
        assert await r.core.services.doctor.fix() == []
        assert place.read_text() == "torn\n"
        mark.unlink()

    assert json.loads(place.read_text())["t"] == 1
