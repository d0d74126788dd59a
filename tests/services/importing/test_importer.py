"""An import from upload to review: nothing lost, nothing twice, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.services.importing.helpers import (
    BUCKET,
    NOW,
    FakeAnalyst,
    FakeMemory,
    a_claude_export,
    a_zip,
    blocks,
    sample,
)
from vaultd.core.errors import (
    BadInput,
    CapReached,
    ModelBadAnswer,
    ModelBusy,
    ModelTimedOut,
    ModelUnavailable,
    StorageFull,
    UnwritableNote,
)
from vaultd.llm import spend
from vaultd.services.importing.hands import Hands, KeptAs
from vaultd.services.importing.importer import Importer
from vaultd.services.importing.jobs import Branches, ImportOptions, JobState, Mode
from vaultd.services.importing.preflight import Prices
from vaultd.services.importing.review import Verdict
from vaultd.services.importing.status import ImportStatus

TALKS = a_claude_export([("t1", ["I ran ten miles.", "Well done."]), ("t2", ["My sister called.", "How is she?"])])


class Desk:
    """An importer with fakes at its rims, on a state folder that outlives it."""

    def __init__(self, folder: Path, *, analyst: FakeAnalyst | None = None, memory: FakeMemory | None = None) -> None:
        self.folder = folder
        self.analyst = analyst or FakeAnalyst()
        self.memory = memory or FakeMemory()
        self.requests = 0
        self.waits: list[float] = []
        self.told: list[ImportStatus] = []
        self.sleeping: Callable[[], Awaitable[object]] = _at_once
        self.most_bytes = 1 << 20
        self.important: list[str] = []
        self.discarded: list[str] = []
        self.importer = self.another()

    def another(self) -> Importer:
        """A new importer on the same folder, as after a restart."""
        memory = self.memory
        hands = Hands(
            keep=memory.keep,
            near=memory.near,
            find=memory.find,
            adopt=memory.adopt,
            important=self._important,
            discard=self._discard,
        )
        self.importer = Importer(
            self.folder,
            analyst=self.analyst,  # type: ignore[arg-type]
            hands=hands,
            clock=lambda: NOW,
            rng=random.Random(7),
            prices=lambda: Prices(1.0, 2.0, "USD"),
            on_progress=self.told.append,
            sleep=self._sleep,
            most_upload_bytes=self.most_bytes,
        )
        return self.importer

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.sleeping()

    async def _important(self, note_id: str) -> None:
        self.important.append(note_id)

    async def _discard(self, note_id: str) -> None:
        if note_id == "id1":
            raise UnwritableNote("a.md", "the file is read-only")
        self.discarded.append(note_id)

    async def upload(self, raw: bytes = TALKS, name: str = "conversations.json") -> str:
        return (await self.importer.upload(blocks(raw), name)).job.id

    async def run(self, job_id: str, options: ImportOptions | None = None) -> ImportStatus:
        await self.importer.start(job_id, options)
        await self.importer.wait()
        return await self.importer.status(job_id)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_preflight_counts_and_keeps_nothing(desk: Desk):
    job = await desk.upload(sample("claude.json"))

    found = await desk.importer.preflight(job)

    assert (found.format_name, found.conversations, found.turns, found.branches, found.branch_turns) == (
        "Claude",
        2,
        8,
        1,
        2,
    )
    assert (found.chunks, found.requests) == (2, 2)
    assert found.tokens_in > 1000
    assert found.cost == pytest.approx((found.tokens_in + 2 * found.tokens_out) / 1e6, abs=1e-4)
    assert found.first == datetime(2025, 11, 3, 8, 12, 40, 123456, tzinfo=UTC)
    assert found.left_out["thinking"] == 1
    assert found.needs_model
    assert desk.memory.pieces == []
    assert json.loads(json.dumps(found.written()))["titles"] == ["Moving to the fifth floor", "旧手机给妈妈"]


async def test_memories_carry_the_conversations_own_dates_and_source(desk: Desk):
    job = await desk.upload(sample("deepseek.json"))

    status = await desk.run(job)

    assert status.job.state is JobState.DONE
    piece, created, source = desk.memory.pieces[0]
    assert piece.content.startswith("用户（2026-03-30）：昨天跑完十公里")
    assert created.isoformat() == "2026-03-31T00:10:00+08:00"
    assert source.startswith("DeepSeek · 跑步膝盖疼 · ")
    assert source.endswith("#1.1")
    assert desk.analyst.asked[0][1] == created


async def test_done_leaves_results_and_patterns_and_no_copy_of_the_texts(desk: Desk):
    job = await desk.upload(sample("claude.json"))

    status = await desk.run(job)

    results = await desk.importer.results(job)
    assert status.done == status.chunks == 2
    assert [result.id for result in results] == [f"id{at}" for at in range(len(desk.memory.pieces))]
    assert (await desk.importer.patterns(job)).memories == len(results)
    left = b"".join(path.read_bytes() for path in (desk.folder / "imports").rglob("*") if path.is_file())
    assert b"neighbours early" not in left
    again = await desk.another().status(job)
    assert (again.done, again.kept, again.tokens_in) == (status.done, status.kept, status.tokens_in)


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


async def test_an_import_that_has_begun_keeps_its_options(desk: Desk):
    desk.memory.failures = [StorageFull("no space")]
    job = await desk.upload()
    await desk.run(job)

    with pytest.raises(BadInput, match="its options stand"):
        await desk.importer.preflight(job, ImportOptions(mode=Mode.NOTES))
    with pytest.raises(BadInput, match="resume it"):
        await desk.importer.start(job, ImportOptions(mode=Mode.NOTES))


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


async def test_other_branches_are_imported_on_request(desk: Desk):
    job = await desk.upload(sample("chatgpt.json"))

    await desk.run(job, ImportOptions(branches=Branches.ALL))

    assert any("guitar" in text for text in desk.memory.texts)
    assert any("piano" in text for text in desk.memory.texts)


async def test_a_newer_export_brings_in_only_what_is_new(desk: Desk):
    await desk.run(await desk.upload())
    newer = a_claude_export(
        [("t1", ["I ran ten miles.", "Well done.", "Twelve today!"]), ("t2", ["My sister called.", "How is she?"])]
    )
    job = await desk.upload(newer)

    found = await desk.importer.preflight(job)
    await desk.run(job)

    assert (found.known_conversations, found.known_turns, found.chunks) == (1, 4, 1)
    assert desk.memory.texts[4:] == ["User (2026-04-17): Twelve today!"]


async def test_again_imports_what_was_there_before(desk: Desk):
    await desk.run(await desk.upload())
    job = await desk.upload()

    status = await desk.run(job, ImportOptions(again=True))

    assert status.kept == {"same": 4}


async def test_near_duplicates_are_told(desk: Desk):
    desk.memory.similar = [("old1", 0.95), ("old2", 0.5)]
    job = await desk.upload()

    status = await desk.run(job)

    assert status.near == 4
    assert (await desk.importer.results(job))[0].near == (("old1", 0.95),)


async def test_a_truncated_export_is_imported_on_request_up_to_the_break(desk: Desk):
    job = await desk.upload(TALKS[:-40])

    found = await desk.importer.preflight(job)
    with pytest.raises(BadInput, match="the 1 conversations before it are whole; import those all the same"):
        await desk.importer.start(job)
    await desk.run(job, ImportOptions(partial=True))

    assert f"broken JSON at byte {len(TALKS) - 40}" in found.broken
    assert len(desk.memory.pieces) == 2


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'[{"uuid": "a", "chat_messages": [{"text": tru}]}]', "conversations.json: broken JSON at byte 42"),
        (b'[{"uuid": "a", "chat_messages": []}]', "holds no conversation in which anything is said"),
        (b'{"bookmarks": []}', "is no known export; known are conversations.json of Claude"),
    ],
)
async def test_errors_are_one_clear_line(desk: Desk, raw: bytes, words: str):
    job = await desk.upload(raw)

    with pytest.raises(BadInput, match=words) as refused:
        await desk.importer.preflight(job)

    assert "\n" not in str(refused.value)
    assert (await desk.importer.status(job)).job.state is JobState.UPLOADED


async def test_an_upload_over_the_limit_or_empty_leaves_nothing_behind(tmp_path: Path):
    desk = Desk(tmp_path)
    desk.most_bytes = 100
    desk.another()

    with pytest.raises(BadInput, match="more than"):
        await desk.upload()
    with pytest.raises(BadInput, match="is empty"):
        await desk.upload(b"")

    assert list((tmp_path / "imports").iterdir()) == []


async def test_ombre_buckets_are_taken_over_whole_without_a_model(desk: Desk):
    desk.analyst.available = False
    job = await desk.upload(a_zip({"buckets/feel/沉淀物/x.md": BUCKET.encode()}), "buckets.zip")

    status = await desk.run(job)

    assert status.job.state is JobState.DONE
    assert desk.memory.adopted[0].raw == BUCKET.encode()
    assert desk.memory.adopted[0].path == "feel/沉淀物/x.md"
    assert (await desk.importer.results(job))[0].id == "76237984fa5d"


async def test_review_carries_out_decisions_in_bulk_and_says_what_it_could_not(desk: Desk):
    job = await desk.upload()
    await desk.run(job)

    reviewed = await desk.importer.review(
        job,
        {
            "id0": Verdict.IMPORTANT,
            "id1": Verdict.NOISE,
            "id2": Verdict.NOISE,
            "id3": Verdict.PIN,
            "elsewhere": Verdict.KEEP,
        },
    )

    assert dict(reviewed.done) == {"id0": Verdict.IMPORTANT, "id2": Verdict.NOISE}
    assert set(reviewed.failed) == {"id1", "id3", "elsewhere"}
    assert (desk.important, desk.discarded) == (["id0"], ["id2"])
    verdicts = [result.verdict for result in await desk.importer.results(job)]
    assert verdicts == [Verdict.IMPORTANT, None, Verdict.NOISE, None]


async def test_a_memory_that_was_there_before_is_never_noise(desk: Desk):
    await desk.run(await desk.upload())
    job = await desk.upload()
    await desk.run(job, ImportOptions(again=True))

    reviewed = await desk.importer.review(job, {"id0": Verdict.NOISE})

    assert "was there before the import" in reviewed.failed["id0"]
    assert desk.discarded == []


async def test_a_piece_the_memory_does_not_take_is_told_and_the_others_go_on(desk: Desk):
    desk.memory.failures = [BadInput("content: is vaultd's own answer")]
    job = await desk.upload()

    status = await desk.run(job)

    assert status.job.state is JobState.DONE
    assert (status.refused, status.kept) == (1, {"new": 3})


async def test_one_import_runs_at_a_time_and_a_running_one_is_not_removed(desk: Desk):
    first, second = await desk.upload(), await desk.upload()
    await desk.importer.start(first)

    found = await desk.importer.preflight(second)
    assert found.conversations == 2
    with pytest.raises(BadInput, match=r"another import .* is running"):
        await desk.importer.start(second)
    with pytest.raises(BadInput, match="pause it first"):
        await desk.importer.remove(first)

    await desk.importer.wait()
    await desk.importer.remove(first)
    assert [job.id for job in await desk.importer.jobs()] == [second]


@pytest.mark.parametrize("job_id", ["", "../x", "20260517-120000-0000000g", "20260517-120000-00000001"])
async def test_an_id_that_no_import_has_is_refused(desk: Desk, job_id: str):
    with pytest.raises(BadInput, match="no import has the id"):
        await desk.importer.status(job_id)


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


async def _at_once() -> None:
    """No wait at all."""


class Counting(list[ImportStatus]):
    """A list that tells of each value it is given."""

    def __init__(self, tell: Callable[[ImportStatus], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, value: ImportStatus) -> None:
        super().append(value)
        self._tell(value)
