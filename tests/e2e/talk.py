"""What a client says to a daemon's tools, and hears."""

from __future__ import annotations

import asyncio


async def said(client, tool, **arguments):
    """What a tool answers."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    assert result.structured_content["answer"] == result.content[0].text
    return result.content[0].text


async def found(client, query, text, *, tries=100):
    """The answer to a query, as soon as a text stands in it."""
    for _ in range(tries):
        answer = await said(client, "breath", query=query)
        if text in answer:
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(answer)


async def refused(client, tool, **arguments):
    """Why a tool does not do it."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text
