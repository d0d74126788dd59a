"""The server that the conformance suite asks (`make mcp-check`, which needs npm): it starts and has the suite's fixtures."""

import asyncio

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conformance.check import open_daemon

pytestmark = pytest.mark.e2e


async def _tools(url: str) -> set[str]:
    async with Client(streamable_http_client(f"{url}/mcp")) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


def test_it_starts_and_offers_the_suites_tools_beside_ours(tmp_path):
    with open_daemon(tmp_path) as url:
        assert {"breath", "test_simple_text"} <= asyncio.run(_tools(url))
