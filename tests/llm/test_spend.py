"""What a chat model costs is counted for whoever asks, as the endpoint says."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from tests.model_server import reply
from vaultd.core.errors import ModelError
from vaultd.llm.spend import counted, note

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DIARY = "The boiler broke down again this morning. My sister repaired it with a coin. " * 150


async def test_each_request_of_a_long_text_counts_with_the_tokens_that_the_endpoint_tells(server, analyst):
    with counted() as spent:
        await analyst.split(DIARY, NOW)

    assert spent.requests == len(server.asked) == 3
    assert (spent.tokens_in, spent.tokens_out) == (3, 3)  # the played endpoint says one token each
    assert spent.take() == {"requests": 3, "tokens_in": 3, "tokens_out": 3}
    assert spent.take() == {}


async def test_tries_that_failed_were_paid_for_as_well(server, analyst):
    server.script(reply.status(500), reply.content("no JSON"), reply.content("no JSON"))

    with counted() as spent, pytest.raises(ModelError):
        await analyst.annotate("We met again at the lake.")

    assert spent.requests == len(server.asked) == 3


async def test_tokens_are_estimated_where_the_endpoint_does_not_tell(server, analyst):
    answer = json.dumps({"name": "n", "domain": ["love"], "valence": 0.5, "arousal": 0.5, "tags": ["t"]})
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    server.script(reply.raw(json.dumps(body).encode()))

    with counted() as spent:
        await analyst.annotate("We met again at the lake.")

    assert spent.tokens_in > 100
    assert 10 < spent.tokens_out < 60


async def test_what_others_ask_meanwhile_is_theirs():
    begun, told = asyncio.Event(), asyncio.Event()

    async def other() -> None:
        await begun.wait()
        note(requests=9)
        told.set()

    task = asyncio.create_task(other())
    with counted() as spent:
        begun.set()
        await told.wait()
        note(requests=1)
    await task

    assert spent.requests == 1
