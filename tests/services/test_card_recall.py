"""Which cards are worth a place: told in full or shortly, within the vault as it is now."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.running import running
from vaultd.core.note import NotePath
from vaultd.index.vectors import FEW
from vaultd.services.cardrecall import CardQuery
from vaultd.services.cards import NewCard

DATA = Path(__file__).parents[1] / "data"
CARDS = [json.loads(line) for line in (DATA / "cards.jsonl").read_text("utf-8").splitlines()][:40]
ASKED = [json.loads(line)["text"] for line in (DATA / "injections.jsonl").read_text("utf-8").splitlines()][::6]


async def filled(one, *, scopes=("",)) -> list[str]:
    ids = []
    for number, card in enumerate(CARDS):
        new = NewCard(
            content=card["content"],
            category=card["type"],
            topic=tuple(card["topic"]),
            tags=tuple(card["tags"]),
            importance=card["importance"],
            scope=scopes[number % len(scopes)],
        )
        ids.append((await one.core.services.cards.remember(new)).view.card.id)
    await one.embedded()
    return ids


async def test_what_is_kept_is_the_same_where_the_others_are_not_told_of(tmp_path):
    async with running(tmp_path) as one:
        await filled(one)
        recall = one.core.services.card_recall
        any_kept = 0
        for text in (*ASKED, *(card["content"] for card in CARDS[:10])):
            full = await recall(CardQuery(text))
            short = await recall(CardQuery(text, kept_only=True))

            assert [(hit.view.card.id, hit.parts) for hit in short.hits] == [
                (hit.view.card.id, hit.parts) for hit in full.kept
            ]
            assert short.searched == full.searched == len(CARDS)
            any_kept += len(full.kept)
        assert any_kept


async def test_each_scope_and_type_is_searched_among_its_own_cards(tmp_path):
    async with running(tmp_path) as one:
        await filled(one, scopes=("", "work", "home"))
        recall = one.core.services.card_recall

        for query, count in (
            (CardQuery("x"), 40),
            (CardQuery("x", sight="work"), 27),
            (CardQuery("x", sight="elsewhere"), 14),
            (CardQuery("x", scope="home"), 27),
            (CardQuery("x", sight="work", scope="home"), 14),
            (CardQuery("x", category="lesson"), sum(card["type"] == "lesson" for card in CARDS)),
            (CardQuery("x", category="no such type"), 0),
        ):
            assert (await recall(query)).searched == count


async def test_a_change_of_a_card_is_seen_by_the_next_question_and_other_notes_change_nothing(tmp_path):
    async with running(tmp_path) as one:
        ids = await filled(one)
        recall = one.core.services.card_recall
        text = CARDS[3]["content"]
        before = await recall(CardQuery(text))
        assert before.hits[0].view.card.id == ids[3]

        await one.write("a note of mine.md", text)
        assert (await recall(CardQuery(text))).searched == len(CARDS)

        await one.core.services.cards.delete(ids[3])
        after = await recall(CardQuery(text))
        assert after.searched == len(CARDS) - 1
        assert ids[3] not in {hit.view.card.id for hit in after.hits}


async def test_a_card_that_was_only_moved_is_read_where_it_lies_now(tmp_path):
    async with running(tmp_path) as one:
        ids = await filled(one)
        recall = one.core.services.card_recall
        await recall(CardQuery("anything"))
        row = one.core.mirror.get(ids[5])
        await one.core.scribe.move(row.path, NotePath("cards/another name.md"), why="test")

        found = await recall(CardQuery(CARDS[5]["content"]))

        assert found.hits[0].view.card.path == "cards/another name.md"
        assert found.hits[0].view.text == CARDS[5]["content"]


async def test_few_cards_among_many_notes_are_compared_as_all_of_them_would_be(tmp_path):
    async with running(tmp_path) as one:
        ids = await filled(one)
        for number in range(150):
            await one.write(f"{number}.md", f"note {number} of the garden\n\n{'and more of it ' * (number % 3)}")
        await one.embedded()
        mirror = one.core.mirror
        query = await one.core.services.meaning.of(CARDS[7]["content"])
        slots = np.array([mirror.slot_of(card_id) for card_id in ids], np.intp)

        assert len(slots) < FEW * mirror.slots, "few enough to be picked out"
        assert np.allclose(mirror.meaning(query, slots)[slots], mirror.meaning(query)[slots], atol=1e-6)


async def test_what_messages_have_in_common_is_known_once_the_examples_are(tmp_path):
    async with running(tmp_path) as one:
        intents = one.core.services.intents
        assert intents.usual() is None
        await intents.learn()
        usual = intents.usual()
        assert usual is not None
        assert 0 < float(np.linalg.norm(usual)) < 1
    async with running(tmp_path) as again:
        await again.core.services.intents.learn()
        assert np.allclose(again.core.services.intents.usual(), usual)
        assert not again.embedder.queries, "the examples are kept"
