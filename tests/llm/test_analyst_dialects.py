"""Endpoints differ in what they take: the way to ask each is found once."""

from __future__ import annotations

import pytest

from tests.llm.chat_setup import failure
from tests.model_server import reply
from vaultd.core.errors import ModelBadAnswer


@pytest.mark.parametrize(
    ("formats", "tried"),
    [
        (("json_schema",), ["json_schema"]),
        (("json_object",), ["json_schema", "json_object"]),
        ((), ["json_schema", "json_object", ""]),
    ],
)
async def test_the_way_to_ask_for_json_is_found_once_and_remembered(server, analyst, formats, tried):
    server.formats = formats

    await analyst.annotate("We met again.")
    await analyst.annotate("We met a third time.")

    assert [asked.format for asked in server.asked] == [*tried, tried[-1]]


async def test_a_refusal_that_no_way_of_asking_cures_is_an_error_and_not_remembered(server, analyst):
    server.script(*[reply.status(400, "context length exceeded")] * 3)

    error = await failure(analyst)
    await analyst.annotate("We met again.")

    assert isinstance(error, ModelBadAnswer)
    assert "context length exceeded" in str(error)
    assert server.asked[-1].format == "json_schema"


async def test_a_model_that_takes_neither_max_tokens_nor_temperature_is_asked_its_way(server, analyst):
    server.script(
        reply.status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        reply.status(400, "Unsupported value: 'temperature' does not support 0.1."),
    )

    await analyst.annotate("We met again.")
    await analyst.annotate("We met a third time.")

    for asked in server.asked[2:]:
        assert asked.body["max_completion_tokens"] == 1024
        assert "max_tokens" not in asked.body
        assert "temperature" not in asked.body
        assert asked.format == "json_schema"


async def test_a_long_merge_asks_for_a_long_answer_unless_the_endpoint_will_not_give_it(server, analyst):
    old, new = "我们又聊了一次搬家的事。" * 160, "她说下个月就要搬走了。" * 160

    await analyst.merge(old, new)
    server.script(reply.status(400, "max_tokens must be at most 4096"))
    await analyst.merge(old, new)

    assert [asked.body["max_tokens"] for asked in server.asked] == [
        server.asked[0].body["max_tokens"],
        server.asked[0].body["max_tokens"],
        1024,
    ]
    assert 4096 < server.asked[0].body["max_tokens"] <= 8192
