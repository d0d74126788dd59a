"""Versions of cards from every way of changing them, and the way back."""

from __future__ import annotations

import dataclasses
import shutil
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeClock
from tests.running import Running, running
from vaultd.core.errors import BadInput
from vaultd.services.cards import CardChange, NewCard
from vaultd.settings import Settings

PATH = "cards/20261130-001 tea.md"


async def written(one: Running, content: str = "she likes tea", topic: str = "tea") -> str:
    new = NewCard(content=content, category="preference", topic=(topic,))
    return (await one.core.services.cards.remember(new)).view.card.id


async def texts_of(one: Running, card_id: str) -> list[str]:
    await one.core.services.card_care.settled()
    cards = one.core.services.cards
    return [(await cards.version(card_id, version.id)).text for version in await cards.versions(card_id)]


async def test_the_two_newest_versions_of_updates_are_kept(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        for text in ("green tea", "white tea", "no tea"):
            one.clock.advance(minutes=1)
            await one.core.services.cards.update(card_id, CardChange(content=text))

        assert await texts_of(one, card_id) == ["white tea", "green tea"]


async def test_a_hand_edit_leaves_the_version_before_it(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        await one.core.services.card_care.settled()
        for text in ("she likes coffee", "she likes milk"):
            one.clock.advance(minutes=1)
            await one.write(PATH, one.read(PATH).rpartition("---\n")[0] + f"---\n{text}\n")
            await one.core.services.card_care.settled()

        assert await texts_of(one, card_id) == ["she likes coffee", "she likes tea"]


async def test_a_property_changed_by_hand_is_a_change_of_the_card(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        await one.core.services.card_care.settled()
        await one.write(PATH, one.read(PATH).replace("importance: 5", "importance: 9"))
        await one.core.services.card_care.settled()

        (version,) = await one.core.services.cards.versions(card_id)
        assert (await one.core.services.cards.version(card_id, version.id)).properties["importance"] == 5


async def test_an_edit_made_while_no_daemon_ran_leaves_the_version_before_it(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        await one.core.services.card_care.settled()
    place = tmp_path / "vault" / PATH
    place.write_text(place.read_text().replace("likes tea", "hates tea"))
    async with running(tmp_path) as again:
        assert await texts_of(again, card_id) == ["she likes tea"]


async def test_cards_indexed_before_they_were_watched_are_caught_up_with(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
    for name in ("cards.sqlite", "cards.sqlite-wal", "cards.sqlite-shm"):
        (tmp_path / "state" / name).unlink(missing_ok=True)
    async with running(tmp_path) as again:
        assert await again.core.services.card_care.catch_up() == 1
        await again.write(PATH, again.read(PATH).replace("likes tea", "hates tea"))

        assert await texts_of(again, card_id) == ["she likes tea"]


async def test_a_damaged_database_of_what_was_seen_costs_one_version_and_no_more(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
    (tmp_path / "state" / "cards.sqlite").write_bytes(b"no database " * 100)
    (tmp_path / "state" / "cards.sqlite-wal").unlink(missing_ok=True)
    async with running(tmp_path) as again:
        await again.core.services.card_care.catch_up()
        await again.write(PATH, again.read(PATH).replace("likes tea", "hates tea"))

        assert await texts_of(again, card_id) == ["she likes tea"]


async def test_undo_of_an_update_leaves_what_it_undid(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        await one.core.services.cards.update(card_id, CardChange(content="coffee"))
        await one.core.services.card_care.settled()

        await one.core.scribe.undo(await one.core.services.versions.newest(card_id))

        assert "she likes tea" in one.read(PATH)
        assert "coffee" in await texts_of(one, card_id)


async def test_counting_makes_no_version(tmp_path):
    async with running(tmp_path, clock=FakeClock(datetime.now(UTC))) as one:
        card_id = await written(one)
        one.core.services.cards.used([card_id])
        one.clock.advance(hours=1)

        assert await one.core.services.card_care() == 1
        assert await texts_of(one, card_id) == []


async def test_revert_brings_text_and_properties_back_and_keeps_what_was_there(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        cards = one.core.services.cards
        one.core.services.cards.used([card_id])
        await cards.update(card_id, CardChange(content="coffee", importance=9, tags=("x",)))
        (version,) = await cards.versions(card_id)

        view = await cards.revert(card_id, version.id)

        assert (view.text, view.card.importance, view.card.tags, view.card.use_count) == ("she likes tea", 5, (), 1)
        assert (await texts_of(one, card_id))[0] == "coffee"


async def test_a_version_says_what_changed_since(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        cards = one.core.services.cards
        await cards.update(card_id, CardChange(content="she likes coffee"))
        (version,) = await cards.versions(card_id)

        diff = (await cards.version(card_id, version.id)).diff

        assert "-she likes tea\n" in diff
        assert "+she likes coffee\n" in diff


async def test_a_version_that_is_not_there_is_refused(tmp_path):
    async with running(tmp_path) as one:
        card_id = await written(one)
        for call in (one.core.services.cards.version, one.core.services.cards.revert):
            with pytest.raises(BadInput):
                await call(card_id, "20260101T000000.000000Z-" + "0" * 32)


async def test_a_version_from_before_a_card_became_shared_is_not_shown_to_a_scope_it_was_not_for(tmp_path):
    async with running(tmp_path) as one:
        cards = one.core.services.cards
        new = NewCard(content="at home only", category="lesson", topic=("t",), scope="home")
        card_id = (await cards.remember(new)).view.card.id
        await cards.update(card_id, CardChange(scope="", content="for all"))
        (version,) = await cards.versions(card_id)

        with pytest.raises(BadInput):
            await cards.version(card_id, version.id, "work")
        assert (await cards.version(card_id, version.id)).text == "at home only"


async def test_how_many_versions_are_kept_can_be_set(tmp_path):
    base = Settings()
    for number in (0, 3):
        settings = dataclasses.replace(base, cards=dataclasses.replace(base.cards, history=number))
        folder = tmp_path / str(number)
        folder.mkdir()
        async with running(folder, settings=settings) as one:
            card_id = await written(one)
            for text in "abcde":
                one.clock.advance(minutes=1)
                await one.core.services.cards.update(card_id, CardChange(content=text))

            assert await texts_of(one, card_id) == ["d", "c", "b"][:number]


# Ids given twice


def copy_vault(source, target):
    target.mkdir()
    shutil.copytree(source / "vault", target / "vault")


def sync(one, other):
    """Files of both sides on both sides, as after a pull and a push."""
    for a, b in ((one, other), (other, one)):
        for place in (a / "vault").rglob("*"):
            there = b / "vault" / place.relative_to(a / "vault")
            if place.is_file() and not there.exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(place, there)


async def test_two_machines_that_know_each_other_never_give_one_number(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    here.mkdir()
    async with running(here) as one:
        assert await written(one) == "20261130-001"
    copy_vault(here, there)
    async with running(there) as other:
        assert await written(other, "coffee", "coffee") == "20261130-101"
    async with running(here) as one:
        assert await written(one, "milk", "milk") == "20261130-002"


async def test_after_a_sync_no_number_is_there_twice_and_both_machines_agree(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    now = datetime.now(UTC)
    for folder, topic, minute in ((here, "tea", 0), (there, "coffee", 5)):
        folder.mkdir()
        clock = FakeClock(now)
        clock.advance(minutes=minute)
        async with running(folder, clock=clock) as one:
            first = await written(one, f"likes {topic}", topic)
            clock.advance(minutes=1)
            await one.core.services.cards.update(first, CardChange(content=f"loves {topic}"))
            await one.core.services.card_care.settled()
    sync(here, there)

    found = []
    for folder in (here, there):
        clock = FakeClock(now)
        clock.advance(hours=2)
        async with running(folder, clock=clock) as one:
            await one.core.services.card_care()
            await one.reconcile()
            found.append({row.id: (row.domain, row.path) for row in one.core.mirror.rows()})
            assert len(found[-1]) == 2
            later = next(card_id for card_id, (topic, _) in found[-1].items() if topic == ("coffee",))
            assert await texts_of(one, f"{now:%Y%m%d}-001") == ["likes tea"]
            assert await texts_of(one, later) == ["likes coffee"]
    assert found[0] == found[1]
    assert found[0][f"{now:%Y%m%d}-001"][0] == ("tea",)
    files = [{p.name: p.read_bytes() for p in (folder / "vault/cards").iterdir()} for folder in (here, there)]
    assert files[0] == files[1]


async def test_after_a_sync_the_later_machine_numbers_from_another_range(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    for folder, topic in ((here, "tea"), (there, "coffee")):
        folder.mkdir()
        async with running(folder) as one:
            await written(one, topic, topic)
    sync(here, there)
    given = []
    for folder in (here, there):
        async with running(folder) as one:
            given.append(await written(one, "x", "x"))
    assert len(set(given)) == 2


async def test_a_card_that_a_person_made_becomes_one_when_it_is_quiet(tmp_path):
    clock = FakeClock(datetime.now(UTC))
    async with running(tmp_path, clock=clock) as one:
        await one.write("cards/Likes tea.md", "---\ntype: preference\n---\nShe likes tea.\n")
        clock.advance(hours=1)

        assert await one.core.services.card_care() == 1

        (row,) = one.core.mirror.rows()
        assert (row.id, row.path, row.domain) == (f"{row.id[:8]}-001", "cards/Likes tea.md", ("Likes tea",))
        assert one.read(row.path).endswith("---\nShe likes tea.\n")
        assert await one.core.services.card_care() == 0


async def test_a_copy_made_by_hand_gets_a_number_of_its_own(tmp_path):
    clock = FakeClock(datetime.now(UTC))
    async with running(tmp_path, clock=clock) as one:
        card_id = await written(one)
        path = one.core.mirror.get(card_id).path
        await one.write(path.replace(".md", " copied.md"), one.read(path))
        clock.advance(hours=1)

        assert await one.core.services.card_care() == 1

        assert one.core.mirror.get(card_id).path == path
        assert len(one.ids()) == 2
        assert all(one_id.startswith(card_id[:9]) for one_id in one.ids())
