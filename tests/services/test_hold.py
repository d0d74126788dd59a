import pytest

from tests.fakes import FakeAnalyst
from tests.running import running
from vaultd.core.errors import BadInput, ModelTimedOut
from vaultd.core.query import Notice, Query
from vaultd.llm.analyst import Annotation
from vaultd.services.newmemory import NewMemory
from vaultd.services.remember import Outcome


async def test_a_text_is_a_note_and_the_next_call_finds_it(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(
            NewMemory("拿到了实习 offer，很激动。", name="实习 offer", domain=("成长",))
        )

        answer = await r.core.services.answer(Query.parse("实习"))

        assert kept.outcome is Outcome.NEW
        assert "拿到了实习 offer" in r.read(kept.path)
        assert kept.path == f"dynamic/成长/实习 offer_{kept.id}.md"
        assert [hit.bucket.id for hit in answer.hits] == [kept.id]


async def test_a_new_memory_was_never_recalled(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("a fresh thought about tea"))

        assert r.core.mirror.activation_count(kept.id) == 0.0
        assert "activation_count: 0\n" in r.read(kept.path)


async def test_the_same_text_twice_is_one_memory(tmp_path):
    async with running(tmp_path) as r:
        first = await r.core.services.remember(NewMemory("buy oat milk on the way home"))
        r.clock.advance(hours=2)
        second = await r.core.services.remember(NewMemory("buy oat milk on the way home "))

        assert second.outcome is Outcome.SAME
        assert second.id == first.id
        assert len(r.ids()) == 1


async def test_the_callers_valence_of_zero_wins(tmp_path):
    analyst = FakeAnalyst(annotate=Annotation("n", ("家庭",), 0.9, 0.9, ("a",)))
    async with running(tmp_path, analyst=analyst) as r:
        kept = await r.core.services.remember(NewMemory("grandmother died this morning", valence=0.0))

        row = r.core.mirror.get(kept.id)
        assert row.valence == 0.0
        assert row.arousal == 0.9
        assert row.domain == ("家庭",)
        assert row.path.startswith("dynamic/家庭/")


async def test_a_text_is_kept_when_the_model_fails(tmp_path):
    analyst = FakeAnalyst(annotate=ModelTimedOut("no answer in 60 s"))
    async with running(tmp_path, analyst=analyst) as r:
        kept = await r.core.services.remember(NewMemory("a text that must not be lost"))

        assert "must not be lost" in r.read(kept.path)
        assert [n.notice for n in kept.notices] == [Notice.MODEL_FAILED]


async def test_a_near_twin_is_joined_and_both_texts_stay(tmp_path):
    async with running(tmp_path) as r:
        text = "we planted twelve tomatoes on the balcony with my sister on sunday"
        first = await r.core.services.remember(NewMemory(text, tags=("garden",), valence=0.8, importance=4))
        await r.embedded()
        r.clock.advance(minutes=5)

        second = await r.core.services.remember(
            NewMemory(text + " and it rained", tags=("rain", "garden"), valence=0.5, importance=6)
        )

        body = r.read(first.path)
        row = r.core.mirror.get(first.id)
        assert second.outcome is Outcome.MERGED
        assert second.id == first.id
        assert text in body
        assert "and it rained" in body
        assert "*2026-11-30 12:05*" in body
        assert row.tags == ("garden", "rain")
        assert row.importance == 6
        assert row.valence == 0.65


async def test_a_pinned_twin_is_never_merged_into(tmp_path):
    async with running(tmp_path) as r:
        text = "always ask before you book a train for me, whatever the price"
        pinned = await r.core.services.remember(NewMemory(text, pinned=True))
        await r.embedded()

        other = await r.core.services.remember(NewMemory(text + " please"))

        assert pinned.outcome is Outcome.PINNED
        assert pinned.path.startswith("permanent/")
        assert r.core.mirror.get(pinned.id).importance == 10
        assert other.outcome is Outcome.NEW


async def test_a_feel_digests_its_source(tmp_path):
    async with running(tmp_path) as r:
        event = await r.core.services.remember(NewMemory("she asked about the police academy"))
        feel = await r.core.services.remember(
            NewMemory("I think that she was protecting herself.", feel=True, source_bucket=event.id, valence=0.45)
        )

        source, row = r.core.mirror.get(event.id), r.core.mirror.get(feel.id)
        assert feel.path.startswith("feel/")
        assert row.domain == ()
        assert row.importance == 5
        assert source.digested
        assert source.model_valence == 0.45


async def test_a_feel_about_nothing_known_is_kept_all_the_same(tmp_path):
    async with running(tmp_path) as r:
        feel = await r.core.services.remember(NewMemory("calm", feel=True, source_bucket="0123456789ab"))

        assert [n.notice for n in feel.notices] == [Notice.NO_SUCH_SOURCE]
        assert r.core.mirror.get(feel.id) is not None


async def test_our_own_answer_is_not_kept_again(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the cat is called 芝麻"))
        answer = f"=== 浮现记忆 ===\n[权重:7.31] [bucket_id:{kept.id}] ⟦the cat is called 芝麻⟧"

        with pytest.raises(BadInput, match=kept.id):
            await r.core.services.remember(NewMemory(answer))
        assert len(r.ids()) == 1


async def test_private_parts_are_never_stored(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the door opens <private>with 4711</private> at night"))

        assert "4711" not in r.read(kept.path)
        assert "at night" in r.read(kept.path)


@pytest.mark.parametrize("text", ["", "   \n", "\0", "<private>all of it</private>"])
async def test_nothing_to_keep_is_said_in_one_line(tmp_path, text):
    async with running(tmp_path) as r:
        with pytest.raises(BadInput, match="content: is empty"):
            await r.core.services.remember(NewMemory(text))
        assert not r.ids()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b\\c", "CON", "x" * 300, "🎉" * 80, "[[x]]#^|", ".hidden", "\ud800"]
)
async def test_no_name_leads_out_of_its_folder(tmp_path, name):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("some text to keep", name=name, domain=(name,)))

        place = (r.vault / kept.path).resolve()
        assert place.is_relative_to((r.vault / "dynamic").resolve())
        assert len(place.name.encode()) <= 120
        assert r.core.mirror.get(kept.id) is not None


async def test_what_would_become_of_a_text_is_told_and_nothing_is_kept(tmp_path):
    async with running(tmp_path) as r:
        remember = r.core.services.remember
        old = await remember(NewMemory("The rice cooker's new gasket is in the second drawer", domain=("Home",)))
        r.clock.advance(days=2)

        new = await remember.foresee(NewMemory("My sister called from Oslo", domain=("Family",)))
        twin = await remember.foresee(
            NewMemory("The rice cooker's new gasket is in the second drawer!", domain=("Home",))
        )
        pinned = await remember.foresee(NewMemory("Never ring before nine", pinned=True))

        assert (new.outcome, new.id) == (Outcome.NEW, "")
        assert new.path.startswith("dynamic/Family/")
        assert (twin.outcome, twin.id) == (Outcome.MERGED, old.id)
        assert (pinned.outcome, pinned.path.split("/")[0]) == (Outcome.PINNED, "permanent")
        assert r.ids() == {old.id}
        assert [path.name for path in (r.vault / "dynamic").rglob("*.md")] == [old.path.rsplit("/", 1)[1]]
        kept = await remember(NewMemory("My sister called from Oslo", domain=("Family",)))
        assert (await remember.foresee(NewMemory("My sister called from Oslo"))).id == kept.id
