"""What is written into notes once they are quiet, and what never is."""

import dataclasses
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeClock
from tests.running import running
from vaultd.core.bucket import Kind
from vaultd.core.query import Query
from vaultd.services.housekeeping import PROJECTED_A_ROUND
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision
from vaultd.settings import Settings

QUIET = {"minutes": 3}


@pytest.fixture
def clock():
    """A clock that agrees with the files' times."""
    return FakeClock(datetime.now(UTC))


def a_note(**properties):
    lines = "".join(f"{key}: {value}\n" for key, value in properties.items())
    return f"---\n{lines}---\nA walk by the river.\n"


def whole(**more):
    known = {
        "id": "a1b2c3d4e5f6",
        "name": "walk",
        "type": "dynamic",
        "domain": "[日常]",
        "importance": 5,
        "created": "2026-05-17T12:00:00+00:00",
        "last_active": "2026-05-17T12:00:00+00:00",
    }
    return a_note(**known | more)


async def keep_house(r, **span):
    r.clock.advance(**span)
    return await r.core.services.housekeeping()


async def test_a_new_note_of_a_person_gets_its_properties_once_it_is_quiet(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/日常/walk.md", "---\nmine: kept # why\n---\nriver\n")
        (note_id,) = r.ids()

        early = await keep_house(r, seconds=60)
        at_first = r.read("dynamic/日常/walk.md")
        await keep_house(r, seconds=70)
        text = r.read("dynamic/日常/walk.md")

        assert early.adopted == 0
        assert at_first == "---\nmine: kept # why\n---\nriver\n"
        assert text.startswith("---\nmine: kept # why\n")
        assert text.endswith("---\nriver\n")
        assert f"\nid: {note_id}\n" in text.replace('"', "")
        assert "\ntype: dynamic\n" in text
        assert r.ids() == {note_id}


async def test_nothing_is_left_to_do_after_a_round(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/a.md", "a\n")
        await r.write("permanent/b.md", "b\n")
        await r.write("feel/c.md", "c\n")
        await r.write("archive/d.md", whole(pinned="true", type="archived"))
        await keep_house(r, **QUIET)
        texts = {path: path.read_bytes() for path in r.vault.rglob("*.md")}

        again = await keep_house(r, days=2)

        assert {path: path.read_bytes() for path in r.vault.rglob("*.md")} == texts
        assert (again.adopted, again.moved, again.projected, again.waiting) == (0, 0, 0, 0)


async def test_pinned_typed_by_a_person_pins(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/日常/walk.md", whole())
        await r.write("dynamic/日常/walk.md", whole(pinned="true"))

        await keep_house(r, **QUIET)

        text = r.read("permanent/walk.md")
        assert "importance: 10\n" in text
        assert "type: permanent\n" in text
        assert not (r.vault / "dynamic/日常/walk.md").exists()
        assert r.core.mirror.get("a1b2c3d4e5f6").path == "permanent/walk.md"


async def test_a_changed_type_moves_the_note(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/日常/walk.md", whole())
        await r.write("dynamic/日常/walk.md", whole(type="archived"))

        await keep_house(r, **QUIET)

        assert r.read("archive/日常/walk.md") == whole(type="archived")
        assert r.core.mirror.get("a1b2c3d4e5f6").kind is Kind.ARCHIVED


async def test_dragged_out_of_the_archive_is_alive_again(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        old = "2026-01-01T08:00:00+00:00"
        await r.write("archive/日常/walk.md", whole(type="archived", last_active=old, created=old, importance=3))
        (r.vault / "dynamic").mkdir()
        (r.vault / "archive/日常/walk.md").rename(r.vault / "dynamic/walk.md")
        await r.look("archive/日常/walk.md", "dynamic/walk.md")

        before = await r.core.services.forget()
        await keep_house(r, **QUIET)
        after = await r.core.services.forget()

        assert before.archived == after.archived == 0
        assert "type: dynamic\n" in r.read("dynamic/walk.md")
        assert r.core.mirror.get("a1b2c3d4e5f6").last_active == int(r.clock.now.timestamp())


async def test_first_sight_in_conflict_lets_the_folder_win(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", whole(type="permanent"))

        await keep_house(r, **QUIET)

        assert "type: dynamic\n" in r.read("dynamic/walk.md")


async def test_a_foreign_type_is_left_alone(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", whole(type="litnote"))

        await keep_house(r, **QUIET)

        assert r.read("dynamic/walk.md") == whole(type="litnote")


async def test_a_copy_gets_an_id_of_its_own(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", whole())
        await r.write("dynamic/walk 1.md", whole())
        ids = r.ids()

        await keep_house(r, **QUIET)

        assert len(ids) == 2
        assert r.ids() == ids
        assert "id: a1b2c3d4e5f6\n" in r.read("dynamic/walk.md")
        assert "id: a1b2c3d4e5f6\n" not in r.read("dynamic/walk 1.md")


async def test_recalls_reach_the_note_when_it_is_quiet_and_not_more_often_than_set(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        kept = await r.core.services.remember(NewMemory("the violin lesson", name="violin"))
        await r.core.services.answer(Query.parse("violin"))
        early = await keep_house(r, seconds=100)
        await keep_house(r, seconds=30)
        once = r.read(kept.path)
        await r.core.services.answer(Query.parse("violin"))
        await keep_house(r, minutes=5)
        between = r.read(kept.path)
        await keep_house(r, minutes=6)
        twice = r.read(kept.path)

        assert early.projected == 0
        assert "activation_count: 1\n" in once
        assert between == once
        assert "activation_count: 2\n" in twice


async def test_counters_of_many_notes_reach_them_over_several_rounds(tmp_path, clock):
    many = PROJECTED_A_ROUND + 20
    async with running(tmp_path, clock=clock) as r:
        for number in range(many):
            await r.write(f"dynamic/日常/{number}.md", whole(id=f"{number:012x}"))
        for number in range(many):
            r.core.reinforce.count(f"{number:012x}", 1.0)

        first = await keep_house(r, **QUIET)
        second = await keep_house(r, seconds=30)

    assert (first.projected, first.waiting) == (PROJECTED_A_ROUND, 20)
    assert (second.projected, second.waiting) == (20, 0)


async def test_in_a_vault_synced_by_git_a_day_lies_between_two_projections(tmp_path, clock):
    (tmp_path / "vault/.git").mkdir(parents=True)
    async with running(tmp_path, clock=clock) as r:
        kept = await r.core.services.remember(NewMemory("the violin lesson", name="violin"))
        await r.core.services.answer(Query.parse("violin"))
        await keep_house(r, **QUIET)
        await r.core.services.answer(Query.parse("violin"))
        await keep_house(r, hours=23)
        before = r.read(kept.path)
        await keep_house(r, hours=1)

        assert "activation_count: 1\n" in before
        assert "activation_count: 2\n" in r.read(kept.path)


@pytest.mark.parametrize("mark", ["MERGE_HEAD", "rebase-merge", "CHERRY_PICK_HEAD"])
async def test_nothing_is_written_while_git_merges(tmp_path, clock, mark):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", "river\n")
        (r.vault / ".git" / mark).mkdir(parents=True)

        held = await keep_house(r, **QUIET)
        (r.vault / ".git" / mark).rmdir()
        after = await keep_house(r)

        assert held.held
        assert r.read("dynamic/walk.md") != "river\n"
        assert (held.adopted, after.adopted) == (0, 1)


async def test_the_note_a_person_has_open_is_not_written(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", "river\n")
        r.clock.advance(**QUIET)
        r.core.services.active.touch("dynamic/walk.md")

        held = await keep_house(r)
        after = await keep_house(r, **QUIET)

        assert (held.adopted, held.waiting, after.adopted) == (0, 1, 1)


async def test_a_note_with_a_conflict_copy_beside_it_is_not_written(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", "river\n")
        copy = r.vault / "dynamic/walk.sync-conflict-20260517-120000-ABCDEFG.md"
        copy.write_text("other\n")

        held = await keep_house(r, **QUIET)
        copy.unlink()
        after = await keep_house(r)

        assert (held.adopted, held.waiting, after.adopted) == (0, 1, 1)


async def test_what_was_typed_between_look_and_write_is_not_lost(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", "river\n")
        (r.vault / "dynamic/walk.md").write_text("river and sea\n")

        await keep_house(r, **QUIET)

        assert r.read("dynamic/walk.md") == "river and sea\n"


async def test_links_by_path_follow_a_note_that_was_moved_and_one_undo_takes_all_back(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("Home.md", "see [[dynamic/日常/walk|the walk]] and ![[dynamic/日常/walk#end]]\n")
        await r.write("dynamic/日常/walk.md", whole())
        before = {path: path.read_bytes() for path in r.vault.rglob("*.md")}
        await r.core.services.revise("a1b2c3d4e5f6", Revision(pinned=True))
        moved = r.read("Home.md")
        entry = r.core.writer.log.entries(path="permanent/walk.md")[0]

        await r.core.scribe.undo(entry.group)

        assert moved == "see [[permanent/walk|the walk]] and ![[permanent/walk#end]]\n"
        assert {path: path.read_bytes() for path in r.vault.rglob("*.md")} == before


async def test_counters_of_a_deleted_note_are_kept_for_seven_days(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/walk.md", whole())
        r.core.reinforce(["a1b2c3d4e5f6"])
        (r.vault / "dynamic/walk.md").unlink()
        await r.look("dynamic/walk.md")
        await keep_house(r, days=6)
        kept = r.core.journal.total("a1b2c3d4e5f6").activations
        await keep_house(r, days=2)

        assert kept == 1
        assert r.core.journal.total("a1b2c3d4e5f6").activations == 0


async def test_a_machine_that_does_not_own_the_life_cycle_moves_nothing(tmp_path, clock):
    async with running(tmp_path, clock=clock) as r:
        await r.write("dynamic/日常/walk.md", whole(pinned="true"))
        (r.vault / ".vaultd").mkdir(exist_ok=True)
        (r.vault / ".vaultd/lifecycle.yaml").write_text("machine: ffffffffffff\nname: other\n")

        await keep_house(r, **QUIET)
        held = (r.vault / "dynamic/日常/walk.md").exists()
        (r.vault / ".vaultd/lifecycle.yaml").unlink()
        await keep_house(r, **QUIET)

        assert held
        assert (r.vault / "permanent/walk.md").exists()


@pytest.mark.parametrize("by_hand", ["renamed", "a property"])
async def test_a_link_that_a_person_touched_right_after_a_move_is_kept_by_the_next(tmp_path, clock, by_hand):
    link = {} if by_hand == "renamed" else {"source": '"[[dynamic/日常/walk]]"'}
    text = "[[dynamic/日常/walk]]\n" if by_hand == "renamed" else ""
    async with running(tmp_path, clock=clock) as r:
        for name, number in (("first", 1), ("walk", 2)):
            await r.write(f"dynamic/日常/{name}.md", whole(id=f"a1b2c3d4e5f{number}", name=name))
        await r.write("cards/held.md", whole(id="a1b2c3d4e5f3") + text)
        await r.write("dynamic/日常/first.md", whole(id="a1b2c3d4e5f1", type="permanent"))
        await keep_house(r, **QUIET)
        assert (r.vault / "permanent/first.md").exists()

        (r.vault / "cards/held.md").rename(r.vault / "cards/kept.md")
        await r.look("cards/held.md", "cards/kept.md")
        await r.write("cards/kept.md", whole(id="a1b2c3d4e5f3", **link) + text)
        await r.write("dynamic/日常/walk.md", whole(id="a1b2c3d4e5f2", type="permanent"))
        await keep_house(r, **QUIET)

        assert (r.vault / "permanent/walk.md").exists()
        assert "[[permanent/walk]]" in r.read("cards/kept.md")


async def test_a_round_looks_at_what_changed_since_the_last_one_alone(tmp_path, clock):
    async with running(tmp_path, clock=clock, no_model=True) as r:
        for number in range(5):
            await r.write(f"dynamic/{number}.md", whole(id=f"a1b2c3d4e5f{number}"))
        await keep_house(r, **QUIET)
        asked = []
        get = r.core.mirror.get
        r.core.mirror.get = lambda note_id: asked.append(note_id) or get(note_id)

        await keep_house(r, seconds=30)
        untouched = list(asked)
        r.core.reinforce.count("a1b2c3d4e5f3", 1.0)
        asked.clear()
        counted = await keep_house(r, **QUIET)

        assert untouched == []
        assert set(asked) == {"a1b2c3d4e5f3"}
        assert counted.projected == 1


async def test_what_is_owed_later_is_still_done_when_its_time_comes(tmp_path, clock):
    base = Settings()
    hourly = dataclasses.replace(base, journal=dataclasses.replace(base.journal, project_every_s=3600))
    async with running(tmp_path, clock=clock, settings=hourly) as r:
        await r.write("dynamic/walk.md", whole())
        await keep_house(r, **QUIET)
        r.core.reinforce.count("a1b2c3d4e5f6", 1.0)
        first = await keep_house(r, **QUIET)
        r.core.reinforce.count("a1b2c3d4e5f6", 1.0)

        too_early = await keep_house(r, **QUIET)
        in_time = await keep_house(r, hours=1)

        assert (first.projected, too_early.projected, in_time.projected) == (1, 0, 1)
