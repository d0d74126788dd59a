from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from vaultd.tools.bridging.loopback import CutOff, NotDelivered, exchange


@contextlib.asynccontextmanager
async def server(*pieces: bytes, then_reset: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that reads a request's head and says what it was told, piece by piece."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if then_reset:
            writer.transport.abort()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield f"http://127.0.0.1:{port}/mcp", requests


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(*pieces: bytes) -> Sequence[bytes]:
    return [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]


async def test_a_body_of_declared_length():
    async with (
        server(b"HTTP/1.1 404 Not Found\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhe", b"llo") as (url, requests),
        exchange("POST", url, headers={"X-C": "d"}, body=b"in") as answer,
    ):
        assert (answer.status, answer.headers["x-a"]) == (404, "b")
        assert await answer.body() == b"hello"
        assert requests[0].startswith(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"X-C: d\r\nContent-Length: 2" in requests[0]


async def test_events_are_read_as_they_come_however_they_are_cut():
    text = 'retry: 5\n\nid: 7\nevent: message\ndata: {"a":\ndata: 1}\n\n: ping\r\n\r\ndata:日\r\n\r\nid: 8\n\nnothing\n\n'.encode()
    pieces = [text[index : index + 1] for index in range(len(text))]
    async with (
        server(HEAD, *chunked(*pieces), b"0\r\n\r\n") as (url, _),
        exchange("GET", url, headers={}) as answer,
    ):
        events = [(event.event_id, event.data) async for event in answer.events()]

    assert events == [("7", b'{"a":\n1}'), (None, "日".encode()), ("8", b"")]


async def test_a_long_event_takes_linear_time():
    piece = b"x" * 4096
    async with (
        server(HEAD, *chunked(b"data: ", *[piece] * 4096, b"\n\n"), b"0\r\n\r\n") as (url, _),
        exchange("GET", url, headers={}) as answer,
    ):
        events = [event.data async for event in answer.events()]

    assert [len(data) for data in events] == [4096 * 4096]


async def test_nobody_there_means_not_delivered():
    async with server() as (url, _):
        pass

    sent = []
    with pytest.raises(NotDelivered):
        async with exchange("POST", url, headers={}, body=b"x", on_connected=lambda: sent.append(1)):
            raise AssertionError
    assert sent == []


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"HTTP/1.1 200",),
        (b"nonsense\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",),
        (HEAD, b"5\r\nhel"),
        (HEAD, b"zz\r\n"),
    ],
    ids=["nothing", "half a line", "no http", "short body", "half a chunk", "bad chunk"],
)
@pytest.mark.parametrize("reset", [False, True])
async def test_an_answer_that_breaks_off_is_cut_off(pieces, reset):
    async with server(*pieces, then_reset=reset) as (url, _):
        with pytest.raises(CutOff):
            async with exchange("GET", url, headers={}) as answer:
                await answer.body()


async def test_leaving_early_closes_the_connection():
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        async with exchange("GET", f"http://127.0.0.1:{port}/", headers={}) as answer:
            assert answer.is_event_stream
        async with asyncio.timeout(2):
            await ended.wait()


async def test_ipv6_addresses_work():
    try:
        listening = await asyncio.start_server(lambda r, w: w.close(), "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(CutOff):
            async with exchange("GET", f"http://[::1]:{port}/", headers={}):
                pass
