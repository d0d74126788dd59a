from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from vaultd.web.drain import Closing, DrainMiddleware

Handler = Callable[..., Awaitable[None]]


class Client:
    """Speaks ASGI to one application, and stays connected for ever."""

    def __init__(self, handler: Handler, *, closing: Closing, grace_s: float = 0.05) -> None:
        self._app = DrainMiddleware(handler, closing=closing, grace_s=grace_s)
        self.sent: list[dict] = []

    def call(self, *, method: str = "POST", headers: dict[str, str] | None = None) -> asyncio.Task[None]:
        raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {"type": "http", "method": method, "path": "/x", "headers": raw}
        body = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict:
            if body:
                return body.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: dict) -> None:
            self.sent.append(message)

        return asyncio.ensure_future(self._app(scope, receive, send))

    @property
    def status(self) -> int:
        return self.sent[0]["status"]


STARTED = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
EVENTS = {"Accept": "text/event-stream"}


async def until_disconnect(scope, receive, send) -> None:
    await send(STARTED)
    while (await receive())["type"] != "http.disconnect":
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def for_ever(scope, receive, send) -> None:
    await receive()
    await asyncio.Event().wait()


async def begun(task: asyncio.Task[None]) -> None:
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()


async def within(seconds: float, task: asyncio.Task[None]) -> float:
    loop = asyncio.get_running_loop()
    begin = loop.time()
    async with asyncio.timeout(seconds):
        await task
    return loop.time() - begin


@pytest.mark.parametrize(
    ("method", "headers"), [("GET", EVENTS), ("POST", {"Mcp-Method": "subscriptions/listen"})], ids=["get", "listen"]
)
async def test_a_stream_is_told_at_once(method, headers):
    closing = Closing()
    client = Client(until_disconnect, closing=closing, grace_s=5)
    task = client.call(method=method, headers=headers)
    await begun(task)

    closing.set()

    assert await within(1, task) < 0.5
    assert client.sent[-1]["more_body"] is False


async def test_a_call_gets_its_grace():
    closing = Closing()
    client = Client(until_disconnect, closing=closing, grace_s=0.1)
    task = client.call(headers={"Accept": "application/json, text/event-stream"})
    await begun(task)

    closing.set()

    assert await within(1, task) >= 0.09


async def test_a_call_that_ends_in_time_is_answered():
    closing = Closing()
    go = asyncio.Event()

    async def handler(scope, receive, send) -> None:
        await go.wait()
        await send(STARTED)
        await send({"type": "http.response.body", "body": b"done"})

    client = Client(handler, closing=closing)
    task = client.call()
    await begun(task)

    closing.set()
    go.set()

    await within(1, task)
    assert client.sent[-1]["body"] == b"done"


async def test_a_handler_that_hears_nothing_is_cut_off_and_answered_for():
    closing = Closing()
    client = Client(for_ever, closing=closing)
    task = client.call()
    await begun(task)

    closing.set()

    assert await within(1, task) < 0.8
    assert client.status == 503
    assert b"retry-after" not in dict(client.sent[0]["headers"])


async def test_a_stream_that_hears_nothing_is_ended_properly():
    closing = Closing()

    async def handler(scope, receive, send) -> None:
        await send(STARTED)
        await asyncio.Event().wait()

    client = Client(handler, closing=closing)
    task = client.call(method="GET", headers=EVENTS)
    await begun(task)

    closing.set()

    await within(1, task)
    assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_a_cut_off_handler_can_clean_up():
    closing = Closing()
    cleaned = asyncio.Event()

    async def handler(scope, receive, send) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    client = Client(handler, closing=closing)
    task = client.call()
    await begun(task)

    closing.set()

    await within(1, task)
    assert cleaned.is_set()


async def test_a_late_request_is_not_looked_at():
    closing = Closing()
    closing.set()
    seen = []

    async def handler(scope, receive, send) -> None:
        seen.append(scope)

    client = Client(handler, closing=closing)
    await client.call()

    assert client.status == 503
    assert (b"retry-after", b"1") in client.sent[0]["headers"]
    assert not seen


async def test_an_error_of_the_application_stays_its_own():
    async def handler(scope, receive, send) -> None:
        raise TimeoutError("the application's")

    with pytest.raises(TimeoutError, match="the application's"):
        await Client(handler, closing=Closing()).call()


async def test_nothing_is_left_behind_by_requests_that_ended():
    closing = Closing()

    async def handler(scope, receive, send) -> None:
        await receive()
        waiting = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        await send(STARTED)
        await send({"type": "http.response.body", "body": b""})

    for _ in range(3):
        await Client(handler, closing=closing).call()
    await asyncio.sleep(0)

    assert not closing._callbacks
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_callbacks_run_once_and_at_once_when_it_is_late():
    closing = Closing()
    calls: list[str] = []
    closing.when_set(lambda: calls.append("early"))
    take_back = closing.when_set(lambda: calls.append("taken back"))
    take_back()

    closing.set()
    closing.set()
    closing.when_set(lambda: calls.append("late"))

    assert calls == ["early", "late"]
