"""What a caller's credential lets it see: the scope that its token carries."""

from __future__ import annotations

from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultd.web.auth import PRINCIPAL, Principal
from vaultd.web.refusal import refusal

WITHIN: Final = ("/v1/", "/mcp/", "/api/cards/", "/api/conversations/", "/memory/", "/static/")


def sight_of(connection: HTTPConnection | None) -> str | None:
    """The scope of a caller; None: its token carries none, it sees all."""
    principal = connection.scope.get(PRINCIPAL) if connection is not None else None
    return principal.scope if isinstance(principal, Principal) else None


class ScopeFence:
    """Lets a token that carries a scope reach only what looks at the scope: cards, conversations, chats and MCP.

    Everything else (memories, logs, versions, settings) would have to be told about cards one by one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and sight_of(HTTPConnection(scope)) is not None and not _is_within(scope["path"]):
            message = "this token carries a scope: it is for cards, conversations, chats and MCP alone"
            await refusal(403, "scoped_token", message)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_within(path: str) -> bool:
    return path.startswith(WITHIN) or path in ("/api/cards", "/api/conversations", "/mcp", "/memory", "/health")
