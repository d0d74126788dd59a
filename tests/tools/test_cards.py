"""The four tools of cards, called by a real client: in memory, and over HTTP with tokens that carry a scope."""

from __future__ import annotations

import contextlib
import json

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.transport_security import TransportSecuritySettings

from tests.running import running
from tests.web.card_app import OWNER, WORK, app_of
from vaultd.services.cards import NewCard
from vaultd.tools.server import build_server
from vaultd.web.credentials import sight_of


@contextlib.asynccontextmanager
async def tools(tmp_path, language: str = "en", **options):
    async with running(tmp_path, **options) as one:
        server = build_server(one.core.services, language=lambda: language, version="test", sight_of=sight_of)
        async with Client(server) as client:
            yield one, client


async def call(client, name: str, **arguments):
    result = await client.call_tool(name, arguments)
    return result.structured_content, result.content[0].text, bool(result.is_error)


CARD = {"content": "she takes her tea with lemon", "type": "preference", "topic": "tea", "tags": "home, tea"}


async def test_remember_answers_with_the_id_alone(tmp_path):
    async with tools(tmp_path) as (one, client):
        data, text, _ = await call(client, "remember", **CARD)

        assert (data["id"], data["near_duplicates"]) == ("20261130-001", [])
        assert text == "✓ remembered 20261130-001 (tea)"
        assert "lemon" not in json.dumps(data)
        assert one.core.mirror.get("20261130-001").tags == ("home", "tea")


async def test_remember_tells_of_a_card_that_says_the_same(tmp_path):
    async with tools(tmp_path, language="zh") as (one, client):
        await call(client, "remember", **CARD)
        await one.embedded()
        data, text, _ = await call(client, "remember", **CARD)

        assert [twin["id"] for twin in data["near_duplicates"]] == ["20261130-001"]
        assert "update_memory" in text


async def test_an_unknown_type_is_refused_with_the_eight(tmp_path):
    async with tools(tmp_path) as (_, client):
        _, text, failed = await call(client, "remember", **(CARD | {"type": "mood"}))

        assert failed
        assert text == (
            "type: 'mood' is not one of milestone, commitment, turning_point, deep_talk, interaction_moment, "
            "preference, real_world, lesson"
        )


async def test_an_update_never_echoes_the_card(tmp_path):
    async with tools(tmp_path) as (_, client):
        long = "one sentence about tea. " * 200 + "the end"
        data, _, _ = await call(client, "remember", **(CARD | {"content": long}))
        result = await client.call_tool(
            "update_memory", {"id": data["id"], "old_text": "the end", "new_text": "no end"}
        )

        answer = json.dumps(result.structured_content) + result.content[0].text
        assert "sentence" not in answer
        assert len(answer) < 300
        assert (result.structured_content["before"], result.structured_content["after"]) == (4807, 4806)


async def test_a_wrong_fragment_or_id_changes_nothing(tmp_path):
    async with tools(tmp_path) as (one, client):
        data, _, _ = await call(client, "remember", **CARD)
        before = one.read("cards/20261130-001 tea.md")
        for arguments in (
            {"id": data["id"], "old_text": "coffee", "new_text": "x"},
            {"id": data["id"]},
            {"id": "20200101-001", "content": "x"},
            {"id": "", "content": "x"},
        ):
            assert (await call(client, "update_memory", **arguments))[2]
        assert one.read("cards/20261130-001 tea.md") == before


async def test_search_has_scores_and_embeddings_only_where_asked(tmp_path):
    async with tools(tmp_path) as (one, client):
        await call(client, "remember", **CARD)
        await call(client, "remember", content="the boiler broke in march", type="real_world", topic="boiler")
        await one.embedded()

        data, text, _ = await call(client, "search_memory", query="tea with lemon?")
        assert [hit["id"] for hit in data["hits"]] == ["20261130-001"]
        assert data["hits"][0]["kept"] is True
        assert 0.5 <= data["hits"][0]["score"] <= 1
        assert "embedding" not in data["hits"][0]
        assert "⟦she takes her tea with lemon⟧" in text

        data, text, _ = await call(client, "search_memory", query="tea with lemon?", include_embedding=True)
        assert len(data["hits"][0]["embedding"]) == one.embedder.dimension
        assert str(data["hits"][0]["embedding"][0]) not in text
        data, text, _ = await call(client, "search_memory", query="tea with lemon?", type="lesson")
        assert (data["hits"], text) == ([], "No card bears on this.")


async def test_ref_update_counts_and_names_what_is_not_there(tmp_path):
    async with tools(tmp_path) as (_, client):
        await call(client, "remember", **CARD)
        data, _, failed = await call(client, "ref_update", ids=["20261130-001", "20200101-001"])

        assert not failed
        assert [(one["id"], one["use_count"]) for one in data["used"]] == [("20261130-001", 1)]
        assert data["unknown"] == ["20200101-001"]


async def test_no_tool_resource_or_completion_shows_a_card_of_another_scope(tmp_path):
    async with running(tmp_path) as one:
        new = NewCard(content="zebra secret of home", category="lesson", topic=("zebra",), scope="home")
        secret = (await one.core.services.cards.remember(new)).view.card.id
        await one.embedded()
        server = build_server(one.core.services, language=lambda: "en", version="test", sight_of=sight_of)
        mcp = server.streamable_http_app(
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
        )
        app = app_of(one, mcp.routes)
        async with server.session_manager.run():
            seen = {}
            for token in (WORK, OWNER):
                http = httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=app), headers={"Authorization": f"Bearer {token}"}
                )
                async with http, Client(streamable_http_client("http://vaultd.test/mcp", http_client=http)) as client:
                    answers = [
                        await client.call_tool("search_memory", {"query": "zebra secret of home"}),
                        await client.call_tool("search_memory", {"query": "zebra", "scope": "home"}),
                        await client.call_tool("update_memory", {"id": secret, "old_text": "nothing", "new_text": "x"}),
                        await client.call_tool("ref_update", {"ids": secret}),
                        await client.call_tool(
                            "remember", {"content": "zebra secret of home", "type": "lesson", "topic": "z"}
                        ),
                        await client.call_tool("breath", {"query": "zebra secret"}),
                        await client.call_tool("pulse", {}),
                        await client.call_tool("trace", {"bucket_id": secret, "read": True}),
                    ]
                    seen[token] = " ".join(answer.model_dump_json() for answer in answers)
            assert "zebra secret of home" in seen[OWNER]
            assert "secret of home" not in seen[WORK]
            assert "stands" not in seen[WORK]
            mine = [row.card.scope for row in one.core.mirror.rows() if row.domain == ("z",)]
            assert sorted(mine) == ["", "work"]
            assert one.core.services.cards.used([secret])[0][0].use_count == 2  # the owner's, and this one
