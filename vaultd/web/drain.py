"""How open requests end when the daemon closes.

An open stream (dashboard events, the GET stream of MCP, a subscription) would keep a server alive for ever. Here it
is told at once that its client has left; every other request gets a grace first. What has not ended after that is
cancelled, so that closing takes a bounded time whatever the handlers do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaultd.web.refusal import refusal, retry_after

GRACE_S: Final = 1.0
"""How long a call may go on after closing began."""

CUT_AFTER_S: Final = 0.25
"""How long a request has to end by itself once it was told that its client left."""


class Closing(asyncio.Event):
    """Set once, when the daemon begins to close. It belongs to one event loop.

    From another thread or a signal handler use `loop.call_soon_threadsafe(closing.set)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Begin closing: wake who waits, and run the callbacks, each once."""
        super().set()
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def when_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` when closing begins (at once if it has). Returns what takes it back."""
        if self.is_set():
            callback()
            return lambda: None
        key = object()
        self._callbacks[key] = callback
        return lambda: self._callbacks.pop(key, None) and None


class DrainMiddleware:
    """Ends requests in good order once `closing` is set; new ones are answered 503 with Retry-After.

    That header is a promise: the request was not looked at, so it may be sent again. A call that was cut off has an
    answer 503 without it.
    """

    def __init__(self, app: ASGIApp, *, closing: Closing, grace_s: float = GRACE_S) -> None:
        self._app = app
        self._closing = closing
        self._grace_s = grace_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._closing.is_set():
            await _too_late(scope, receive, send)
            return
        request = _OpenRequest(receive, send, grace_s=0.0 if _is_stream(scope) else self._grace_s)
        take_back = self._closing.when_set(request.begin_to_end)
        try:
            async with request.deadline:
                await self._app(scope, request.receive, request.send)
        except TimeoutError:
            if not request.deadline.expired():
                raise  # the application's own
        finally:
            take_back()
        if self._closing.is_set():
            await request.finish(scope)


class _OpenRequest:
    """One request between its client and the application."""

    def __init__(self, receive: Receive, send: Send, *, grace_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._send = send
        self._grace_s = grace_s
        self._told_to_end: asyncio.Future[None] = self._loop.create_future()
        self._body_comes = True
        self._started: Message | None = None
        self._complete = False
        self.deadline = asyncio.timeout(None)

    def begin_to_end(self) -> None:
        self._loop.call_later(self._grace_s, self._tell)
        self.deadline.reschedule(self._loop.time() + self._grace_s + CUT_AFTER_S)

    def _tell(self) -> None:
        if not self._told_to_end.done():
            self._told_to_end.set_result(None)

    async def receive(self) -> Message:
        if self._body_comes:
            message = await self._receive()
            self._body_comes = message["type"] == "http.request" and message.get("more_body", False)
            return message
        # from here on the application only waits for its client to leave
        leaving = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((leaving, self._told_to_end), return_when=asyncio.FIRST_COMPLETED)
            return leaving.result() if leaving.done() else {"type": "http.disconnect"}
        finally:
            leaving.cancel()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = message
        elif not message.get("more_body", False):
            self._complete = True
        await self._send(message)

    async def finish(self, scope: Scope) -> None:
        """Answer for an application that has ended without an answer, as far as that can be done honestly."""
        if self._started is None:
            await _cut_off(scope, self._receive, self._send)
        elif not self._complete and _is_event_stream(self._started):
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cut_off(scope: Scope, receive: Receive, send: Send) -> None:
    message = "vaultd was shut down while this was under way: it may have been carried out, or not"
    await refusal(503, "cut_off", message, headers={"Connection": "close"})(scope, receive, send)


async def _too_late(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {**retry_after(1), "Connection": "close"}
    answer = refusal(503, "closing", "vaultd is shutting down; try again in a moment", headers=headers)
    await answer(scope, receive, send)


def _is_stream(scope: Scope) -> bool:
    """Whether the request waits for events, rather than for an answer."""
    reads = scope["method"] == "GET"
    for name, value in scope["headers"]:
        if (name == b"mcp-method" and value == b"subscriptions/listen") or (
            reads and name == b"accept" and b"text/event-stream" in value
        ):
            return True
    return False


def _is_event_stream(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])
