from __future__ import annotations

import asyncio
import re

import pytest

from tests.tools.wires import BOTH, Daemons, Host, bridged, ready, text_of


@BOTH
async def test_a_restart_between_calls_goes_unnoticed(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        assert await host.tool("add", a=1, b=1) == {"result": 2}

        await daemons.restart()

        assert await host.tool("add", a=2, b=2) == {"result": 4}
        assert (await host.result("tools/list"))["tools"]
        assert daemons.starts == 1


@BOTH
async def test_many_calls_right_after_a_restart_open_one_session(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        await daemons.restart()

        ids = [await host.call("add", a=number, b=0) for number in range(30)]
        answers = [await host.answer_to(request_id) for request_id in ids]

        assert [answer["result"]["structuredContent"]["result"] for answer in answers] == list(range(30))
        assert daemons.sessions == (0 if modern else 1)


@BOTH
async def test_a_call_that_was_under_way_when_the_daemon_ended_says_so_and_is_not_repeated(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        request_id = await host.begin_slow()

        await daemons.restart()

        answer = await host.answer_to(request_id)
        assert answer["error"]["code"] == -32000
        assert answer["error"]["data"] == {"delivered": "unknown", "method": "tools/call"}
        assert re.search("tools/call slow was under way: it may have been carried out, or not", text_of(answer))
        assert await host.tool("state") == {"running": 0, "cancelled": 0, "kept": 0}


@BOTH
async def test_calls_during_a_restart_are_delivered_once(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        restarting = asyncio.create_task(daemons.restart())
        ids = []
        for number in range(20):
            ids.append(await host.call("keep", text=str(number)))
            await asyncio.sleep(0.01)
        await restarting

        answers = [await host.answer_to(request_id) for request_id in ids]

        lost = [answer for answer in answers if "error" in answer]
        assert all(answer["error"].get("data", {}).get("delivered") == "unknown" for answer in lost)
        assert daemons.small is not None
        kept = daemons.small.memory.kept
        assert len(kept) == len(set(kept))
        assert daemons.starts == 1


@pytest.mark.slow
@BOTH
async def test_a_daemon_is_started_once_for_everybody_who_waits(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        if not modern:
            await host.open()
            await daemons.stop()
        ids = [await host.ask("tools/list") for _ in range(10)]

        answers = [await host.answer_to(request_id) for request_id in ids]

        assert all("result" in answer for answer in answers)
        assert daemons.starts == (1 if modern else 2)


@BOTH
async def test_a_daemon_that_is_there_is_used(modern):
    daemons = Daemons(can_start=False)
    await daemons.run()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)

        assert daemons.starts == 0


@BOTH
async def test_a_daemon_that_cannot_be_started_is_an_error_that_says_why_and_may_come_later(modern):
    daemons = Daemons(can_start=False)
    async with bridged(daemons, modern=modern) as host:
        answer = await host.answer_to(await host.ask("ping"))
        assert answer["error"] == {"code": -32000, "message": "no daemon may be started here"}

        daemons.can_start = True

        await ready(host)


async def updates_around_a_restart(host: Host, daemons: Daemons) -> list[dict]:
    """What a subscriber to `a` hears: of a change before, of what may have changed meanwhile, of a change after."""
    updated = "notifications/resources/updated"
    await host.tool("touch", path="a")
    await host.until(lambda: len(host.heard(updated)) == 1)
    await daemons.restart()
    await host.until(lambda: len(host.heard(updated)) == 2)
    await host.tool("touch", path="a")
    await host.until(lambda: len(host.heard(updated)) == 3)
    return host.heard(updated)


async def test_subscriptions_outlive_the_daemon_in_a_session():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)
        await host.result("resources/subscribe", {"uri": "note://a"})

        updates = await updates_around_a_restart(host, daemons)

        assert {one["uri"] for one in updates} == {"note://a"}


async def test_subscriptions_outlive_the_daemon_without_a_session():
    daemons = Daemons()
    async with bridged(daemons, modern=True) as host:
        await ready(host)
        listening = await host.ask("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://a"]}})
        await host.until(lambda: bool(host.heard("notifications/subscriptions/acknowledged")))

        updates = await updates_around_a_restart(host, daemons)

        assert updates[1] == updates[0]
        assert len(host.heard("notifications/subscriptions/acknowledged")) == 1
        assert listening not in host.answers


@BOTH
async def test_listening_does_not_start_a_daemon_that_somebody_has_stopped(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        if modern:
            await host.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            await host.until(lambda: bool(host.heard("notifications/subscriptions/acknowledged")))

        await daemons.stop()
        await asyncio.sleep(0.5)

        assert daemons.starts == 1


@pytest.mark.slow
async def test_the_daemons_question_is_taken_back_when_it_is_gone():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)
        request_id = await host.call("keep_if_sure", text="a secret")
        await host.until(lambda: bool(host.questions))

        await daemons.restart()
        answer = await host.answer_to(request_id)
        await host.until(lambda: bool(host.heard("notifications/cancelled")))

        assert answer["error"]["data"]["delivered"] == "unknown"
        assert host.heard("notifications/cancelled")[0]["requestId"] == host.questions[0]["id"]
        await host.send({"id": host.questions[0]["id"], "result": {"action": "accept", "content": {"ok": True}}})
        assert (await host.tool("state"))["kept"] == 0
