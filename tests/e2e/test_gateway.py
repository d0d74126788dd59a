"""The gateway and the tools of cards in a real daemon, with real clients and a token that carries a scope."""

from __future__ import annotations

import httpx2
import openai
import pytest

from tests.e2e.daemon import serving
from tests.model_server import ModelServer, reply
from vaultd.config.paths import state_folder
from vaultd.config.tokens import token_of_scope


@pytest.mark.slow
async def test_a_card_written_by_a_tool_reaches_a_chat_and_scopes_hold(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    work = token_of_scope(state_folder(vault, state), "work")
    with ModelServer(keys=("k",)) as upstream:
        upstream.models = ("m",)
        upstream.script(reply.content("Your sister takes her tea with lemon, and never with milk."))
        env = {"VAULTD_BASE_URL": f"{upstream.url}", "VAULTD_API_KEY": "k"}
        with serving(vault, state, **env) as daemon:
            daemon.wait(lambda status: status["ready"])
            async with daemon.client() as client:
                card = {
                    "content": "My sister takes her tea with a slice of lemon, never with milk.",
                    "type": "preference",
                    "topic": "tea",
                }
                made = await client.call_tool("remember", card)
                card_id = made.structured_content["id"]
            daemon.wait(lambda status: not status["pending"])
            with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key=daemon.token, max_retries=0) as chat:
                answer = chat.chat.completions.with_raw_response.create(
                    model="m",
                    messages=[{"role": "user", "content": "Does my sister take her tea with lemon or with milk?"}],
                )
            assert answer.headers["x-vaultd-memories"] == card_id
            assert "never with milk" in upstream.asked[-1].system
            with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key=work, max_retries=0) as chat:
                assert [model.id for model in chat.models.list()] == ["m"]
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {work}"}, trust_env=False) as http:
                assert (await http.get(f"{daemon.url}/api/buckets")).status_code == 403
            daemon.wait(lambda _: daemon.get("/api/conversations")["conversations"])
            talks = daemon.get("/api/conversations")["conversations"]
            assert [talk["id"] for talk in talks] == [answer.headers["x-vaultd-conversation"]]
        assert list((vault / "conversations").rglob("*.md"))
