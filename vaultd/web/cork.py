"""An answer's head and body leave in one piece: a packet less to send, and its reader wakes once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol


class Corked:
    """A connection's transport; what is written within one step of the loop leaves together at its end."""

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


class CorkedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, over a corked transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", Corked(transport, self.loop.call_soon))
