"""`/api/cards` and `/api/conversations` as docs/api-cards.md has them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeAnalyst
from tests.running import running
from tests.web.card_app import WORK, app_of, client_of
from vaultd.services.conversations import Exchange, Said
from vaultd.web.cards import CardEndpoints
from vaultd.web.conversations import ConversationEndpoints
from vaultd.web.endpoints import routes_of

NEW = {"content": "she likes tea", "type": "preference", "topic": "tea, drinks", "tags": ["home"], "importance": 6}


@contextlib.asynccontextmanager
async def api(tmp_path, **options):
    async with running(tmp_path, **options) as one:
        services = one.core.services
        endpoints = [*CardEndpoints(services).endpoints(), *ConversationEndpoints(services.conversations).endpoints()]
        app = app_of(one, routes_of(endpoints))
        async with client_of(app) as owner, client_of(app, WORK) as work:
            yield one, owner, work


async def test_a_card_is_written_read_changed_and_deleted(tmp_path):
    async with api(tmp_path) as (one, owner, _):
        made = await owner.post("/api/cards", json=NEW)
        card = made.json()["card"]
        assert (made.status_code, card["id"], made.json()["near_duplicates"]) == (201, "20261130-001", [])
        assert (card["topic"], card["type"], card["tags"], card["importance"], card["content"]) == (
            ["tea", "drinks"],
            "preference",
            ["home"],
            6,
            "she likes tea",
        )

        got = await owner.get(f"/api/cards/{card['id']}")
        assert got.json() == card
        assert got.headers["etag"] == card["etag"]

        changed = await owner.patch(
            f"/api/cards/{card['id']}",
            json={"old_text": "tea", "new_text": "white tea"},
            headers={"If-Match": card["etag"]},
        )
        assert changed.json()["changed"] == ["content"]
        assert (changed.json()["size_before"], changed.json()["size_after"]) == (13, 19)

        late = await owner.patch(f"/api/cards/{card['id']}", json={"importance": 1}, headers={"If-Match": card["etag"]})
        assert late.status_code == 409
        assert late.json()["current"]["content"] == "she likes white tea"

        gone = await owner.delete(f"/api/cards/{card['id']}")
        assert gone.json()["deleted"] is True
        assert (await owner.get(f"/api/cards/{card['id']}")).status_code == 404
        await one.core.scribe.undo(gone.json()["undo"])
        assert (await owner.get(f"/api/cards/{card['id']}")).status_code == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": "mood"}, "type"),
        ({"topic": ""}, "topic"),
        ({"topic": 5}, "topic"),
        ({"content": ""}, "content"),
        ({"importance": 11}, "importance"),
        ({"mood": 1}, "mood"),
    ],
)
async def test_a_wrong_value_is_refused_by_name(tmp_path, change, field):
    async with api(tmp_path) as (_, owner, _work):
        answer = await owner.post("/api/cards", json=NEW | change)

        assert answer.status_code == 400
        assert answer.json()["error"]["field"] == field


async def test_the_list_filters_sorts_pages_and_sums_up(tmp_path):
    async with api(tmp_path) as (one, owner, _):
        for number in range(7):
            one.clock.advance(hours=1)
            kind = "lesson" if number % 2 else "milestone"
            await owner.post(
                "/api/cards", json={**NEW, "type": kind, "importance": number + 1, "content": f"No {number}"}
            )

        first = (await owner.get("/api/cards", params={"limit": 3, "sort": "importance"})).json()
        second = (
            await owner.get("/api/cards", params={"limit": 3, "sort": "importance", "cursor": first["next_cursor"]})
        ).json()
        assert [card["importance"] for card in first["cards"] + second["cards"]] == [1, 2, 3, 4, 5, 6]
        assert first["total"] == first["summary"]["total"] == 7
        assert first["summary"]["by_type"]["lesson"] == 3
        assert "content" not in first["cards"][0]
        assert (await owner.get("/api/cards")).json()["cards"][0]["excerpt"] == "No 6"

        for query, total in (
            ({"type": "lesson"}, 3),
            ({"type": ["lesson", "milestone"]}, 7),
            ({"q": "no 4"}, 1),
            ({"q": "ＮＯ"}, 7),
            ({"tag": "home"}, 7),
            ({"tag": "away"}, 0),
            ({"importance_min": 5}, 3),
            ({"used": "yes"}, 0),
            ({"scope": ""}, 7),
            ({"from": "2026-12-01"}, 0),
        ):
            assert (await owner.get("/api/cards", params=query)).json()["total"] == total, query


@pytest.mark.parametrize(
    "query", [{"sort": "mood"}, {"cursor": "zzz"}, {"limit": 0}, {"type": "x"}, {"used": "x"}, {"from": "x"}]
)
async def test_a_filter_that_makes_no_sense_is_refused(tmp_path, query):
    async with api(tmp_path) as (_, owner, _work):
        assert (await owner.get("/api/cards", params=query)).status_code == 400


async def test_versions_are_listed_compared_and_put_back(tmp_path):
    async with api(tmp_path) as (_, owner, _work):
        card_id = (await owner.post("/api/cards", json=NEW)).json()["card"]["id"]
        await owner.patch(f"/api/cards/{card_id}", json={"content": "she likes milk"})

        (version,) = (await owner.get(f"/api/cards/{card_id}/history")).json()["versions"]
        one = (await owner.get(f"/api/cards/{card_id}/history/{version['version']}")).json()
        back = await owner.post(f"/api/cards/{card_id}/revert", json={"version": version["version"]})

        assert one["card"]["content"] == "she likes tea"
        assert "+she likes milk" in one["diff"]
        assert back.json()["card"]["content"] == "she likes tea"


async def test_no_path_shows_a_card_to_a_scope_it_is_not_for(tmp_path):
    async with api(tmp_path) as (one, owner, work):
        secret = (await owner.post("/api/cards", json={**NEW, "content": "zebra at home", "ai_scope": "home"})).json()
        shared = (await owner.post("/api/cards", json={**NEW, "content": "zebra for all"})).json()
        card_id = secret["card"]["id"]
        await one.embedded()
        path = f"/api/cards/{card_id}"

        for answer in (
            await work.get(path),
            await work.patch(path, json={"content": "x"}),
            await work.delete(path),
            await work.post(f"{path}/used"),
            await work.get(f"{path}/history"),
            await work.post(f"{path}/revert", json={"version": "1"}),
        ):
            assert answer.status_code == 404
            assert "zebra" not in answer.text
        for query in ("/api/cards", "/api/cards?q=zebra", "/api/cards?scope=home", "/api/cards/search?q=zebra&all=1"):
            answer = await work.get(query)
            assert answer.status_code == 200
            assert card_id not in answer.text
            assert (await owner.get(query)).text.count(card_id) >= 1
        assert shared["card"]["id"] in (await work.get("/api/cards")).text
        assert (await work.get("/api/cards")).json()["summary"]["by_scope"] == {"": 1}
        made = await work.post("/api/cards", json={**NEW, "content": "zebra at home"})
        assert made.json()["card"]["ai_scope"] == "work"
        assert card_id not in made.text


async def test_search_tells_scores_and_what_became_of_each(tmp_path):
    async with api(tmp_path) as (one, owner, _):
        await owner.post(
            "/api/cards", json={**NEW, "content": "we call each other every sunday", "topic": "sunday call"}
        )
        await owner.post("/api/cards", json={**NEW, "content": "the boiler broke in march", "topic": "boiler"})
        await one.embedded()

        found = (
            await owner.get("/api/cards/search", params={"q": "do we call each other on sunday", "all": "1"})
        ).json()

        best = found["hits"][0]
        assert best["card"]["topic"] == ["sunday call"]
        assert (best["kept"], best["fate"]) == (True, "kept")
        assert set(best["score"]) == {
            "final", "relevance", "similarity", "keyword", "typefit", "importance", "recency",
        }  # fmt: skip
        assert found["searched"] == 2
        assert "embedding" not in str(found)
        assert (await owner.get("/api/cards/search", params={"q": "x", "intent": "mood"})).status_code == 400


AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


async def kept(one, conversation_id="talk-1", scope="", text="hello there"):
    user = Said("user", AT, text, (("20261130-001", "芝麻、到家"),))
    await one.core.services.conversations.keep(
        Exchange(conversation_id, scope, "m", user, Said("assistant", AT, "good morning"))
    )


async def test_conversations_are_listed_shown_summarised_and_deleted(tmp_path):
    async with api(tmp_path, analyst=FakeAnalyst(summarise="They greet.")) as (one, owner, _):
        await kept(one)
        await kept(one, text="again")

        (listed,) = (await owner.get("/api/conversations")).json()["conversations"]
        assert (listed["id"], listed["title"], listed["turns"]) == ("talk-1", "hello there", 4)
        whole = (await owner.get("/api/conversations/talk-1")).json()
        assert [said["role"] for said in whole["messages"]] == ["user", "assistant"] * 2
        assert whole["messages"][0]["injected_memories"] == [{"id": "20261130-001", "topic": "芝麻、到家"}]
        assert (await owner.post("/api/conversations/talk-1/summary")).json()["summary"] == "They greet."
        assert (await owner.get("/api/conversations/talk-1")).json()["summary"] == "They greet."
        assert (await owner.delete("/api/conversations/talk-1")).json()["deleted"] is True
        assert (await owner.get("/api/conversations/talk-1")).status_code == 404


async def test_without_a_chat_model_a_summary_is_refused_with_what_to_set(tmp_path):
    async with api(tmp_path) as (one, owner, _):
        await kept(one)
        answer = await owner.post("/api/conversations/talk-1/summary")
        assert answer.status_code == 502
        assert "llm.api_key" in answer.json()["error"]["message"]


async def test_a_conversation_is_seen_by_its_scope_alone(tmp_path):
    async with api(tmp_path) as (one, owner, work):
        await kept(one, "talk-1", "home")
        await kept(one, "talk-2", "work")
        await kept(one, "talk-3")
        assert [c["id"] for c in (await work.get("/api/conversations")).json()["conversations"]] == ["talk-2"]
        assert (await work.get("/api/conversations/talk-1")).status_code == 404
        assert (await work.delete("/api/conversations/talk-1")).status_code == 404
        # held without a scope, it may hold cards of any
        assert (await work.get("/api/conversations/talk-3")).status_code == 404
        assert len((await owner.get("/api/conversations")).json()["conversations"]) == 3
