"""HTTP/1.1 on one connection: as uvicorn and httptools speak it, with a limit, and answers that leave in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD: Final = 64 * 1024
"""Bytes of a request before its body; what goes on longer without an end is refused."""


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


class Wire(HttpToolsProtocol):
    """One connection. Header values come without blanks around them, as RFC 9110 §5.5 has it."""

    _in_head = True
    _bytes = 0  # since the last message's end

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast("asyncio.Transport", Corked(transport, self.loop.call_soon))

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self._in_head and self._bytes > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The request's headers are too long.")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._bytes = True, 0
        super().on_message_complete()
