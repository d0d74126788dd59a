"""`/breath-hook` and `/dream-hook`: what the tools answer, as plain text for hooks of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from vaultd.web.endpoints import Endpoint

Text = Callable[[], Awaitable[str]]


class Hooks:
    """The texts of `breath()` and `dream()`."""

    def __init__(self, breath: Text, dream: Text) -> None:
        self._breath = breath
        self._dream = dream

    async def breath(self, _: Request) -> Response:
        """What surfaces by itself."""
        return PlainTextResponse(await self._breath())

    async def dream(self, _: Request) -> Response:
        """The newest memories to reflect on."""
        return PlainTextResponse(await self._dream())

    def endpoints(self) -> list[Endpoint]:
        """Both hooks."""
        return [
            Endpoint("GET", "/breath-hook", self.breath, "What surfaces, as plain text", answer_type="text/plain"),
            Endpoint(
                "GET", "/dream-hook", self.dream, "Memories to reflect on, as plain text", answer_type="text/plain"
            ),
        ]
