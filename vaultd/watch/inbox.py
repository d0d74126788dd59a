"""Where threads meet the event loop: any thread puts paths in, the pipeline takes them out."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from vaultd.core.note import NotePath


class Ring(Enum):
    """What rang: a change in place, a rename into place, a folder, or ourselves."""

    CHANGED = auto()
    RENAMED = auto()
    FOLDER = auto()
    NOW = auto()


@dataclass(frozen=True, slots=True)
class Touch:
    """A path to look at; `waiter` is resolved once it was looked at."""

    path: NotePath
    ring: Ring
    waiter: asyncio.Future[None] | None = None


class Inbox:
    """Touches from any thread, taken by one consumer on the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._touches: deque[Touch] = deque()
        self._signalled = False
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop on which touches are taken."""
        self._loop = loop
        if self._touches:
            self._event.set()

    def put(self, touch: Touch) -> None:
        """From any thread; cheap, since the watcher's thread must never wait."""
        with self._lock:
            self._touches.append(touch)
            if self._signalled or self._loop is None:
                return
            self._signalled = True
            loop = self._loop
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._event.set)

    def take(self) -> list[Touch]:
        """All touches so far."""
        with self._lock:
            touches = list(self._touches)
            self._touches.clear()
            self._signalled = False
            self._event.clear()
        return touches

    async def wait(self, timeout_s: float | None) -> None:
        """Until something is put in, or the time is over."""
        with contextlib.suppress(TimeoutError):
            # not wait_for: Python 3.11's forgets a cancellation that comes with the event
            async with asyncio.timeout(timeout_s):
                await self._event.wait()

    def __len__(self) -> int:
        return len(self._touches)
