"""HTTP/1.1 to a server on this machine: one connection for each exchange, answers as they come, event streams.

A connection of its own makes it certain what can be certain: when none can be opened, nothing was delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import h11

CONNECT_TIMEOUT_S: Final = 5.0
_CHUNK_BYTES: Final = 1 << 18


class NotDelivered(Exception):
    """The request certainly did not reach an application."""


class CutOff(Exception):
    """The connection ended before the answer did; the request may have been carried out."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event that carries data or an id."""

    data: bytes
    event_id: str | None


class Answer:
    """The answer to one request, read as it comes. Its methods raise CutOff."""

    def __init__(self, connection: h11.Connection, reader: asyncio.StreamReader, head: h11.Response) -> None:
        self._connection = connection
        self._reader = reader
        self.status = head.status_code
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}

    @property
    def is_event_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def chunks(self) -> AsyncIterator[bytes]:
        while isinstance(event := await _next_event(self._connection, self._reader), h11.Data):
            yield bytes(event.data)

    async def body(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def events(self) -> AsyncIterator[Event]:
        """Server-sent events; comments, names and retry times are passed over."""
        data: list[bytes] = []
        event_id: str | None = None
        async for line in _split_lines(self.chunks()):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"id":
                event_id = value.decode("utf-8", "replace")
            elif not line:
                if data or event_id is not None:
                    yield Event(b"\n".join(data), event_id)
                data, event_id = [], None


@contextlib.asynccontextmanager
async def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes = b"",
    on_connected: Callable[[], None] | None = None,
) -> AsyncIterator[Answer]:
    """Send one request and yield its answer; leaving the context closes the connection, whatever is left to read.

    `on_connected` is called just before the first byte is sent.
    Raises NotDelivered when no connection could be opened, CutOff when it ended before an answer came.
    """
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError) as exc:
        raise NotDelivered(f"{parts.netloc} does not answer") from exc
    try:
        if on_connected is not None:
            on_connected()
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 17)
        target = parts.path or "/"
        # no "Connection: close": a server that answers before it has read everything would close on its own answer
        all_headers = {"Host": parts.netloc, **headers}
        if body or method == "POST":
            all_headers["Content-Length"] = str(len(body))
        request = h11.Request(method=method, target=target, headers=list(all_headers.items()))
        head = connection.send(request) or b""
        connection.send(h11.Data(data=body))
        connection.send(h11.EndOfMessage())
        await _send(writer, head, body)
        yield Answer(connection, reader, await _head(connection, reader))
    finally:
        writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
    # A server may answer and close before it has read everything (413): what it said is worth reading, so a failure
    # to send is left to the reading side to find.
    with contextlib.suppress(OSError):
        writer.write(head)
        writer.write(body)
        await writer.drain()


async def _head(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Response:
    while not isinstance(event := await _next_event(connection, reader), h11.Response):
        if not isinstance(event, h11.InformationalResponse):
            raise CutOff("the connection ended without an answer")
    return event


async def _next_event(connection: h11.Connection, reader: asyncio.StreamReader) -> object:
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await reader.read(_CHUNK_BYTES))
    except (OSError, h11.RemoteProtocolError) as exc:
        raise CutOff(f"the answer broke off: {exc}") from exc
    return event


async def _split_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends; the time is linear in the length of a line, however many chunks it comes in."""
    pieces: list[bytes] = []
    async for chunk in chunks:
        first, *more = chunk.split(b"\n")
        pieces.append(first)
        for line in more:
            yield b"".join(pieces).removesuffix(b"\r")
            pieces = [line]
