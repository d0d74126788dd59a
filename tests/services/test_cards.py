"""Cards as notes: ids, scopes, counting, near-duplicates, what an update says of itself."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeClock
from tests.running import Running, running
from vaultd.core.errors import BadInput, LostRace, NoSuchMemory
from vaultd.services.cards import CardChange, NewCard


def card(content: str = "芝麻到家的第一天，我们开了一个好罐头。", **fields) -> NewCard:
    given = {"content": content, "category": "milestone", "topic": ("芝麻",), "tags": ("猫",), "importance": 7}
    return NewCard(**(given | fields))


async def written(one: Running, content: str = "芝麻到家的第一天，我们开了一个好罐头。", **fields) -> str:
    return (await one.core.services.cards.remember(card(content, **fields))).view.card.id


async def test_a_card_is_a_note_with_every_property_of_a_card(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)

        assert card_id == "20261130-001"
        text = one.read("cards/20261130-001 芝麻.md")
    keys = re.findall(r"^(\w+):", text, re.MULTILINE)
    assert keys == [
        "id", "topic", "type", "tags", "importance", "ai_scope", "source_conversation_id", "entities",
        "created_at", "updated_at", "last_used_at", "use_count",
    ]  # fmt: skip
    assert "entities: []" in text
    assert text.endswith("---\n芝麻到家的第一天，我们开了一个好罐头。\n")


async def test_many_cards_at_once_have_as_many_ids(tmp_path):
    async with running(tmp_path) as one:
        ids = await asyncio.gather(*(written(one, f"card number {i}", topic=(f"t{i}",)) for i in range(30)))

        assert sorted(ids) == [f"20261130-{i:03d}" for i in range(1, 31)]
        assert one.ids() == set(ids)


async def test_the_day_of_an_id_is_that_of_the_configured_zone(tmp_path):
    clock = FakeClock(datetime.fromisoformat("2026-12-01T00:30:00+08:00"))
    async with running(tmp_path, clock=clock) as one:
        assert (await written(one)).startswith("20261201-")


async def test_the_id_of_a_deleted_card_is_not_given_again(tmp_path):
    async with running(tmp_path) as one:
        first = await written(one)
        await one.core.services.cards.delete(first)
    async with running(tmp_path) as again:
        assert await written(again) == "20261130-002"


async def test_a_hundredth_card_of_a_day_goes_on_in_the_machines_own_numbers(tmp_path):
    async with running(tmp_path) as one:
        await one.write("cards/20261130-099 x.md", "---\nid: 20261130-099\ntopic: [x]\ntype: lesson\n---\nx\n")

        assert await written(one) == "20261130-100001"
        assert await written(one, "another") == "20261130-100002"


async def test_an_unknown_type_is_refused_with_the_eight(tmp_path):
    async with running(tmp_path) as one:
        with pytest.raises(BadInput) as refusal:
            await written(one, category="mood")

        assert all(name in str(refusal.value) for name in ("milestone", "deep_talk", "lesson", "real_world"))
        assert not list((one.vault / "cards").glob("*")) if (one.vault / "cards").exists() else True


@pytest.mark.parametrize("fields", [{"content": "  "}, {"topic": ()}, {"topic": ("  ",)}])
async def test_a_card_without_text_or_topic_is_refused(tmp_path, fields):
    async with running(tmp_path) as one:
        with pytest.raises(BadInput):
            await one.core.services.cards.remember(card(**fields))


async def test_a_card_that_says_the_same_is_told_of_and_kept_all_the_same(tmp_path):
    async with running(tmp_path) as one:
        first = await written(one, "we agreed to call every sunday evening at eight")
        await written(one, "the boiler was replaced in march")
        await one.embedded()

        again = await one.core.services.cards.remember(card("we agreed to call every sunday evening at eight"))

        assert [twin.id for twin in again.twins] == [first]
        assert again.twins[0].similarity >= 0.9
        assert len(one.ids()) == 3


async def test_without_a_model_the_same_words_are_found_as_well(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        first = await written(one, "we agreed to call every sunday evening at eight")

        again = await one.core.services.cards.remember(card("We agreed to call every Sunday evening, at eight."))
        other = await one.core.services.cards.remember(card("the boiler was replaced in march"))

        assert [twin.id for twin in again.twins] == [first]
        assert not other.twins


async def test_an_update_tells_sizes_and_names_and_nothing_of_the_text(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one, "she likes tea with a slice of lemon")

        told = await one.core.services.cards.update(card_id, CardChange(old_text="tea", new_text="green tea"))

        assert (told.before, told.after, told.changed) == (35, 41, ("content",))
        assert "green tea with" in one.read("cards/20261130-001 芝麻.md")


async def test_an_update_changes_its_own_lines_and_the_time_of_the_update(tmp_path):
    async with running(tmp_path) as one:
        path = "cards/20261130-001 tea.md"
        await one.write(
            path,
            "---\nmine: [b,   a] # kept\nid: 20261130-001\ntopic: [tea]\ntype: preference\nimportance: 4\n"
            "created_at: 2026-11-30T09:00:00+00:00\nupdated_at: 2026-11-30T09:00:00+00:00\n---\nshe likes tea\n",
        )

        await one.core.services.cards.update("20261130-001", CardChange(importance=8))

        assert one.read(path) == (
            "---\nmine: [b,   a] # kept\nid: 20261130-001\ntopic: [tea]\ntype: preference\nimportance: 8\n"
            "created_at: 2026-11-30T09:00:00+00:00\nupdated_at: 2026-11-30T12:00:00+00:00\n---\nshe likes tea\n"
        )


async def test_a_fragment_that_stands_there_twice_or_not_at_all_is_refused(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one, "tea or tea")
        for old in ("tea", "coffee"):
            with pytest.raises(BadInput):
                await one.core.services.cards.update(card_id, CardChange(old_text=old, new_text="x"))


async def test_an_update_of_another_version_is_refused(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one, "she likes tea")
        with pytest.raises(LostRace):
            await one.core.services.cards.update(card_id, CardChange(content="x"), expected="0" * 32)
        assert "she likes tea" in one.read("cards/20261130-001 芝麻.md")


async def test_a_new_topic_gives_the_note_its_name_unless_a_person_named_it(tmp_path):
    async with running(tmp_path) as one:
        first = await written(one)
        second = await written(one, "other")
        row = one.core.mirror.get(second)
        (one.vault / row.path).rename(one.vault / "cards/mine.md")
        await one.look(row.path, "cards/mine.md")
        for card_id in (first, second):
            await one.core.services.cards.update(card_id, CardChange(topic=("番茄",)))

        assert one.core.mirror.get(first).path == "cards/20261130-001 番茄.md"
        assert one.core.mirror.get(second).path == "cards/mine.md"


async def test_using_a_card_counts_at_once_and_touches_no_file(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        before = one.read("cards/20261130-001 芝麻.md")
        one.clock.advance(days=3)

        counted, unknown = one.core.services.cards.used([card_id, "20200101-001", card_id])

        assert [(use.id, use.use_count) for use in counted] == [(card_id, 1)]
        assert counted[0].last_used == one.clock()
        assert unknown == ["20200101-001"]
        assert one.read("cards/20261130-001 芝麻.md") == before
        view = await one.core.services.cards.get(card_id, None)
        assert (view.card.use_count, view.card.last_used) == (1, one.clock())


async def test_counters_are_written_once_the_note_is_quiet(tmp_path):
    async with running(tmp_path, clock=FakeClock(datetime.now(UTC))) as one:
        card_id = await written(one)
        path = one.core.mirror.get(card_id).path
        one.core.services.cards.used([card_id])

        assert await one.core.services.card_care() == 0
        one.clock.advance(minutes=5)
        assert await one.core.services.card_care() == 1
        assert "use_count: 1\n" in one.read(path)
        assert one.core.services.cards.used([card_id])[0][0].use_count == 2
        assert await one.core.services.card_care() == 0  # the next in ten minutes
        assert await one.core.services.cards.versions(card_id) == ()


async def test_a_token_with_a_scope_sees_shared_cards_and_its_own(tmp_path):
    async with running(tmp_path) as one:
        cards = one.core.services.cards
        shared = await written(one, "shared by all")
        work = (await cards.remember(card("of work"), "work")).view.card
        home = (await cards.remember(card("of home", scope="home"))).view.card.id

        assert work.scope == "work"
        assert {row.id for row in cards.rows("work")} == {shared, work.id}
        for call in (
            cards.get(home, "work"),
            cards.update(home, CardChange(content="x"), "work"),
            cards.delete(home, "work"),
            cards.versions(home, "work"),
            cards.version(home, "1", "work"),
            cards.revert(home, "1", "work"),
        ):
            with pytest.raises(NoSuchMemory):
                await call
        assert cards.used([home], "work") == ([], [home])
        with pytest.raises(BadInput):
            await cards.remember(card("x", scope="home"), "work")
        with pytest.raises(BadInput):
            await cards.update(work.id, CardChange(scope=""), "work")


async def test_a_near_duplicate_in_another_scope_is_not_told_of(tmp_path):
    async with running(tmp_path) as one:
        cards = one.core.services.cards
        await cards.remember(card("the same words in both scopes", scope="home"))
        await one.embedded()

        assert (await cards.remember(card("the same words in both scopes"), "work")).twins == ()


async def test_private_parts_are_not_kept(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one, "we met <private>at the clinic</private> on monday")

        assert "clinic" not in one.read(one.core.mirror.get(card_id).path)
