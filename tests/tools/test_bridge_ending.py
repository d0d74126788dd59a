from __future__ import annotations

import asyncio

from tests.tools.wires import BOTH, Daemons, bridged, ready

OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}}


async def test_the_end_of_input_ends_the_session_and_the_bridge():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)
        await host.tool("add", a=1, b=2)
        assert daemons.sessions == 1

        await host.hang_up()

        assert await host.ended() < 1.0
        assert daemons.sessions == 0


@BOTH
async def test_requests_piped_in_at_once_are_all_answered_after_the_end_of_input(modern):
    async with bridged(Daemons(), modern=modern) as host:
        if not modern:
            ids = [await host.ask("initialize", OPENING)]
            await host.notify("notifications/initialized")
        else:
            ids = [await host.ask("server/discover")]
        ids += [await host.call("add", a=number, b=1) for number in range(5)]

        await host.hang_up()

        for request_id in ids:
            assert "result" in await host.answer_to(request_id)
        await host.ended()


@BOTH
async def test_the_end_of_input_does_not_wait_for_a_long_call(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        await host.begin_slow()

        await host.hang_up()

        assert 1.0 < await host.ended() < 3.0
        assert daemons.small is not None
        for _ in range(100):
            if daemons.small.memory.running == 0:
                break
            await asyncio.sleep(0.01)
        assert daemons.small.memory.cancelled == 1


async def test_a_signal_ends_the_bridge_at_once():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)
        await host.call("slow", seconds=60)

        host.stop.set()

        assert await host.ended() < 1.0
        assert daemons.sessions == 0


async def test_the_bridge_ends_when_nobody_reads_it_even_while_its_input_is_held_open():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)

        host.reader._transport.close()

        assert await host.ended() < 1.0


async def test_nothing_is_left_on_the_loop():
    before = asyncio.all_tasks()
    async with bridged(Daemons()) as host:
        await ready(host)
        await host.call("slow", seconds=60)

    assert asyncio.all_tasks() - before == set()
