"""What the gateway passes on between real clients and a small real upstream on the loopback, and what it says itself."""

from __future__ import annotations

import asyncio
import dataclasses

import httpx2
import openai
import pytest

from tests.model_server import Reply, reply
from tests.web.card_app import OWNER
from tests.web.stage import ASK, ask, play
from vaultd.settings import Settings


async def test_unknown_fields_tools_images_and_names_go_through(tmp_path):
    async with play(tmp_path) as stage:
        await stage.card()
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
        messages = [
            {"role": "user", "content": "call f", "name": "me"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "42"},
            {"role": "user", "content": [{"type": "text", "text": ASK[0]["content"]}, image]},
        ]  # fmt: skip
        await ask(
            stage.client(),
            messages,
            tools=tools,
            n=2,
            seed=7,
            logit_bias={"50256": -100},
            extra_body={"thinking": {"deep": [1, None, 0.1]}},
        )

        body = stage.upstream.asked[-1].body
        assert body["messages"][0]["role"] == "system"
        assert body["messages"][1:] == messages
        assert (body["tools"], body["n"], body["seed"]) == (tools, 2, 7)
        assert body["thinking"] == {"deep": [1, None, 0.1]}


async def test_a_streamed_answer_comes_as_it_was_sent(tmp_path):
    async with play(tmp_path) as stage:
        await stage.card()
        stage.upstream.script(reply.content("Tea with lemon, as always, and 一片柠檬 of course."))
        stream = await stage.client().chat.completions.create(
            model="m", messages=ASK, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]

        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == "Tea with lemon, as always, and 一片柠檬 of course."
        assert chunks[-1].usage.total_tokens == 2


async def test_tool_calls_of_an_answer_come_through(tmp_path):
    async with play(tmp_path) as stage:
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
        stage.upstream.script(reply.content(None, finish="tool_calls", tool_calls=[call], reasoning_content="hm"))
        answer = await stage.client().chat.completions.create(model="m", messages=ASK)

        assert answer.choices[0].message.tool_calls[0].function.arguments == '{"a": 1}'
        assert answer.choices[0].message.model_extra["reasoning_content"] == "hm"


async def test_errors_of_the_upstream_come_through_with_their_headers(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.script(
            reply.status(429, "slow down", headers={"retry-after": "7", "x-ratelimit-remaining-requests": "0"}),
            reply.html(502),
            reply.status(400, "no such model", code="model_not_found"),
        )
        client = stage.client()
        with pytest.raises(openai.RateLimitError) as busy:
            await ask(client)
        with pytest.raises(openai.InternalServerError) as broken:
            await ask(client)
        with pytest.raises(openai.BadRequestError) as wrong:
            await ask(client)

        assert busy.value.response.headers["retry-after"] == "7"
        assert busy.value.response.headers["x-ratelimit-remaining-requests"] == "0"
        assert busy.value.body["message"] == "slow down"
        assert "nginx" in broken.value.response.text
        assert wrong.value.code == "model_not_found"


async def test_a_stream_that_breaks_off_upstream_breaks_off_here(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.script(reply.cut())
        stream = await stage.client().chat.completions.create(model="m", messages=ASK, stream=True)
        with pytest.raises((openai.APIError, httpx2.HTTPError)):
            async for _ in stream:
                pass


async def test_an_upstream_that_cannot_be_reached_is_told_in_a_form_clients_know(tmp_path):
    async with play(tmp_path) as stage:
        settings = stage.one.core.settings()
        gateway = dataclasses.replace(settings.gateway, upstream="http://127.0.0.1:9/v1")
        stage.one.core.settings.value = dataclasses.replace(settings, gateway=gateway)
        with pytest.raises(openai.InternalServerError) as refused:
            await ask(stage.client())
        assert refused.value.status_code == 503
        assert "gateway.upstream" in refused.value.message


async def test_without_an_upstream_it_is_said_what_to_set(tmp_path):
    async with play(tmp_path) as stage:
        stage.one.core.settings.value = Settings(vault=stage.one.core.settings().vault)
        with pytest.raises(openai.InternalServerError) as refused:
            await ask(stage.client())
        assert "gateway.upstream" in refused.value.message


async def test_a_redirect_is_not_followed_nor_passed_on(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.script(reply.redirect("https://example.com/v1/chat/completions"))
        with pytest.raises(openai.InternalServerError) as refused:
            await ask(stage.client())
        assert refused.value.status_code == 502
        assert "location" not in refused.value.response.headers


async def test_models_are_the_upstreams(tmp_path):
    async with play(tmp_path) as stage:
        models = [model.id async for model in stage.client().models.list()]
        assert models == list(stage.upstream.models)
        assert stage.upstream.asked[-1].key == "upstream-key"


async def test_nobody_gets_in_without_the_token_and_the_token_goes_nowhere(tmp_path):
    async with play(tmp_path) as stage:
        with pytest.raises(openai.AuthenticationError):
            await ask(stage.client("wrong"))
        assert not stage.upstream.asked
        await ask(
            stage.client(),
            extra_headers={"Cookie": "vaultd-session-1=x", "X-Vaultd-Max-Memories": "2", "OpenAI-Beta": "b"},
        )
        headers = stage.upstream.asked[-1].headers
        assert OWNER not in str(headers)
        assert not [name for name in headers if name.startswith(("x-vaultd", "cookie"))]
        assert headers["openai-beta"] == "b"


async def test_a_client_that_leaves_ends_the_call_upstream(tmp_path):
    gone = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        event = b'data: {"choices":[{"index":0,"delta":{"content":"she takes lemon in her tea, "}}]}\n\n'
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + event)
        await writer.drain()
        while await reader.read(4096):
            pass
        gone.set()
        writer.close()

    async with play(tmp_path) as stage, await asyncio.start_server(slow, "127.0.0.1", 0) as server:
        card_id = await stage.card()
        settings = stage.one.core.settings()
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        gateway = dataclasses.replace(settings.gateway, upstream=address)
        stage.one.core.settings.value = dataclasses.replace(settings, gateway=gateway)
        stream = await stage.client().chat.completions.create(
            model="m", messages=ASK, stream=True, extra_headers={"X-Vaultd-Conversation": "left"}
        )
        async for _ in stream:
            break
        await stream.response.aclose()

        await asyncio.wait_for(gone.wait(), 10)
        while not stage.one.core.services.gateway._after:
            await asyncio.sleep(0)
        await stage.settled()
        kept = await stage.one.core.services.conversations.get("left", None)
        assert [said.aborted for said in kept.messages] == [False, True]
        assert kept.messages[0].injected == ((card_id, "tea"),)
        assert kept.messages[1].text == "she takes lemon in her tea,"


async def test_what_is_no_chat_is_left_to_the_upstream_to_refuse(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.default = lambda asked: Reply(
            400, b'{"error":{"message":"bad"}}', {"content-type": "application/json"}
        )
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {OWNER}"}) as http:
            for body in (b'{"model":"m"}', b'{"model":"m","messages": "x"}', b'{"model":"m","messages": [1, null]}'):
                answer = await http.post(f"{stage.url}/v1/chat/completions", content=body)
                assert (answer.status_code, answer.content) == (400, b'{"error":{"message":"bad"}}')
