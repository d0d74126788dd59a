"""An answer that cannot be used is asked for once more, then named, and never taken."""

from __future__ import annotations

import json

import pytest

from tests.llm.chat_setup import GOOD, failure
from tests.model_server import reply
from vaultd.core.errors import ModelBadAnswer


@pytest.mark.parametrize(
    "bad",
    [
        reply.content('{"name": "n", "domain": ["love"'),
        reply.content(""),
        reply.content(None),
        reply.content("no JSON at all"),
        reply.value({"name": "n"}),
        reply.value({**GOOD, "valence": "high"}),
        reply.value({**GOOD, "domain": []}),
        reply.value({**GOOD, "tags": None}),
        reply.content('{"domain": ["love"], "valence": NaN, "arousal": 0, "tags": ["t"]}'),
        reply.content("[" * 100_000),
    ],
)
async def test_an_answer_that_cannot_be_used_is_asked_for_once_more(server, analyst, bad):
    server.script(bad, reply.value(GOOD))

    annotation = await analyst.annotate("We met again.")

    assert annotation.domain == ("love",)
    assert "The last answer could not be used" in server.asked[1].user
    assert len(server.asked) == 2


async def test_two_answers_that_cannot_be_used_are_an_error(server, analyst):
    server.script(*[reply.content("{broken")] * 3)

    error = await failure(analyst)

    assert isinstance(error, ModelBadAnswer)
    assert "two answers that cannot be used: no valid JSON" in str(error)
    assert len(server.asked) == 2


async def test_a_truncated_answer_is_never_taken(server, analyst):
    server.script(reply.content(json.dumps(GOOD), finish="length"))

    error = await failure(analyst)

    assert isinstance(error, ModelBadAnswer)
    assert "cut at 1024 tokens: raise llm.max_tokens" in str(error)


async def test_an_answer_without_an_end_is_never_taken(server, analyst):
    server.script(*[reply.content(json.dumps(GOOD), finish=None)] * 3)

    error = await failure(analyst)

    assert isinstance(error, ModelBadAnswer)
    assert "broke off" in str(error)


async def test_a_withheld_answer_is_named(server, analyst):
    server.script(reply.content(None, finish="content_filter"))

    assert "content filter" in str(await failure(analyst))


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"choices": []}', b'{"choices": null, "error": {"message": "x"}}', b"[]", b'"text"', b"null", b"{broken"],
)
async def test_a_body_that_is_no_completion_is_a_bad_answer(server, analyst, body):
    server.script(*[reply.raw(body)] * 3)

    error = await failure(analyst)

    assert isinstance(error, ModelBadAnswer)


async def test_a_login_page_is_a_bad_answer(server, analyst):
    server.script(*[reply.raw(b"<html>please log in</html>", content_type="text/html")] * 3)

    assert "is llm.base_url right?" in str(await failure(analyst))
