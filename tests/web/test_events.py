from __future__ import annotations

import asyncio
import json

import pytest

from vaultd.web.drain import Closing
from vaultd.web.events import RESET, EventHub


class Page:
    """An open page: reads frames of the stream, one at a time."""

    def __init__(self, hub: EventHub, last_event_id: str | None = None) -> None:
        self._stream = hub.stream(last_event_id)
        self._left: list[dict[str, str]] = []
        self.last_id: str | None = None

    async def next(self) -> dict[str, str]:
        while not self._left:
            async with asyncio.timeout(2):
                chunk = await anext(self._stream)
            self._left = [self._fields(frame) for frame in chunk.decode().split("\n\n") if frame]
        fields = self._left.pop(0)
        self.last_id = fields.get("id", self.last_id)
        return fields

    async def event(self) -> tuple[str, object]:
        fields = await self.next()
        for _ in range(100):
            if "event" in fields:
                break
            fields = await self.next()
        return fields["event"], json.loads(fields["data"])

    async def close(self) -> None:
        await self._stream.aclose()

    @staticmethod
    def _fields(frame: str) -> dict[str, str]:
        return dict(line.split(": ", 1) for line in frame.split("\n"))


@pytest.fixture
def hub() -> EventHub:
    return EventHub(closing=Closing(), ping_every_s=0.01, ring_size=4)


async def opened(hub: EventHub, last_event_id: str | None = None) -> Page:
    page = Page(hub, last_event_id)
    assert "retry" in await page.next()
    return page


async def test_every_open_page_gets_every_event_in_order(hub):
    pages = [await opened(hub), await opened(hub)]

    hub.publish("changed", {"id": "a", "name": "名\n字"})
    hub.publish("index", {"pending": 3})

    for page in pages:
        assert await page.event() == ("changed", {"id": "a", "name": "名\n字"})
        assert await page.event() == ("index", {"pending": 3})


async def test_a_quiet_stream_pings(hub):
    page = await opened(hub)

    assert await page.next() == {"": "ping"}
    assert await page.next() == {"": "ping"}


async def test_a_new_page_gets_nothing_old(hub):
    hub.publish("changed", {"id": "a"})
    page = await opened(hub)
    hub.publish("changed", {"id": "b"})

    assert await page.event() == ("changed", {"id": "b"})


async def test_a_page_that_comes_back_gets_what_it_missed(hub):
    page = await opened(hub)
    hub.publish("changed", {"id": "a"})
    await page.event()
    await page.close()
    hub.publish("changed", {"id": "b"})
    hub.publish("changed", {"id": "c"})

    again = await opened(hub, page.last_id)

    assert await again.event() == ("changed", {"id": "b"})
    assert await again.event() == ("changed", {"id": "c"})


async def test_a_page_cut_off_before_its_first_event_misses_nothing(hub):
    page = await opened(hub)
    await page.close()
    hub.publish("changed", {"id": "a"})

    again = await opened(hub, page.last_id)

    assert await again.event() == ("changed", {"id": "a"})


@pytest.mark.parametrize("last_event_id", ["", "nonsense", "other-1", "0-1"])
async def test_a_page_from_before_a_restart_is_reset(hub, last_event_id):
    hub.publish("changed", {"id": "a"})

    page = await opened(hub, last_event_id)

    assert await page.event() == (RESET, {})
    hub.publish("changed", {"id": "b"})
    assert await page.event() == ("changed", {"id": "b"})


async def test_a_page_that_missed_more_than_the_ring_holds_is_reset(hub):
    page = await opened(hub)
    for number in range(4):
        hub.publish("changed", {"id": number})
    assert await page.event() == ("changed", {"id": 0})
    for _ in range(3):
        await page.event()

    for number in range(5):
        hub.publish("changed", {"id": number})

    assert await page.event() == (RESET, {})
    hub.publish("changed", {"id": "new"})
    assert await page.event() == ("changed", {"id": "new"})


async def test_streams_end_when_the_daemon_closes():
    closing = Closing()
    hub = EventHub(closing=closing)
    page = await opened(hub)
    reading = asyncio.ensure_future(page.next())
    await asyncio.sleep(0)

    closing.set()

    with pytest.raises(StopAsyncIteration):
        await reading
    assert hub.listeners == 0


async def test_a_page_that_leaves_is_forgotten(hub):
    page = await opened(hub)
    assert hub.listeners == 1

    await page.close()

    assert hub.listeners == 0


def test_a_kind_cannot_break_the_stream(hub):
    with pytest.raises(ValueError, match="kind"):
        hub.publish("a\ndata: x", {})
