"""A gateway that listens, before a small real upstream on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket

import openai
import uvicorn

from tests.model_server import ModelServer
from tests.running import Running, running
from tests.web.card_app import OWNER, app_of
from vaultd.services.cards import NewCard
from vaultd.settings import Settings
from vaultd.web.gateway import gateway_routes

LEMON = "she takes her tea with a slice of lemon, never with milk"


@dataclasses.dataclass
class Play:
    """A gateway that listens, its core and its upstream."""

    one: Running
    upstream: ModelServer
    url: str

    clients: list[openai.AsyncOpenAI] = dataclasses.field(default_factory=list)

    def client(self, token: str = OWNER) -> openai.AsyncOpenAI:
        self.clients.append(openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=0))
        return self.clients[-1]

    async def card(self, content: str = LEMON, **fields) -> str:
        new = NewCard(**({"content": content, "category": "preference", "topic": ("tea",)} | fields))
        written = await self.one.core.services.cards.remember(new)
        await self.one.embedded()
        return written.view.card.id

    async def settled(self) -> None:
        await self.one.core.services.gateway.settled()

    @property
    def system(self) -> str:
        return self.upstream.asked[-1].system


@contextlib.asynccontextmanager
async def play(tmp_path, **settings):
    with ModelServer(keys=("upstream-key",)) as upstream:
        upstream.models = ("m", "another")
        base = Settings()
        gateway = dataclasses.replace(base.gateway, upstream=f"{upstream.url}/", api_key="upstream-key", **settings)
        async with running(tmp_path, settings=dataclasses.replace(base, gateway=gateway)) as one:
            listener = socket.create_server(("127.0.0.1", 0))
            app = app_of(one, gateway_routes(one.core.services.gateway))
            server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            stage = Play(one, upstream, f"http://127.0.0.1:{listener.getsockname()[1]}")
            try:
                yield stage
            finally:
                for client in stage.clients:
                    await client.close()
                server.should_exit = True
                await serving
                await one.core.services.gateway.close()
        assert not upstream.errors


ASK = [{"role": "user", "content": "how does she take my tea, with a slice of lemon or with milk?"}]


async def ask(client: openai.AsyncOpenAI, messages=ASK, **options):
    return await client.chat.completions.with_raw_response.create(model="m", messages=messages, **options)
