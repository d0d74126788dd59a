"""HTTP/1.1 on one connection, as uvicorn and h11 speak it; an answer's head and body leave in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class Corked:
    """A connection's transport; what is written within one step of the loop leaves together at its end.

    So the head of an answer needs no packet of its own, and who reads it wakes once.
    """

    def __init__(self, transport: asyncio.Transport, call_soon: Callable[..., object]) -> None:
        self._transport = transport
        self._call_soon = call_soon
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send `data` after what was written before, soon."""
        if not data:
            return
        if not self._held:
            self._call_soon(self._uncork)
        self._held.append(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self._uncork()
        self._transport.close()

    def _uncork(self) -> None:
        if self._held:
            held, self._held = b"".join(self._held), []
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Wire(H11Protocol):
    """One connection. h11 takes blanks off header values, and goes on where a client offers another protocol."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", Corked(transport, self.loop.call_soon))

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing to warn of: some clients offer HTTP/2 with every request, and take HTTP/1.1."""
