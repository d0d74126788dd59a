"""Whole lines on standard input and output, for an event loop, on every platform.

Both descriptors are served by threads with plain reads and writes: pipes, sockets, files and terminals all work, and
no flag is set on a descriptor that another program shares with us.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import stat
import sys
import threading
from collections.abc import AsyncIterator
from typing import Final

_CHUNK_BYTES: Final = 1 << 18
_LINES_AHEAD: Final = 64


class ClientGone(Exception):
    """Nobody reads our output any more."""


class Lines:
    """Reads lines from one descriptor and writes lines to another. Made, used and closed on one event loop."""

    def __init__(self, *, read_fd: int = 0, write_fd: int = 1) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ahead = threading.Semaphore(_LINES_AHEAD)
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._gone = asyncio.Event()
        self._writer = threading.Thread(target=self._write_all, name="stdout", daemon=True)
        self._reader = threading.Thread(target=self._read_all, name="stdin", daemon=True)

    def start(self) -> None:
        if sys.platform == "win32":
            import msvcrt

            for descriptor in (self._read_fd, self._write_fd):
                msvcrt.setmode(descriptor, os.O_BINARY)
        self._writer.start()
        self._reader.start()
        self._watch_output()

    async def read(self) -> AsyncIterator[bytes]:
        """The lines that come in, without their ends and without empty ones, until the input ends."""
        while (line := await self._incoming.get()) is not None:
            self._ahead.release()
            if line and not line.isspace():
                yield line

    async def write(self, line: bytes) -> None:
        """Write one line, and return when it has been handed over. Raises ClientGone."""
        if self._gone.is_set():
            raise ClientGone
        done: asyncio.Future[None] = self._loop.create_future()
        self._outgoing.put((line + b"\n", done))
        await done

    async def wait_gone(self) -> None:
        """Return when nobody reads the output any more (as far as the platform tells)."""
        await self._gone.wait()

    async def close(self, timeout_s: float) -> None:
        """Let lines that were begun be finished. The threads end with the process."""
        self._outgoing.put(None)
        with contextlib.suppress(ValueError, OSError):
            self._loop.remove_reader(self._write_fd)
        deadline = self._loop.time() + timeout_s
        while self._writer.is_alive() and self._loop.time() < deadline:
            await asyncio.sleep(0.01)

    def _read_all(self) -> None:
        pieces: list[bytes] = []
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while chunk := self._read_chunk():
                first, *more = chunk.split(b"\n")
                pieces.append(first)
                for line in more:
                    self._take(b"".join(pieces))
                    pieces = [line]
            self._take(b"".join(pieces))
            self._loop.call_soon_threadsafe(self._incoming.put_nowait, None)

    def _take(self, line: bytes) -> None:
        self._ahead.acquire()
        self._loop.call_soon_threadsafe(self._incoming.put_nowait, line)

    def _read_chunk(self) -> bytes:
        while True:
            try:
                return os.read(self._read_fd, _CHUNK_BYTES)
            except BlockingIOError:  # another program has made the shared descriptor non-blocking
                select.select((self._read_fd,), (), ())
            except OSError:
                return b""

    def _write_all(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while (item := self._outgoing.get()) is not None:
                data, done = item
                written = self._write_whole(data)
                self._loop.call_soon_threadsafe(self._settle, done, written)

    def _write_whole(self, data: bytes) -> bool:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._write_fd, left) :]
            except BlockingIOError:
                select.select((), (self._write_fd,), ())
            except OSError:
                return False
        return True

    def _settle(self, done: asyncio.Future[None], written: bool) -> None:
        if not written:
            self._gone.set()
        if done.done():
            return
        if written:
            done.set_result(None)
        else:
            done.set_exception(ClientGone())

    def _watch_output(self) -> None:
        """Learn from the output pipe that the client has died, even when somebody holds our input open."""
        if sys.platform == "win32":
            return
        mode = os.fstat(self._write_fd).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            with contextlib.suppress(OSError, NotImplementedError):
                self._loop.add_reader(self._write_fd, self._output_changed)

    def _output_changed(self) -> None:
        if sys.platform != "win32":
            poll = select.poll()
            poll.register(self._write_fd, 0)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
                self._gone.set()
        # input on this descriptor is not ours to read here; without this the loop would spin
        self._loop.remove_reader(self._write_fd)
