"""A client's end of the bridge, and daemons that come and go, all on the test's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.web.small_app import STRONG, SmallApp, small_app
from vaultd.config.runtime import Runtime
from vaultd.tools.bridge import Bridge
from vaultd.tools.bridging.daemon_link import DaemonLink
from vaultd.tools.bridging.launch import DaemonDown
from vaultd.tools.bridging.lines import Lines
from vaultd.web.server import WebServer, listen

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}

BOTH = pytest.mark.parametrize("modern", [False, True], ids=["session", "stateless"])


class Daemons:
    """The daemons of a test, one at a time."""

    def __init__(self, *, can_start: bool = True) -> None:
        self.can_start = can_start
        self.starts = 0
        self.token = STRONG
        self.small: SmallApp | None = None
        self._current: tuple[WebServer, asyncio.Task[None], Runtime] | None = None

    def find(self) -> Runtime | None:
        return self._current[2] if self._current else None

    async def start(self) -> Runtime:
        """What the bridge calls when it finds none."""
        if not self.can_start:
            raise DaemonDown("no daemon may be started here")
        self.starts += 1
        return await self.run()

    async def run(self) -> Runtime:
        assert self._current is None
        self.small = small_app()
        server = WebServer(self.small.app, listener=listen("127.0.0.1", 0), closing=self.small.closing)
        task = asyncio.create_task(server.serve_until_closed())
        await server.ready.wait()
        runtime = Runtime(1, f"http://127.0.0.1:{server.port}", server.port, self.token, "/vault", "now")
        self._current = (server, task, runtime)
        return runtime

    async def stop(self) -> None:
        """As a signal does it; calls under way are cut off after their grace."""
        if self._current is None:
            return
        (server, task, _), self._current = self._current, None
        server.close()
        await task

    async def restart(self) -> None:
        await self.stop()
        await self.run()

    @property
    def sessions(self) -> int:
        """How many sessions the daemon has open."""
        assert self.small is not None
        return len(self.small.session_manager._server_instances)


@dataclass
class Host:
    """The client that has started the bridge."""

    write_fd: int
    reader: asyncio.StreamReader
    running: asyncio.Task[None]
    stop: asyncio.Event
    modern: bool = False
    notifications: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[object, dict[str, Any]] = field(default_factory=dict)
    errors_without_id: list[dict[str, Any]] = field(default_factory=list)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def send_text(self, text: bytes) -> None:
        left = memoryview(text)
        while left:
            left = left[await asyncio.to_thread(os.write, self.write_fd, left) :]

    async def send(self, message: dict[str, Any]) -> None:
        await self.send_text(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"method": method, "params": params})

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> object:
        """Send a request; its id."""
        request_id = next(self.ids)
        content = dict(params or {})
        if self.modern:
            content["_meta"] = {**MODERN, **content.get("_meta", {})}
        await self.send({"id": request_id, "method": method, "params": content})
        return request_id

    async def call(self, tool: str, **arguments: Any) -> object:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def begin_slow(self) -> object:
        """A call that is under way at the daemon, and would be for a minute; its id."""
        request_id = await self.ask(
            "tools/call",
            {"name": "slow", "arguments": {"seconds": 60, "steps": 600}, "_meta": {"progressToken": 1}},
        )
        await self.until(lambda: bool(self.heard("notifications/progress")))
        return request_id

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 15.0) -> None:
        """Read lines until something is so."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                line = await self.reader.readline()
                assert line, "the bridge has closed its output"
                assert line.endswith(b"\n")
                self._take(json.loads(line))

    async def answer_to(self, request_id: object, *, timeout_s: float = 15.0) -> dict[str, Any]:
        await self.until(lambda: request_id in self.answers, timeout_s=timeout_s)
        return self.answers.pop(request_id)

    async def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.answer_to(await self.ask(method, params))
        assert "result" in answer, answer
        return answer["result"]

    async def tool(self, name: str, **arguments: Any) -> Any:
        result = await self.result("tools/call", {"name": name, "arguments": arguments})
        return result["structuredContent"]

    async def open(self, version: str = "2025-11-25") -> dict[str, Any]:
        """Open a session, as clients up to 2025-11-25 do."""
        result = await self.result(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        await self.notify("notifications/initialized")
        return result

    def heard(self, method: str) -> list[dict[str, Any]]:
        return [one["params"] for one in self.notifications if one["method"] == method]

    async def hang_up(self) -> None:
        """Close the bridge's input."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    async def ended(self, timeout_s: float = 10.0) -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with asyncio.timeout(timeout_s):
            await self.running
        return loop.time() - begin

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self.questions.append(message)
        elif "method" in message:
            self.notifications.append(message)
        elif message.get("id") is None:
            self.errors_without_id.append(message)
        else:
            assert message["id"] not in self.answers, "a second answer"
            self.answers[message["id"]] = message


async def ready(host: Host) -> None:
    """Whatever a client of this kind does first."""
    if host.modern:
        await host.result("server/discover")
    else:
        await host.open()


def text_of(answer: dict) -> str:
    """What an error says."""
    return answer["error"]["message"]


@contextlib.asynccontextmanager
async def bridged(daemons: Daemons, *, modern: bool = False, token: str | None = None) -> AsyncIterator[Host]:
    """A bridge between a client's two pipes and the daemons."""
    loop = asyncio.get_running_loop()
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    lines = Lines(read_fd=in_read, write_fd=out_write)
    stop = asyncio.Event()
    link = DaemonLink(find=daemons.find, start=daemons.start, token=token)
    running = asyncio.create_task(Bridge(link, lines).run(stop))
    reader = asyncio.StreamReader(limit=1 << 26)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb", buffering=0)
    )
    host = Host(in_write, reader, running, stop, modern)
    try:
        yield host
    finally:
        await host.hang_up()
        stop.set()
        await running
        await daemons.stop()
        transport.close()
        os.close(out_write)
        os.close(in_read)
        await asyncio.sleep(0)
