"""The routes of cards and the gateway behind the real check of tokens, over a core in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

import httpx2
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from tests.running import Running
from vaultd.web.auth import Auth, AuthMiddleware, Token

OWNER, WORK = "owner-token-of-thirty-two-letters", "token-of-work-with-thirty-two-let"


def app_of(one: Running, routes: Sequence[BaseRoute]) -> Starlette:
    """An application with these routes; the token OWNER sees all, the token WORK the scope "work"."""
    auth = Auth([Token("owner", OWNER), Token("work", WORK, scope="work")], clock=one.clock)
    return Starlette(routes=list(routes), middleware=[Middleware(AuthMiddleware, auth=auth)])


@contextlib.asynccontextmanager
async def client_of(app: Starlette, token: str = OWNER) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that carries a token."""
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url="http://vaultd.test",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield client
