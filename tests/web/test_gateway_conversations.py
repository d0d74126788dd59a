"""Chats through the gateway are kept as conversations, each in its scope."""

from __future__ import annotations

import asyncio
import dataclasses

import openai
import pytest

from tests.model_server import reply
from tests.web.card_app import WORK
from tests.web.stage import ASK, LEMON, ask, play


async def test_fifty_streams_at_once_are_not_mixed_up(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.default = lambda asked: reply.content(f"You said: {asked.user}" * 20)(asked)
        client = stage.client()

        async def one(number: int) -> bool:
            said = f"message number {number * 7919}"
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": said}], stream=True
            )
            text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
            return text == f"You said: {said}" * 20

        assert all(await asyncio.gather(*(one(number) for number in range(50))))
        await stage.settled()
        found, _ = await stage.one.core.services.conversations.listed(None, limit=100)
        assert len(found) == 50
        for talk in found:
            whole = await stage.one.core.services.conversations.get(talk.id, None)
            assert whole.messages[1].text.startswith(f"You said: {whole.messages[0].text}")


async def test_a_conversation_of_another_scope_is_not_continued(tmp_path):
    async with play(tmp_path) as stage:
        await ask(stage.client(), extra_headers={"X-Vaultd-Scope": "home", "X-Vaultd-Conversation": "c1"})
        await stage.settled()
        with pytest.raises(openai.BadRequestError):
            await ask(stage.client(WORK), extra_headers={"X-Vaultd-Conversation": "c1"})


async def test_a_conversation_without_a_scope_is_not_continued_by_a_scoped_token(tmp_path):
    async with play(tmp_path) as stage:
        await ask(stage.client(), extra_headers={"X-Vaultd-Conversation": "c1"})
        await stage.settled()
        with pytest.raises(openai.BadRequestError):
            await ask(stage.client(WORK), extra_headers={"X-Vaultd-Conversation": "c1"})


async def test_the_owner_goes_on_with_a_scoped_conversation_in_its_scope(tmp_path):
    async with play(tmp_path) as stage:
        await stage.card(f"{LEMON} at home", scope="home")
        await ask(stage.client(WORK), extra_headers={"X-Vaultd-Conversation": "c1"})
        await stage.settled()
        raw = await ask(stage.client(), extra_headers={"X-Vaultd-Conversation": "c1"})

        assert "x-vaultd-memories" not in raw.headers, "the scoped token may read this conversation"


async def test_a_chat_is_kept_under_one_id_turn_by_turn(tmp_path):
    async with play(tmp_path) as stage:
        card_id = await stage.card()
        client = stage.client()
        first = await ask(client)
        await stage.settled()
        said = first.parse().choices[0].message.content
        more = [*ASK, {"role": "assistant", "content": said}, {"role": "user", "content": "and the coffee?"}]
        second = await ask(client, more)
        await stage.settled()

        talk_id = first.headers["x-vaultd-conversation"]
        assert second.headers["x-vaultd-conversation"] == talk_id
        talk = await stage.one.core.services.conversations.get(talk_id, None)
        assert [said.role for said in talk.messages] == ["user", "assistant"] * 2
        assert talk.messages[0].injected == ((card_id, "tea"),)
        assert talk.path.startswith("conversations/2026-11/")


async def test_a_regenerated_reply_takes_the_place_of_the_last_one(tmp_path):
    async with play(tmp_path) as stage:
        client = stage.client()
        named = {"X-Vaultd-Conversation": "c1"}
        for text in ("the first reply that was given", "the second reply that was given"):
            stage.upstream.script(reply.content(text))
            await ask(client, extra_headers=named)
            await stage.settled()

        talk = await stage.one.core.services.conversations.get("c1", None)
        assert [said.text for said in talk.messages] == [ASK[0]["content"], "the second reply that was given"]


async def test_keeping_can_be_switched_off_by_setting_and_by_header(tmp_path):
    async with play(tmp_path) as stage:
        await ask(stage.client(), extra_headers={"X-Vaultd-Save": "0"})
        await stage.settled()
        settings = stage.one.core.settings()
        gateway = dataclasses.replace(settings.gateway, save_conversations=False)
        stage.one.core.settings.value = dataclasses.replace(settings, gateway=gateway)
        await ask(stage.client())
        await stage.settled()
        assert not (stage.one.vault / "conversations").exists()
