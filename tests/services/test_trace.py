import pytest

from tests.running import running
from vaultd.core.bucket import Kind
from vaultd.core.errors import BadInput, NoSuchMemory
from vaultd.core.query import Query
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision


async def test_a_resolved_memory_stays_where_it_is_and_is_found_by_words(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the heating bill was wrong again", name="heating bill"))

        revised = await r.core.services.revise(kept.id, Revision(resolved=True))
        answer = await r.core.services.answer(Query.parse("heating bill"))

        assert revised.path == kept.path
        assert "resolved: true\n" in r.read(kept.path)
        assert [hit.bucket.id for hit in answer.hits] == [kept.id]


async def test_only_what_is_given_changes(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("a walk", tags=("a", "b"), valence=0.7))
        before = r.read(kept.path)

        await r.core.services.revise(kept.id, Revision(importance=8))

        assert r.read(kept.path) == before.replace("importance: 5", "importance: 8")


async def test_pinning_moves_to_permanent_and_unpinning_moves_back(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("never call before ten", domain=("日常",)))

        pinned = await r.core.services.revise(kept.id, Revision(pinned=True))
        row = r.core.mirror.get(kept.id)
        assert pinned.path.startswith("permanent/")
        assert row.pinned
        assert row.importance == 10
        assert row.kind is Kind.PERMANENT

        loose = await r.core.services.revise(kept.id, Revision(pinned=False))
        assert loose.path.startswith("dynamic/日常/")
        assert r.core.mirror.get(kept.id).kind is Kind.DYNAMIC


async def test_protected_is_set(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("her recipe"))

        await r.core.services.revise(kept.id, Revision(protected=True))

        assert r.core.mirror.get(kept.id).protected
        assert "protected: true\n" in r.read(kept.path)


async def test_a_restored_memory_is_fresh_and_survives_the_next_cycle(tmp_path):
    async with running(tmp_path) as r:
        await r.write(
            "archive/日常/old_0123456789ab.md",
            "---\nid: 0123456789ab\ntype: archived\ndomain:\n  - 日常\nimportance: 3\n"
            "created: 2026-01-01T08:00:00+00:00\nlast_active: 2026-01-01T08:00:00+00:00\n---\nold\n",
        )

        revised = await r.core.services.revise("0123456789ab", Revision(restore=True))
        await r.core.services.forget()

        row = r.core.mirror.get("0123456789ab")
        assert revised.path == "dynamic/日常/old_0123456789ab.md"
        assert row.kind is Kind.DYNAMIC
        assert row.last_active == r.clock.now.timestamp()
        assert row.path == revised.path


async def test_a_pinned_note_in_the_archive_is_restored_as_pinned(tmp_path):
    async with running(tmp_path) as r:
        await r.write(
            "archive/日常/p_0123456789ab.md",
            "---\nid: 0123456789ab\ntype: archived\npinned: true\nimportance: 4\n---\nthe principle\n",
        )

        revised = await r.core.services.revise("0123456789ab", Revision(restore=True))

        text = r.read(revised.path)
        assert revised.path.startswith("permanent/")
        assert "type: permanent\n" in text
        assert "importance: 10\n" in text
        assert "pinned: true\n" in text


async def test_a_fragment_is_patched_where_it_stands_once(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("The train leaves at 8:10 from platform 4. Bring tea."))

        await r.core.services.revise(kept.id, Revision(old_text="8:10", new_text="8:40"))

        assert "leaves at 8:40 from platform 4. Bring tea." in r.read(kept.path)


@pytest.mark.parametrize(
    ("old", "reason"), [("nowhere", "does not stand"), ("e", "times in the memory"), ("", "say which")]
)
async def test_a_fragment_that_is_not_unique_is_refused_and_nothing_changes(tmp_path, old, reason):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the tree by the lake"))
        before = r.read(kept.path)

        with pytest.raises(BadInput, match=reason):
            await r.core.services.revise(kept.id, Revision(old_text=old, new_text="x"))
        assert r.read(kept.path) == before


async def test_new_content_keeps_the_old_text_in_history(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the first version of the story"))

        await r.core.services.revise(kept.id, Revision(content="the second version"))

        history = r.core.writer.history
        (version,) = history.versions(kept.id)
        assert b"the first version" in history.read(version)
        assert r.read(kept.path).endswith("---\nthe second version\n")


async def test_a_deleted_memory_lies_in_the_trash_and_is_found_no_more(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("a passing worry about rain"))

        await r.core.services.revise.delete(kept.id)

        assert not (r.vault / kept.path).exists()
        assert list((r.vault / ".trash").iterdir())
        assert kept.id not in r.ids()


async def test_an_unknown_id_is_said(tmp_path):
    async with running(tmp_path) as r:
        with pytest.raises(NoSuchMemory):
            await r.core.services.revise("ffffffffffff", Revision(resolved=True))


async def test_the_persons_own_notes_are_never_touched(tmp_path):
    async with running(tmp_path) as r:
        await r.write("Projects/plan.md", "# Plan\n\nbuy soil\n")
        own = r.core.mirror.by_path("Projects/plan.md")

        with pytest.raises(NoSuchMemory):
            await r.core.services.revise(own.id, Revision(resolved=True))
        assert r.read("Projects/plan.md") == "# Plan\n\nbuy soil\n"
