"""An import into a real vault: what a crash leaves half done, and notes that are there already."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes import FakeAnalyst
from tests.llm.chat_setup import Waits, settings_for
from tests.llm.chat_setup import an_analyst as an_endpoint
from tests.model_server import ModelServer
from tests.running import Running, running
from tests.services.importing.helpers import BUCKET, a_claude_export, a_zip, blocks
from vaultd.llm.analyst import Piece
from vaultd.services.importing.hands import Hands, KeptAs
from vaultd.services.importing.importer import Importer
from vaultd.services.importing.jobs import ImportOptions, JobState, Mode
from vaultd.services.newmemory import NewMemory

OLD = "Flossing every evening keeps the gums healthy, says the dentist."
NEWS = "Flossing every evening keeps the gums healthy, says the dentist again."
TALKS = a_claude_export([("t1", ["My gums?", NEWS])])
PIECE = Piece("gums", NEWS, ("健康",), 0.5, 0.3, ("teeth",), 5)


def an_analyst(**more) -> FakeAnalyst:
    return FakeAnalyst(split=(PIECE,), **more)


async def bring_in(r: Running, raw: bytes, name: str, options: ImportOptions | None = None):
    importer = r.core.services.importer
    job = (await importer.upload(blocks(raw), name)).job.id
    await importer.start(job, options)
    await importer.wait()
    return await importer.status(job)


async def crash_after_keeping(r: Running, raw: bytes) -> str:
    """Begin an import, and end it where a piece is in the vault and not yet in the log."""
    importer = r.core.services.importer
    hands: Hands = importer._hands
    reached = asyncio.Event()

    async def keep_and_hang(piece, **given):
        await hands.keep(piece, **given)
        reached.set()
        await asyncio.Event().wait()

    job = (await importer.upload(blocks(raw), "conversations.json")).job.id
    importer._hands = Hands(keep=keep_and_hang, find=hands.find)
    await importer.start(job)
    await reached.wait()
    await importer.close()
    return job


async def recovered(r: Running, job: str):
    importer: Importer = r.core.services.importer
    await importer.recover()
    await importer.wait()
    return await importer.status(job)


@pytest.mark.parametrize("analyst", [an_analyst(), an_analyst(merge=lambda old, new: f"Both say so: {new}")])
async def test_a_piece_that_was_joined_to_an_older_memory_just_before_a_crash_is_not_joined_again(
    tmp_path: Path, analyst: FakeAnalyst
):
    async with running(tmp_path, analyst=analyst) as r:
        old = await r.core.services.remember(NewMemory(OLD, name="teeth", domain=("健康",), source="by hand"))
        job = await crash_after_keeping(r, TALKS)
        joined = r.read(r.core.mirror.get(old.id).path)

    async with running(tmp_path, analyst=analyst) as r:
        status = await recovered(r, job)
        row = r.core.mirror.get(old.id)

        assert status.job.state is JobState.DONE
        assert status.kept == {"merged": 1}
        assert r.read(row.path) == joined
        assert joined.count(NEWS) == 1
        assert row.source.startswith("by hand; Claude · Talk t1 · ")
        assert len(r.ids()) == 1


async def test_a_piece_that_became_a_memory_just_before_a_crash_is_not_kept_again(tmp_path: Path):
    async with running(tmp_path, analyst=an_analyst()) as r:
        job = await crash_after_keeping(r, TALKS)

    async with running(tmp_path, analyst=an_analyst()) as r:
        status = await recovered(r, job)

        assert (status.job.state, status.kept) == (JobState.DONE, {"new": 1})
        assert len(r.ids()) == 1


async def test_what_was_split_is_not_annotated_once_more(tmp_path: Path):
    analyst = an_analyst(annotate=AssertionError("was asked"))
    async with running(tmp_path, analyst=analyst) as r:
        await bring_in(r, TALKS, "conversations.json")

        assert [task for task, _ in analyst.asked] == ["split"]


async def test_one_note_per_conversation_joins_no_other_and_asks_no_model(tmp_path: Path):
    analyst = an_analyst()
    same = ["What keeps gums healthy?", NEWS]
    async with running(tmp_path, analyst=analyst) as r:
        status = await bring_in(
            r,
            a_claude_export([("t1", same), ("t2", [*same, "Good night."])]),
            "conversations.json",
            ImportOptions(mode=Mode.NOTES),
        )

        assert status.kept == {"new": 2}
        assert status.near == 1
        assert analyst.asked == []


class TestWholeNotes:
    PATH = "buckets/dynamic/日常/搬家_76237984fa5d.md"

    async def test_the_same_buckets_twice_come_in_once(self, tmp_path: Path):
        async with running(tmp_path) as r:
            first = await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip")
            second = await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip", ImportOptions(again=True))

            assert (first.kept, second.kept) == ({"new": 1}, {"same": 1})
            assert r.ids() == {"76237984fa5d"}

    async def test_what_an_earlier_import_brought_in_is_left_out(self, tmp_path: Path):
        async with running(tmp_path) as r:
            await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip")
            importer = r.core.services.importer
            job = (await importer.upload(blocks(a_zip({self.PATH: BUCKET})), "buckets.zip")).job.id

            found = await importer.preflight(job)

            assert (found.known_notes, found.chunks) == (1, 0)

    async def test_a_memory_that_was_moved_since_is_known_by_its_id(self, tmp_path: Path):
        async with running(tmp_path) as r:
            elsewhere = BUCKET.replace("activation_count: 3.3", "activation_count: 9")
            await r.write("archive/旧/moved.md", elsewhere)

            status = await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip")

            assert status.kept == {"same": 1}
            assert r.ids() == {"76237984fa5d"}
            assert r.read("archive/旧/moved.md") == elsewhere

    async def test_another_memory_with_the_same_id_keeps_it_and_the_new_one_gets_its_own(self, tmp_path: Path):
        async with running(tmp_path) as r:
            other = BUCKET.replace("下周搬家。", "上周去了海边。")
            await r.write("dynamic/旅行/sea.md", other)

            first = await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip")
            again = await bring_in(r, a_zip({self.PATH: BUCKET}), "buckets.zip", ImportOptions(again=True))

            assert (first.kept, again.kept) == ({"new": 1}, {"same": 1})
            assert r.core.mirror.get("76237984fa5d").path == "dynamic/旅行/sea.md"
            assert r.read("dynamic/旅行/sea.md") == other
            (new,) = r.ids() - {"76237984fa5d"}
            kept = r.read(r.core.mirror.get(new).path)
            assert kept == BUCKET.replace("76237984fa5d", new)
            results = await r.core.services.importer.results(first.job.id)
            assert [(one.id, one.outcome) for one in results] == [(new, KeptAs.NEW)]


async def test_the_estimate_before_and_the_count_after_agree_where_nothing_fails(tmp_path: Path):
    talk = [f"{place} is where we stopped on the trip by train, and it rained." for place in ("Oslo", "Bergen", "Kiel")]
    (tmp_path / "models").mkdir()
    with ModelServer() as server:
        analyst = an_endpoint(settings_for(server), tmp_path / "models", Waits())
        async with running(tmp_path, analyst=analyst) as r:
            importer = r.core.services.importer
            job = (await importer.upload(blocks(a_claude_export([("t1", talk * 80)])), "conversations.json")).job.id
            estimate = await importer.preflight(job)
            await importer.start(job)
            await importer.wait()
            status = await importer.status(job)
        await analyst.close()

    splits = [asked for asked in server.asked if asked.task == "split"]
    assert estimate.requests == len(splits) > 1
    assert status.requests == len(server.asked)
