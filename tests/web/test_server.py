from __future__ import annotations

import asyncio
import contextlib
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.web.asgi import bearer
from tests.web.small_app import STRONG, SmallApp, small_app
from vaultd.core.errors import SettingsError, VaultdError
from vaultd.web.server import WebServer, base_url, listen, occupant

DAEMON = Path(__file__).parent / "small_daemon.py"


class Serving:
    """The small application on a port of its own, in the test's own loop."""

    def __init__(self, small: SmallApp, server: WebServer, task: asyncio.Task[None]) -> None:
        self.small = small
        self.server = server
        self.task = task
        self.url = base_url("127.0.0.1", server.port)

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.url, headers=bearer(STRONG), timeout=20, trust_env=False)

    async def closed_after(self) -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with asyncio.timeout(10):
            await self.task
        return loop.time() - begin


@contextlib.asynccontextmanager
async def serving(small: SmallApp | None = None) -> AsyncIterator[Serving]:
    small = small or small_app()
    server = WebServer(small.app, listener=listen("127.0.0.1", 0), closing=small.closing)
    task = asyncio.create_task(server.serve_until_closed())
    await asyncio.wait((task, asyncio.create_task(server.ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    try:
        yield Serving(small, server, task)
    finally:
        server.close()
        await task


@contextlib.contextmanager
def strangers_port() -> Iterator[int]:
    """A port on which another program serves HTTP."""

    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *args: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_taken_port_names_the_vaultd_that_has_it():
    async with serving(small_app(pid=4711)) as one:
        with pytest.raises(SettingsError) as caught:
            await asyncio.to_thread(listen, "127.0.0.1", one.server.port)

    assert str(caught.value) == (
        f"server.port: {one.server.port} is in use by another vaultd ({one.url}, pid 4711); "
        "stop it, or choose another port (0: any free)"
    )


def test_a_port_taken_by_another_program_is_said_too():
    with strangers_port() as port:
        assert occupant("127.0.0.1", port) is None
        with pytest.raises(SettingsError, match=rf"server.port: {port} is in use by another program"):
            listen("127.0.0.1", port)


def test_a_port_that_was_just_taken_is_taken_before_it_serves():
    with listen("127.0.0.1", 0) as first, pytest.raises(SettingsError, match=r"in use"):
        listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1", "256.1.1.1"])
def test_an_address_that_is_not_ours_is_named(host):
    with pytest.raises(SettingsError, match=rf"^server.host: '{host}'"):
        listen(host, 0)


def test_addresses_for_this_machines_programs():
    assert base_url("0.0.0.0", 8000) == "http://127.0.0.1:8000"
    assert base_url("::", 8000) == "http://[::1]:8000"
    assert base_url("box.home.example", 8000) == "http://box.home.example:8000"


async def test_nobody_knows_from_outside_what_serves_him():
    async with serving() as one, one.client() as client:
        headers = (await client.get("/health")).headers

    assert headers["server"] == "vaultd"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


async def test_an_application_that_does_not_start_is_one_error_of_ours(caplog):
    async def broken(scope, receive, send) -> None:
        raise RuntimeError("no disk")

    small = small_app()
    server = WebServer(broken, listener=listen("127.0.0.1", 0), closing=small.closing)

    with pytest.raises(VaultdError, match="could not start"):
        await server.serve_until_closed()


async def open_dashboard(one: Serving, ready: asyncio.Event) -> str:
    """Reads live events to the end of the stream."""
    text = ""
    async with (
        one.client() as client,
        client.stream("GET", "/api/events", headers={"Accept": "text/event-stream"}) as r,
    ):
        async for chunk in r.aiter_text():
            text += chunk
            ready.set()
    return text


async def open_mcp_stream(one: Serving, ready: asyncio.Event) -> str:
    """A session of 2025-11-25 with its GET stream."""
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    async with one.client() as client:
        answer = await client.post("/mcp", json=opening, headers=accept)
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        async with client.stream("GET", "/mcp", headers={"Accept": "text/event-stream", **session}) as stream:
            assert stream.status_code == 200
            ready.set()
            return "".join([chunk async for chunk in stream.aiter_text()])


async def open_subscription(one: Serving, ready: asyncio.Event) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"_meta": meta, "notifications": {"resourceSubscriptions": ["note://a"]}},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "subscriptions/listen",
    }
    text = ""
    async with one.client() as client, client.stream("POST", "/mcp", json=body, headers=headers) as stream:
        assert stream.status_code == 200, await stream.aread()
        async for chunk in stream.aiter_text():
            text += chunk
            ready.set()
    return text


async def call_slow_tool(one: Serving, ready: asyncio.Event, mode: str) -> str:
    """A tool that takes longer than anybody waits; in either protocol."""

    async def progress(*_args: object) -> None:
        ready.set()

    try:
        http = one.client()
        async with (
            http,
            Client(streamable_http_client(f"{one.url}/mcp", http_client=http), mode=mode, cache=None) as client,
        ):
            await client.call_tool("slow", {"seconds": 100.0, "steps": 1000}, progress_callback=progress)
    except Exception as exc:  # noqa: BLE001 - whatever the SDK makes of a lost connection
        return repr(exc)
    return "answered"


OPENERS = {
    "dashboard": open_dashboard,
    "mcp stream": open_mcp_stream,
    "subscription": open_subscription,
    "tool, session": lambda one, ready: call_slow_tool(one, ready, "legacy"),
    "tool, stateless": lambda one, ready: call_slow_tool(one, ready, "auto"),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_a_signal_ends_all_open_streams_within_two_seconds(caplog):
    async with serving() as one:
        before = asyncio.all_tasks()
        ready = {name: asyncio.Event() for name in OPENERS}
        opened = {name: asyncio.create_task(opener(one, ready[name])) for name, opener in OPENERS.items()}
        async with asyncio.timeout(20):
            await asyncio.gather(*(event.wait() for event in ready.values()))
        assert one.small.memory.running == 2

        os.kill(os.getpid(), signal.SIGTERM)

        took = await one.closed_after()
        assert took < 2.0
        results = await asyncio.gather(*opened.values(), return_exceptions=True)
        assert [name for name, result in zip(opened, results, strict=True) if isinstance(result, Exception)] == []
        assert one.small.memory.cancelled == 2
        assert one.small.memory.running == 0
        assert asyncio.all_tasks() - before == set()
    assert [record for record in caplog.records if record.exc_info] == []
    assert [record for record in caplog.records if record.name == "uvicorn.error" and record.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    "begin", [b"", b"GET /api/stuck HTTP/1.1\r\n", b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"]
)
async def test_clients_that_do_not_finish_keep_nothing_open(begin):
    async with serving() as one:
        _reader, writer = await asyncio.open_connection("127.0.0.1", one.server.port)
        writer.write(begin.replace(b"\r\n", f"\r\nHost: localhost\r\nAuthorization: Bearer {STRONG}\r\n".encode(), 1))
        await writer.drain()
        await asyncio.sleep(0.05)

        one.server.close()

        took = await one.closed_after()
        assert took < 2.0
        writer.close()


async def said_to(one: Serving, *pieces: bytes) -> bytes:
    """What the server answers to these bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", one.server.port)
    try:
        for piece in pieces:
            writer.write(piece)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


async def test_blanks_around_a_header_are_no_part_of_it():
    async with serving() as one:
        token = f"Authorization: \t Bearer {STRONG} \t \r\n".encode()
        head = f"GET /api/anything HTTP/1.1\r\nHost: 127.0.0.1:{one.server.port}\r\nConnection: close\r\n".encode()

        answer, stranger = await said_to(one, head + token + b"\r\n"), await said_to(one, head + b"\r\n")

    assert b" 401 " in stranger.split(b"\r\n")[0]
    assert b" 401 " not in answer.split(b"\r\n")[0]


@pytest.mark.parametrize("endless", [b"X-Long: " + b"a" * 60_000, b"X-A: b\r\n" * 6_000], ids=["value", "lines"])
async def test_a_head_without_an_end_is_refused(endless):
    async with serving() as one:
        with contextlib.suppress(ConnectionResetError):
            answer = await said_to(one, b"GET / HTTP/1.1\r\n", endless, *[b"a" * 10_000] * 4)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b"Invalid HTTP request" in answer


async def test_a_long_body_is_no_long_head():
    async with serving() as one:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{one.server.port}\r\nAuthorization: Bearer {STRONG}\r\n".encode()
        length, body = (
            b"Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 200000\r\n\r\n",
            b"x" * 200_000,
        )

        answer = await said_to(one, head + length + body[:70_000], body[70_000:])

    assert answer.startswith(b"HTTP/1.1 ")
    assert b"Invalid HTTP request" not in answer


async def test_a_client_that_offers_another_protocol_keeps_its_body(caplog):
    """Java's client offers HTTP/2 with every request."""
    small = small_app()
    heard = []

    async def echo(scope, receive, send):
        if scope["type"] != "http":
            await small.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        heard.append(body)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    server = WebServer(echo, listener=listen("127.0.0.1", 0), closing=small.closing)
    task = asyncio.create_task(server.serve_until_closed())
    await server.ready.wait()
    offers = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    _reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + offers + b"Content-Length: 5\r\n\r\nhello")
    async with asyncio.timeout(10):
        while not heard:
            await asyncio.sleep(0.01)
    writer.close()
    server.close()
    await task

    assert heard == [b"hello"]
    assert "pgrade" not in caplog.text


async def test_a_client_that_reads_nothing_keeps_nothing_open():
    async with serving() as one:
        reader, writer = await asyncio.open_connection("127.0.0.1", one.server.port)
        writer.write(f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {STRONG}\r\n".encode())
        writer.write(b"Accept: text/event-stream\r\n\r\n")
        await reader.readuntil(b"retry")
        reader._transport.pause_reading()
        for number in range(200):
            one.small.hub.publish("big", {"number": number, "text": "x" * 100_000})
        await asyncio.sleep(0.1)

        one.server.close()

        took = await one.closed_after()
        assert took < 2.0
        writer.transport.abort()


async def test_a_handler_that_hears_nothing_is_answered_for():
    async with serving() as one, one.client() as client:
        waiting = asyncio.create_task(client.get("/api/stuck"))
        await asyncio.sleep(0.1)

        one.server.close()

        took = await one.closed_after()
        assert took < 2.0
        assert (await waiting).status_code == 503


async def test_an_idle_server_closes_at_once():
    async with serving() as one:
        one.server.close()

        assert await one.closed_after() < 0.5


async def test_signals_work_as_before_afterwards():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    async with serving():
        assert signal.getsignal(signal.SIGTERM) != before[0]

    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def start_daemon(state: Path, *, options: Sequence[str]) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, *options, str(DAEMON), "--state", str(state)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "options"), [(signal.SIGINT, ()), (signal.SIGTERM, ("-X", "dev"))])
def test_the_process_ends_with_code_0_and_says_nothing(tmp_path, number, options):
    process, port = start_daemon(tmp_path, options=options)
    with socket.create_connection(("127.0.0.1", port)) as stream:
        request = f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {STRONG}\r\n"
        stream.sendall(f"{request}Accept: text/event-stream\r\n\r\n".encode())
        assert b"200 OK" in stream.recv(65536)

        process.send_signal(number)
        _out, errors = process.communicate(timeout=10)

    assert process.returncode == 0
    assert re.findall(r"(?i)traceback|error|left behind|warning|never", errors) == []
