"""What an import asks of the chat model, what that costs, and how it goes without one."""

from __future__ import annotations

import asyncio

import pytest

from tests.services.importing.desk import Counting, Desk
from tests.services.importing.helpers import FakeAnalyst, sample
from vaultd.core.errors import BadInput, CapReached, ModelBadAnswer
from vaultd.llm import spend
from vaultd.services.importing.jobs import ImportOptions, JobState, Mode


async def test_without_a_chat_model_it_says_so_and_offers_notes(desk: Desk):
    desk.analyst.available = False
    job = await desk.upload(sample("claude.json"))

    found = await desk.importer.preflight(job)
    with pytest.raises(BadInput, match=r"no chat model is configured.*one note per conversation"):
        await desk.importer.start(job)
    status = await desk.run(job, ImportOptions(mode=Mode.NOTES))

    assert (found.needs_model, found.model_available) == (True, False)
    assert status.job.state is JobState.DONE
    assert [piece.name for piece, _, _ in desk.memory.pieces] == ["Moving to the fifth floor", "旧手机给妈妈"]
    assert desk.memory.texts[1] == (
        "用户（2026-01-05）：记一下：我把旧手机给妈妈了。她终于能看到照片了。\n\n助手：记住了，她一定很高兴。"
    )
    assert desk.analyst.asked == []
    assert status.requests == 0


async def test_what_the_model_was_asked_is_counted_also_where_a_try_failed(desk: Desk):
    class Costly(FakeAnalyst):
        async def split(self, text, now):
            spend.note(requests=3, tokens_in=900, tokens_out=50)
            return await super().split(text, now)

    desk.analyst = Costly(failures=[ModelBadAnswer("no JSON")])
    desk.another()

    status = await desk.run(await desk.upload())

    assert (status.requests, status.tokens_in, status.tokens_out) == (9, 2700, 150)
    assert (status.cost, status.currency) == (pytest.approx(0.003), "USD")


async def test_what_was_spent_before_it_stopped_is_counted(desk: Desk):
    class Capped(FakeAnalyst):
        async def split(self, text, now):
            spend.note(requests=2, tokens_in=600)
            raise CapReached("the cap is used up")

    desk.analyst = Capped()
    desk.another()

    status = await desk.run(await desk.upload())

    assert (status.job.state, status.requests, status.last_error) == (JobState.PAUSED, 2, "the cap is used up")


async def test_requests_of_others_at_the_same_time_do_not_count(desk: Desk):
    under_way = asyncio.Event()

    async def other() -> None:
        await under_way.wait()
        spend.note(requests=7)

    asked = asyncio.create_task(other())
    desk.told = Counting(lambda _: under_way.set())  # type: ignore[assignment]
    desk.another()

    status = await desk.run(await desk.upload())

    assert asked.done()
    assert status.requests == 0
