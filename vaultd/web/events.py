"""Live events for the dashboard: a hub that publishes, and the event stream that a page listens to.

Events are kept once, in a ring; a listener is a position in it. So a slow or sleeping page costs nothing, and one that
comes back with `Last-Event-ID` is given what it missed. When that is gone from the ring (or the daemon has restarted)
it gets one `reset` event instead, and loads its page's data anew.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vaultd.web.drain import Closing
from vaultd.web.refusal import refusal, retry_after

RESET: Final = "reset"
"""Kind of the event that says: you have missed something, load everything anew."""

PING_EVERY_S: Final = 15.0
RING_SIZE: Final = 512
MOST_LISTENERS: Final = 128
_RETRY_MS: Final = 1000


class EventHub:
    """Publishes events to all open pages. Used on the event loop only."""

    def __init__(self, *, closing: Closing, ping_every_s: float = PING_EVERY_S, ring_size: int = RING_SIZE) -> None:
        self._closing = closing
        self._ping_every_s = ping_every_s
        self._boot = secrets.token_hex(4)
        self._last = 0
        self._ring: deque[bytes] = deque(maxlen=ring_size)
        self._wake: set[asyncio.Event] = set()
        closing.when_set(self._wake_all)

    @property
    def listeners(self) -> int:
        return len(self._wake)

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Send one event to every open page; `data` becomes JSON. Never waits, whatever the listeners do."""
        if not kind.isidentifier():
            raise ValueError(f"an event's kind is one word, not {kind!r}")
        self._last += 1
        self._ring.append(_frame(kind, data, self._id(self._last)))
        self._wake_all()

    async def stream(self, last_event_id: str | None = None) -> AsyncGenerator[bytes]:
        """The event stream's bytes for one page, until the daemon closes."""
        seen = self._position(last_event_id)
        wake = asyncio.Event()
        self._wake.add(wake)
        try:
            start = self._last if seen is None else seen
            # an id from the start: a page that is cut off before its first event must not miss it
            yield f"retry: {_RETRY_MS}\nid: {self._id(start)}\n\n".encode()
            while not self._closing.is_set():
                wake.clear()
                oldest = self._last - len(self._ring) + 1
                if seen is None or seen < oldest - 1:
                    seen = self._last  # before the yield: more may be published while the page reads
                    yield _frame(RESET, {}, self._id(seen))
                elif seen < self._last:
                    news = [self._ring[position - oldest] for position in range(seen + 1, self._last + 1)]
                    seen = self._last
                    yield b"".join(news)
                elif not await self._woken(wake):
                    yield b": ping\n\n"
        finally:
            self._wake.discard(wake)

    async def endpoint(self, request: Request) -> Response:
        """`GET /api/events`."""
        headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        if len(self._wake) >= MOST_LISTENERS:
            return refusal(503, "too_many_listeners", "too many pages are open", headers=retry_after(30))
        return StreamingResponse(
            self.stream(request.headers.get("last-event-id")),
            media_type="text/event-stream",
            headers=headers,
        )

    async def _woken(self, wake: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(self._ping_every_s):
                await wake.wait()
        except TimeoutError:
            return False
        return True

    def _position(self, last_event_id: str | None) -> int | None:
        """Where a listener stands; None when that cannot be told. A new page starts at the end."""
        if last_event_id is None:
            return self._last
        boot, _, number = last_event_id.partition("-")
        if boot != self._boot or not number.isdecimal() or int(number) > self._last:
            return None
        return int(number)

    def _id(self, number: int) -> str:
        return f"{self._boot}-{number}"

    def _wake_all(self) -> None:
        for wake in self._wake:
            wake.set()


def _frame(kind: str, data: Mapping[str, Any], event_id: str) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"id: {event_id}\nevent: {kind}\ndata: {text}\n\n".encode()
