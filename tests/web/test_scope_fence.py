"""What a token that carries a scope can't reach."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.fakes import FakeClock
from tests.web.card_app import OWNER, WORK, client_of
from vaultd.web.auth import Auth, AuthMiddleware, Token
from vaultd.web.credentials import ScopeFence


async def anything(_):
    return PlainTextResponse("in")


def app() -> Starlette:
    auth = Auth([Token("owner", OWNER), Token("work", WORK, scope="work")], clock=FakeClock())
    return Starlette(
        routes=[Route("/{path:path}", anything)],
        middleware=[Middleware(AuthMiddleware, auth=auth), Middleware(ScopeFence)],
    )


@pytest.mark.parametrize(
    "path",
    ["/", "/dashboard", "/api/log", "/api/buckets", "/api/bucket/20261130-001/history", "/api/config", "/api/cardsx"],
)
async def test_only_the_owner_gets_there(path):
    async with client_of(app(), WORK) as work, client_of(app()) as owner:
        assert (await work.get(path)).status_code == 403
        assert (await owner.get(path)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/cards", "/api/cards/1/history", "/api/conversations", "/v1/models", "/mcp", "/memory"]
)
async def test_cards_chats_and_mcp_are_open_to_it(path):
    async with client_of(app(), WORK) as work:
        assert (await work.get(path)).status_code == 200
