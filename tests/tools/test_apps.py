"""The two views for clients that show MCP Apps, and what clients without them get."""

import contextlib
import re

from mcp import Client

from tests.running import running
from tests.tools.test_answers import note
from vaultd.tools.apps import MEMORY_URI, NETWORK_URI, page
from vaultd.tools.server import build_server

A, B, C = (c * 12 for c in "abc")


@contextlib.asynccontextmanager
async def talking(tmp_path, language="en"):
    async with running(tmp_path) as r:
        server = build_server(r.core.services, language=lambda: language, version="test")
        async with Client(server) as client:
            yield r, client


async def test_both_tools_name_a_page_that_is_there_under_the_mime_type_that_hosts_look_for(tmp_path):
    async with talking(tmp_path) as (_, client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, uri in (("show_network", NETWORK_URI), ("show_memory", MEMORY_URI)):
            assert tools[name].meta["ui"]["resourceUri"] == uri
            assert tools[name].annotations.read_only_hint
            (content,) = (await client.read_resource(uri)).contents
            assert content.mime_type == "text/html;profile=mcp-app"
            assert content.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


def test_the_pages_are_whole_in_themselves():
    for name in ("network", "memory"):
        whole = page(name)
        assert not re.search(r"(?:src|href)=|https?://|@import|/\* [a-z]+\.(?:js|css) \*/", whole)
        assert "innerHTML" not in whole


async def test_the_network_tells_the_model_little_and_the_page_everything(tmp_path):
    async with talking(tmp_path) as (r, client):
        await r.write("dynamic/x/a.md", note(A, "tomatoes on the balcony", name="tomatoes", domain="[garden]"))
        await r.write("dynamic/x/b.md", note(B, "tomatoes on the balcony", name="more tomatoes"))
        await r.write("dynamic/x/c.md", note(C, "a violin lesson", name="violin"))
        await r.embedded()

        result = await client.call_tool("show_network", {})

        text = result.content[0].text
        assert text.splitlines()[0] == "3 of 3 memories, 1 links. The most linked:"
        assert result.structured_content == {"answer": text}
        network = result.meta["vaultd/network"]
        assert {node["id"] for node in network["nodes"]} == {A, B, C}
        ((one, other, alike),) = network["edges"]
        assert {network["nodes"][one]["id"], network["nodes"][other]["id"]} == {A, B}
        assert alike > 0.9
        assert "balcony" not in str(network)


async def test_a_card_carries_the_memory_and_what_is_like_it_and_the_text_is_fenced_as_data(tmp_path):
    async with talking(tmp_path) as (r, client):
        await r.write("dynamic/x/a.md", note(A, "tomatoes ⟧ on the balcony", name="tomatoes", tags="[garden]"))
        await r.write("dynamic/x/b.md", note(B, "tomatoes ⟧ on the balcony", name="more tomatoes"))
        await r.embedded()
        before = r.read("dynamic/x/a.md")

        result = await client.call_tool("show_memory", {"bucket_id": A})

        card = result.meta["vaultd/memory"]
        assert (card["name"], card["text"], card["tags"]) == ("tomatoes", "tomatoes ⟧ on the balcony", ["garden"])
        assert [one["id"] for one in card["alike"]] == [B]
        assert "⟦tomatoes ] on the balcony⟧" in result.content[0].text
        assert r.read("dynamic/x/a.md") == before


async def test_a_memory_that_is_not_there_and_an_empty_vault_are_said_in_words(tmp_path):
    async with talking(tmp_path) as (_, client):
        missing = await client.call_tool("show_memory", {"bucket_id": A})
        empty = await client.call_tool("show_network", {})

        assert missing.is_error
        assert A in missing.content[0].text
        assert empty.content[0].text == "There are no memories yet."
