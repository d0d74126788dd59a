from __future__ import annotations

import asyncio

import pytest

from tests.tools.wires import BOTH, Daemons, bridged, ready, text_of
from tests.web.small_app import SCOPED, STRONG


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
        request_id = await host.begin_slow()

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
