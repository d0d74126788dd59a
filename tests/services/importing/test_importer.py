"""An import from upload to results: what comes in, once, under whose name and date."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.services.importing.desk import TALKS, Desk
from tests.services.importing.helpers import BUCKET, a_claude_export, a_zip, sample
from vaultd.core.errors import BadInput, StorageFull
from vaultd.services.importing.jobs import Branches, ImportOptions, JobState, Mode


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


async def test_an_import_that_has_begun_keeps_its_options(desk: Desk):
    desk.memory.failures = [StorageFull("no space")]
    job = await desk.upload()
    await desk.run(job)

    with pytest.raises(BadInput, match="its options stand"):
        await desk.importer.preflight(job, ImportOptions(mode=Mode.NOTES))
    with pytest.raises(BadInput, match="resume it"):
        await desk.importer.start(job, ImportOptions(mode=Mode.NOTES))


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
