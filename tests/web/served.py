"""The whole application over a real core in this process, and a client that speaks to it without a socket."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
from starlette.responses import PlainTextResponse

from tests.running import Running, running
from vaultd.core.query import Query
from vaultd.settings import ServerSettings
from vaultd.tools import render
from vaultd.web.app import WebParts, build_app
from vaultd.web.auth import Auth, Token
from vaultd.web.drain import Closing
from vaultd.web.events import EventHub
from vaultd.web.guards import ServerNames
from vaultd.web.oauth import OAuth

TOKEN = "owner-token-that-is-long-enough-to-be-safe"


@dataclass
class Served:
    """An application, its core, and two clients: with the owner's token and without any."""

    one: Running
    app: object
    client: httpx2.AsyncClient
    stranger: httpx2.AsyncClient
    events: EventHub

    async def get(self, path: str, status: int = 200, **options):
        """GET; the JSON that comes back."""
        return await self.call("GET", path, status, **options)

    async def post(self, path: str, body: object = None, status: int = 200, **options):
        """POST; the JSON that comes back."""
        return await self.call("POST", path, status, json=body, **options)

    async def patch(self, path: str, body: object, status: int = 200, **options):
        """PATCH; the JSON that comes back."""
        return await self.call("PATCH", path, status, json=body, **options)

    async def call(self, method: str, path: str, status: int = 200, **options):
        """Any call, whose status is checked."""
        answer = await self.client.request(method, path, **options)
        assert answer.status_code == status, answer.text
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer.text


@contextlib.asynccontextmanager
async def served(tmp_path: Path, *, public_url: str = "", **options) -> AsyncIterator[Served]:
    """The application over tmp_path/vault, with OAuth at a public URL; `options` are those of `running`."""
    async with running(tmp_path, **options) as one:
        closing = Closing()
        events = EventHub(closing=closing)
        services = one.core.services

        async def breath() -> str:
            return render.answer(await services.answer(Query()), Query(), "en")

        async def dream() -> str:
            return render.reflection(await services.reflect(), "en")

        auth = Auth([Token("owner", TOKEN)], clock=one.clock)
        parts = WebParts(
            services=services,
            auth=auth,
            names=ServerNames.of(ServerSettings(host="127.0.0.1", port=8000)),
            closing=closing,
            events=events,
            status=services.health.status,
            mcp_app=PlainTextResponse("no MCP here", status_code=404),
            lifespan=contextlib.nullcontext,
            version="0",
            confirm_deletions=one.core.pipeline.confirm_deletions,
            reconcile=lambda: None,
            breath=breath,
            dream=dream,
            oauth=OAuth(public_url, auth, tmp_path / "connectors.json", clock=one.clock) if public_url else None,
        )
        app = build_app(parts)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=bearer) as client,
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as stranger,
        ):
            yield Served(one, app, client, stranger, events)


def bucket(note_id: str, body: str, **properties: object) -> str:
    """The file of a memory."""
    given = {"id": note_id, "name": body[:20], "type": "dynamic", "created": "2026-11-20T08:00:00+00:00"} | properties
    given.setdefault("last_active", given["created"])
    lines = "\n".join(f"{key}: {_yaml(value)}" for key, value in given.items())
    return f"---\n{lines}\n---\n\n{body}\n"


def _yaml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
