"""What is written in one step of the loop leaves in one piece, in order, and before the connection is closed."""

import asyncio

from vaultd.web.wire import Corked


class Wire:
    """A transport that remembers what it was given."""

    def __init__(self):
        self.sent = []

    def write(self, data):
        self.sent.append(data)

    def close(self):
        self.sent.append("closed")

    def get_extra_info(self, name):
        return f"its {name}"


async def corked():
    wire = Wire()
    return wire, Corked(wire, asyncio.get_running_loop().call_soon)


async def test_what_one_step_writes_leaves_in_one_piece():
    wire, transport = await corked()

    transport.write(b"head ")
    transport.write(b"")
    transport.write(b"body")
    at_once = list(wire.sent)
    await asyncio.sleep(0)
    transport.write(b"next")
    await asyncio.sleep(0)

    assert at_once == []
    assert wire.sent == [b"head body", b"next"]


async def test_a_close_sends_what_was_written_first():
    wire, transport = await corked()

    transport.write(b"last words")
    transport.close()
    await asyncio.sleep(0)

    assert wire.sent == [b"last words", "closed"]


async def test_all_else_is_asked_of_the_transport_itself():
    _, transport = await corked()

    assert transport.get_extra_info("peername") == "its peername"
