"""An import that is broken off, by a model, a disk, a person or a crash: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.services.importing.desk import TALKS, Counting, Desk
from tests.services.importing.helpers import a_claude_export
from vaultd.core.errors import (
    BadInput,
    CapReached,
    ModelBadAnswer,
    ModelBusy,
    ModelTimedOut,
    ModelUnavailable,
    StorageFull,
)
from vaultd.services.importing.hands import KeptAs
from vaultd.services.importing.jobs import JobState
from vaultd.services.importing.status import ImportStatus


async def test_a_failed_chunk_is_tried_again_with_growing_waits(desk: Desk):
    desk.analyst.failures = [ModelBadAnswer("no JSON"), ModelTimedOut("late"), ModelBusy("busy", 77.0)]
    job = await desk.upload()

    status = await desk.run(job)

    assert status.job.state is JobState.DONE
    assert len(desk.analyst.asked) == 5
    assert 1.5 <= desk.waits[0] <= 2.5
    assert 3 <= desk.waits[1] <= 5
    assert desk.waits[2] == 77.0
    assert status.kept == {"new": 4}


async def test_a_chunk_that_keeps_failing_is_never_counted_as_done_and_can_be_resumed(desk: Desk):
    desk.analyst.failures = [ModelBadAnswer("no JSON")] * 5
    job = await desk.upload()

    status = await desk.run(job)

    assert status.job.state is JobState.INCOMPLETE
    assert (status.done, status.chunks, status.failed) == (1, 2, {0: "no JSON"})
    assert len(desk.memory.pieces) == 2

    await desk.importer.resume(job)
    await desk.importer.wait()

    status = await desk.importer.status(job)
    assert status.job.state is JobState.DONE
    assert sorted(desk.memory.texts) == sorted(set(desk.memory.texts))
    assert len(desk.memory.pieces) == 4


@pytest.mark.parametrize("error", [CapReached("the cap is used up"), StorageFull("no space")])
async def test_what_trying_again_would_not_change_pauses_with_the_reason(desk: Desk, error: Exception):
    desk.memory.failures = [error]
    job = await desk.upload()

    status = await desk.run(job)

    assert status.job.state is JobState.PAUSED
    assert status.job.reason == str(error)
    assert desk.waits == []
    await desk.importer.resume(job)
    await desk.importer.wait()
    assert (await desk.importer.status(job)).job.state is JobState.DONE
    assert len(desk.analyst.asked) == 2


async def test_a_model_out_of_reach_pauses_instead_of_failing_every_chunk(desk: Desk):
    desk.analyst.failures = [ModelUnavailable("cannot reach it")] * 99
    job = await desk.upload(a_claude_export([(f"t{at}", ["Hello there."]) for at in range(9)]))

    status = await desk.run(job)

    assert status.job.state is JobState.PAUSED
    assert len(desk.analyst.asked) == 15


async def test_pause_stops_after_the_step_and_resume_goes_on_behind_it(desk: Desk):
    job = await desk.upload()
    kept = desk.memory.keep

    async def keep_and_pause(piece, **given):
        if len(desk.memory.pieces) == 1:
            await desk.importer.pause(job)
        return await kept(piece, **given)

    desk.memory.keep = keep_and_pause  # type: ignore[method-assign]
    desk.another()
    status = await desk.run(job)

    assert status.job.state is JobState.PAUSED
    assert len(desk.memory.pieces) == 2
    desk.memory.keep = kept  # type: ignore[method-assign]
    importer = desk.another()
    await importer.resume(job)
    await importer.wait()
    assert (await importer.status(job)).job.state is JobState.DONE
    assert len(desk.memory.pieces) == len(set(desk.memory.texts)) == 4
    assert len(desk.analyst.asked) == 2


async def test_a_pause_ends_a_wait_for_the_next_try(desk: Desk):
    desk.analyst.failures = [ModelTimedOut("late")]
    job = await desk.upload()

    async def long() -> None:
        await desk.importer.pause(job)
        await asyncio.Event().wait()

    desk.sleeping = long

    status = await desk.run(job)

    assert status.job.state is JobState.PAUSED
    assert len(desk.waits) == 1


@pytest.mark.parametrize("steps", range(1, 12))
async def test_a_crash_after_any_step_loses_nothing_and_repeats_nothing(tmp_path: Path, steps: int):
    desk = Desk(tmp_path)
    job = await desk.upload()
    await desk.importer.preflight(job)
    crashed = asyncio.Event()

    def count(status: ImportStatus) -> None:
        if len(desk.told) >= steps:
            crashed.set()

    desk.told = Counting(count)  # type: ignore[assignment]
    importer = desk.another()
    await importer.start(job)
    waiting = asyncio.ensure_future(crashed.wait())
    await asyncio.wait((waiting, asyncio.ensure_future(importer.wait())), return_when=asyncio.FIRST_COMPLETED)
    await importer.close()
    waiting.cancel()
    asked = len(desk.analyst.asked)

    desk.told = []
    importer = desk.another()
    recovered = await importer.recover()
    await importer.wait()

    status = await importer.status(job)
    assert status.job.state is JobState.DONE
    assert recovered in ((job,), ())
    assert len(desk.memory.pieces) == len(set(desk.memory.texts)) == 4
    assert asked <= len(desk.analyst.asked) <= 3
    assert sum(status.kept.values()) == 4


async def test_a_piece_kept_just_before_a_crash_is_found_and_not_kept_again(desk: Desk):
    job = await desk.upload()
    await desk.importer.preflight(job)
    kept = desk.memory.keep
    reached = asyncio.Event()

    async def keep_and_hang(piece, **given):
        await kept(piece, **given)
        reached.set()
        await asyncio.Event().wait()

    desk.memory.keep = keep_and_hang  # type: ignore[method-assign]
    importer = desk.another()
    await importer.start(job)
    await reached.wait()
    await importer.close()
    desk.memory.keep = kept  # type: ignore[method-assign]

    importer = desk.another()
    await importer.recover()
    await importer.wait()

    results = await importer.results(job)
    assert len(desk.memory.pieces) == 4
    assert [result.outcome for result in results] == [KeptAs.NEW] * 4


async def test_a_torn_last_line_of_the_log_is_cut_off(desk: Desk):
    job = await desk.upload()
    desk.memory.failures = [StorageFull("no space")]
    await desk.run(job)
    log = desk.folder / "imports" / job / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"t": "kept", "n": 0, "i"')

    importer = desk.another()
    await importer.resume(job)
    await importer.wait()

    assert (await importer.status(job)).job.state is JobState.DONE
    assert len(desk.memory.pieces) == 4


async def test_a_cut_off_upload_is_cleared_away_at_start(desk: Desk):
    folder = desk.folder / "imports" / "20260517-120000-00000000"
    folder.mkdir(parents=True)
    (folder / "upload").write_bytes(b"half")

    await desk.importer.recover()

    assert not folder.exists()


async def test_an_upload_that_comes_in_while_it_starts_is_not_taken_for_a_cut_off_one(desk: Desk):
    async def stream():
        yield TALKS[:50]
        await desk.importer.recover()
        yield TALKS[50:]

    status = await desk.importer.upload(stream(), "conversations.json")

    assert (await desk.run(status.job.id)).job.state is JobState.DONE


async def test_an_import_begun_before_the_one_that_was_left_goes_on_has_the_other_paused(desk: Desk):
    hanging = asyncio.Event()

    async def hang(piece, **given):
        hanging.set()
        await asyncio.Event().wait()

    kept, desk.memory.keep = desk.memory.keep, hang  # type: ignore[method-assign]
    importer = desk.another()
    left = await desk.upload()
    begun = await desk.upload(a_claude_export([("t3", ["I bought a kite.", "Lovely."])]), "more.json")
    await importer.start(left)
    await hanging.wait()
    await importer.close()

    hanging.clear()
    importer = desk.another()
    await importer.start(begun)
    await hanging.wait()

    assert await importer.recover() == ()
    status = await importer.status(left)
    assert status.job.state is JobState.PAUSED
    assert begun in status.job.reason
    await importer.close()

    desk.memory.keep = kept  # type: ignore[method-assign]
    importer = desk.another()
    assert await importer.recover() == (begun,)
    await importer.wait()
    await importer.resume(left)
    await importer.wait()
    assert (await importer.status(left)).job.state is (await importer.status(begun)).job.state is JobState.DONE


async def test_a_piece_the_memory_does_not_take_is_told_and_the_others_go_on(desk: Desk):
    desk.memory.failures = [BadInput("content: is vaultd's own answer")]
    job = await desk.upload()

    status = await desk.run(job)

    assert status.job.state is JobState.DONE
    assert (status.refused, status.kept) == (1, {"new": 3})
