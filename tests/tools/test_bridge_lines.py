from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from vaultd.tools.bridging.lines import ClientGone, Lines

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")


class Ends:
    """Our ends of the two pipes."""

    def __init__(self) -> None:
        (self.in_read, self.in_write), (self.out_read, self.out_write) = os.pipe(), os.pipe()
        self.lines = Lines(read_fd=self.in_read, write_fd=self.out_write)
        self.lines.start()
        self.feeding: list[threading.Thread] = []

    def feed(self, text: bytes, *, end: bool = True) -> None:
        def run() -> None:
            left = memoryview(text)
            while left:
                left = left[os.write(self.in_write, left) :]
            if end:
                self.close("in_write")

        self.feeding.append(threading.Thread(target=run))
        self.feeding[-1].start()

    def close(self, name: str) -> None:
        descriptor = getattr(self, name)
        setattr(self, name, -1)  # before it is closed: the same number may be another's the moment after
        if descriptor >= 0:
            os.close(descriptor)

    async def fed(self) -> None:
        for thread in self.feeding:
            await asyncio.to_thread(thread.join)

    async def all(self) -> list[bytes]:
        return [line async for line in self.lines.read()]


@contextlib.asynccontextmanager
async def ends() -> AsyncIterator[Ends]:
    pipes = Ends()
    try:
        yield pipes
    finally:
        await pipes.fed()
        pipes.close("in_write")
        pipes.close("out_read")
        await pipes.lines.close(2.0)
        for name in ("in_read", "out_write"):
            pipes.close(name)


async def test_lines_come_whole_and_in_order():
    expected = [str(number).encode() * (number % 50) for number in range(1, 2000) if number % 50]
    async with ends() as pipes:
        pipes.feed(b"\n".join(expected) + b"\n")

        assert await pipes.all() == expected


async def test_empty_lines_are_passed_over_and_a_last_line_needs_no_end():
    async with ends() as pipes:
        pipes.feed(b"\n \r\n\na\r\n\t\nb")

        assert await pipes.all() == [b"a\r", b"b"]


async def test_a_very_long_line_is_one_line():
    long = b"x" * (20 * 1024 * 1024)
    async with ends() as pipes:
        pipes.feed(long + b"\nafter\n")

        assert await pipes.all() == [long, b"after"]


async def test_an_input_that_was_made_non_blocking_is_read_all_the_same():
    async with ends() as pipes:
        os.set_blocking(pipes.in_read, False)
        await asyncio.sleep(0.02)
        pipes.feed(b"a\nb\n")

        assert await pipes.all() == [b"a", b"b"]


async def test_a_file_is_an_input_too(tmp_path: Path):
    (tmp_path / "in").write_bytes(b"a\nb\n")
    source, target = os.open(tmp_path / "in", os.O_RDONLY), os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    lines = Lines(read_fd=source, write_fd=target)
    lines.start()

    got = [line async for line in lines.read()]
    await lines.write(b"c")
    await lines.close(1.0)

    assert got == [b"a", b"b"]
    assert (tmp_path / "out").read_bytes() == b"c\n"
    os.close(source)
    os.close(target)


async def test_lines_from_many_writers_do_not_mix():
    async with ends() as pipes:
        reading = asyncio.create_task(asyncio.to_thread(read_all, pipes.out_read, 40 * 100_001))
        await asyncio.gather(*(pipes.lines.write(bytes([65 + number % 26]) * 100_000) for number in range(40)))

        lines = (await reading).split(b"\n")[:-1]

        assert len(lines) == 40
        assert all(len(set(line)) == 1 for line in lines)


async def test_a_writer_waits_for_a_slow_reader():
    async with ends() as pipes:
        writing = asyncio.create_task(pipes.lines.write(b"x" * 1_000_000))
        await asyncio.sleep(0.05)
        assert not writing.done()

        await asyncio.to_thread(read_all, pipes.out_read, 1_000_001)

        await writing


async def test_an_output_that_was_made_non_blocking_is_written_all_the_same():
    async with ends() as pipes:
        os.set_blocking(pipes.out_write, False)
        writing = asyncio.create_task(pipes.lines.write(b"x" * 1_000_000))

        text = await asyncio.to_thread(read_all, pipes.out_read, 1_000_001)

        await writing
        assert text == b"x" * 1_000_000 + b"\n"


async def test_a_reader_that_has_gone_is_noticed_without_writing():
    async with ends() as pipes:
        pipes.close("out_read")

        async with asyncio.timeout(2):
            await pipes.lines.wait_gone()
        with pytest.raises(ClientGone):
            await pipes.lines.write(b"x")


async def test_a_reader_that_goes_while_a_line_is_written_is_an_error_of_that_line():
    async with ends() as pipes:
        writing = asyncio.create_task(pipes.lines.write(b"x" * 1_000_000))
        await asyncio.sleep(0.02)

        pipes.close("out_read")

        with pytest.raises(ClientGone):
            await writing


def read_all(descriptor: int, length: int) -> bytes:
    pieces = []
    while length > 0:
        pieces.append(os.read(descriptor, 1 << 16))
        length -= len(pieces[-1])
    return b"".join(pieces)


async def test_the_bridge_does_not_spin_when_its_output_is_also_its_input():
    """One socket for both directions, as some clients have it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        lines = Lines(read_fd=theirs.fileno(), write_fd=theirs.fileno())
        lines.start()
        ours.sendall(b"one\ntwo\n")

        got = []
        async for line in lines.read():
            got.append(line)
            if len(got) == 2:
                break
        await lines.write(b"three")

        assert got == [b"one", b"two"]
        assert os.read(ours.fileno(), 100) == b"three\n"
        ours.close()
        await lines.close(1.0)
