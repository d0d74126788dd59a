from __future__ import annotations

import asyncio
import os
import re

import pytest

from tests.tools.wires import Daemons, Host, bridged
from tests.web.small_app import SCOPED, STRONG

BOTH = pytest.mark.parametrize("modern", [False, True], ids=["session", "stateless"])


async def ready(host: Host) -> None:
    """Whatever a client of this kind does first."""
    if host.modern:
        await host.result("server/discover")
    else:
        await host.open()


def text_of(answer: dict) -> str:
    return answer["error"]["message"]


@BOTH
async def test_a_client_lists_and_calls_tools(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)

        tools = (await host.result("tools/list"))["tools"]
        assert {"add", "echo", "keep"} <= {tool["name"] for tool in tools}
        assert await host.tool("add", a=2, b=3) == {"result": 5}


@BOTH
async def test_errors_of_tools_and_of_the_protocol_come_through(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)

        failed = await host.result("tools/call", {"name": "fail", "arguments": {}})
        unknown = await host.answer_to(await host.ask("no/such/method"))
        missing = await host.answer_to(await host.ask("resources/read", {"uri": "other://x"}))

        assert failed["isError"] is True
        assert unknown["error"]["code"] == -32601
        assert missing["error"]["code"] == -32602


@BOTH
async def test_names_that_no_header_can_carry_come_through(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)

        read = await host.result("resources/read", {"uri": "note://日记/一 天.md"})

        assert read["contents"][0]["text"] == "# 日记/一 天.md"


@BOTH
async def test_ids_and_numbers_stay_as_they_were(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)
        host.ids = iter(["1", 1, "日"])  # type: ignore[assignment]

        for text in ("a", "b", "c"):
            request_id = await host.call("echo", text=text)
            assert (await host.answer_to(request_id))["result"]["structuredContent"] == {"result": text}


@BOTH
async def test_progress_comes_before_the_answer_and_in_order(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)

        request_id = await host.ask(
            "tools/call",
            {"name": "slow", "arguments": {"seconds": 0.1, "steps": 4}, "_meta": {"progressToken": "p"}},
        )
        answer = await host.answer_to(request_id)

        assert answer["result"]["structuredContent"] == {"result": "done"}
        heard = host.heard("notifications/progress")
        assert [(one["progressToken"], one["progress"]) for one in heard] == [("p", step) for step in (1, 2, 3, 4)]


@BOTH
async def test_a_cancelled_call_is_cancelled_at_the_daemon_and_not_answered(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        request_id = await host.ask(
            "tools/call",
            {"name": "slow", "arguments": {"seconds": 60, "steps": 600}, "_meta": {"progressToken": 1}},
        )
        await host.until(lambda: bool(host.heard("notifications/progress")))

        await host.notify("notifications/cancelled", requestId=request_id)

        state = await host.tool("state")
        for _ in range(100):
            if state["running"] == 0:
                break
            await asyncio.sleep(0.01)
            state = await host.tool("state")
        assert (state["running"], state["cancelled"]) == (0, 1)
        assert request_id not in host.answers


@BOTH
async def test_a_call_cancelled_before_there_was_a_daemon_is_never_delivered(modern):
    daemons = Daemons(can_start=False)
    gate = asyncio.Event()

    async def start():
        await gate.wait()
        return await daemons.run()

    daemons.start = start  # type: ignore[method-assign]
    async with bridged(daemons, modern=True) as host:
        unwanted = await host.call("keep", text="unwanted")
        await host.notify("notifications/cancelled", requestId=unwanted)
        wanted = await host.call("keep", text="wanted")
        await asyncio.sleep(0.05)
        gate.set()

        await host.answer_to(wanted)

        assert daemons.small is not None
        assert daemons.small.memory.kept == ["wanted"]
        assert unwanted not in host.answers


async def test_a_question_of_the_daemon_is_answered_by_the_client():
    async with bridged(Daemons()) as host:
        await ready(host)
        request_id = await host.call("keep_if_sure", text="a secret")
        await host.until(lambda: bool(host.questions))
        question = host.questions[0]
        assert question["method"] == "elicitation/create"

        await host.send({"id": question["id"], "result": {"action": "accept", "content": {"ok": True}}})

        assert (await host.answer_to(request_id))["result"]["structuredContent"] == {"result": "kept"}


async def test_a_question_of_the_daemon_comes_in_the_answer_when_there_is_no_session():
    async with bridged(Daemons(), modern=True) as host:
        await ready(host)

        first = await host.result("tools/call", {"name": "keep_if_sure", "arguments": {"text": "a secret"}})

        assert first["resultType"] == "input_required"
        answers = {name: {"action": "accept", "content": {"ok": True}} for name in first["inputRequests"]}
        second = await host.result(
            "tools/call",
            {
                "name": "keep_if_sure",
                "arguments": {"text": "a secret"},
                "inputResponses": answers,
                "requestState": first["requestState"],
            },
        )
        assert second["structuredContent"] == {"result": "kept"}


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
        request_id = await host.ask(
            "tools/call",
            {"name": "slow", "arguments": {"seconds": 60, "steps": 600}, "_meta": {"progressToken": 1}},
        )
        await host.until(lambda: bool(host.heard("notifications/progress")))

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


async def test_subscriptions_outlive_the_daemon_in_a_session():
    daemons = Daemons()
    async with bridged(daemons) as host:
        await ready(host)
        await host.result("resources/subscribe", {"uri": "note://a"})
        await host.tool("touch", path="a")
        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 1)

        await daemons.restart()

        # it may have changed meanwhile
        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 2)
        await host.tool("touch", path="a")
        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 3)
        assert {one["uri"] for one in host.heard("notifications/resources/updated")} == {"note://a"}


async def test_subscriptions_outlive_the_daemon_without_a_session():
    daemons = Daemons()
    async with bridged(daemons, modern=True) as host:
        await ready(host)
        listening = await host.ask("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://a"]}})
        await host.until(lambda: bool(host.heard("notifications/subscriptions/acknowledged")))
        await host.tool("touch", path="a")
        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 1)

        await daemons.restart()

        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 2)
        await host.tool("touch", path="a")
        await host.until(lambda: len(host.heard("notifications/resources/updated")) == 3)
        updates = host.heard("notifications/resources/updated")
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


@pytest.mark.slow
@BOTH
async def test_lines_of_sixteen_megabytes_pass_both_ways(modern):
    text = "日记 " * (16 * 1024 * 1024 // 7)
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)

        result = await host.tool("echo", text=text)

        assert result == {"result": text}


@BOTH
async def test_a_slow_reader_loses_nothing(modern):
    async with bridged(Daemons(), modern=modern) as host:
        await ready(host)
        host.reader._transport.pause_reading()
        ids = [await host.call("echo", text="x" * 200_000) for _ in range(20)]
        await asyncio.sleep(0.3)

        host.reader._transport.resume_reading()

        for request_id in ids:
            assert len((await host.answer_to(request_id))["result"]["structuredContent"]["result"]) == 200_000


async def test_what_is_no_message_is_answered_as_such_and_harms_nothing():
    async with bridged(Daemons()) as host:
        await ready(host)

        await host.send_text(b"nonsense\n\n   \n[]\n5\n{}\n\xff\xfe\n")
        await host.until(lambda: len(host.errors_without_id) == 5)

        assert [one["error"]["code"] for one in host.errors_without_id] == [-32700, -32600, -32600, -32600, -32700]
        assert await host.tool("add", a=1, b=2) == {"result": 3}


@pytest.mark.slow
async def test_a_message_that_is_too_long_for_the_daemon_is_an_error_with_its_reason():
    async with bridged(Daemons(), modern=True) as host:
        await ready(host)

        answer = await host.answer_to(await host.call("echo", text="x" * (65 * 1024 * 1024)), timeout_s=30)

        assert "413" in text_of(answer)
        assert await host.tool("add", a=1, b=2) == {"result": 3}


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


OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}}


@BOTH
async def test_the_end_of_input_does_not_wait_for_a_long_call(modern):
    daemons = Daemons()
    async with bridged(daemons, modern=modern) as host:
        await ready(host)
        await host.ask(
            "tools/call",
            {"name": "slow", "arguments": {"seconds": 60, "steps": 600}, "_meta": {"progressToken": 1}},
        )
        await host.until(lambda: bool(host.heard("notifications/progress")))

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


async def test_a_given_token_takes_the_place_of_the_daemons():
    async with bridged(Daemons(), modern=True, token=SCOPED) as host:
        await ready(host)


async def test_a_refused_token_is_an_error_that_says_what_to_do():
    async with bridged(Daemons(), modern=True, token="wrong") as host:
        answer = await host.answer_to(await host.ask("tools/list"))

        assert "refused the token in VAULTD_TOKEN; correct it, or restart vaultd" in text_of(answer)


async def test_a_token_that_has_changed_is_read_again():
    daemons = Daemons()
    daemons.token = "old"
    await daemons.run()
    seen = []

    def find():
        runtime = Daemons.find(daemons)
        seen.append(runtime)
        if runtime is not None and len(seen) > 1:
            return type(runtime)(**{**{name: getattr(runtime, name) for name in runtime.__slots__}, "token": STRONG})
        return runtime

    daemons.find = find  # type: ignore[method-assign]
    async with bridged(daemons, modern=True) as host:
        assert (await host.result("tools/list"))["tools"]


async def test_the_bridge_does_not_spin_when_its_output_is_also_its_input():
    """One socket for both directions, as some clients have it."""
    import socket

    from vaultd.tools.bridging.lines import Lines

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
