"""What is kept at a stop for a quick start: the same index, or none at all."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.fakes import FakeEmbedder
from tests.running import running, snapshot
from vaultd.core.bucket import Role
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror, Use
from vaultd.index.snapshot import Snapshot
from vaultd.settings import Settings

QUESTIONS = ({"river": 1.0, "tea": 0.5}, {"rivre": 1.0}, {"实习": 1.0}, {"日常": 1.0})


def note(number: int, text: str) -> str:
    return (
        f"---\nid: {number:012x}\nname: note {number}\ntype: dynamic\ndomain: [日常]\ntags: [t{number % 3}, 河]\n"
        f"created: 2026-05-17T12:00:00+00:00\n---\n{text}\n"
    )


def place(number: int) -> str:
    return f"dynamic/日常/{number}.md"


async def a_life(one) -> None:
    """Notes come, change and go, so that slots are free and words of the dead are there."""
    for number in range(80):
        await one.write(place(number), note(number, f"along the river, tea number{number} 实习很累"))
    for number in range(0, 80, 9):
        (one.vault / place(number)).unlink()
        await one.look(place(number))
    await one.write(place(5), note(5, "nothing of that any more"))


def of(mirror: Mirror) -> tuple:
    return (
        list(mirror.rows()),
        [mirror.word_scores(words).scores.tolist() for words in QUESTIONS],
        [mirror.slot_of(row.id) for row in mirror.rows()],
        np.flatnonzero(mirror.tags.having(["T1"], mirror.slots)).tolist(),
        np.flatnonzero(mirror.domains.having(["日常"], mirror.slots)).tolist(),
    )


async def written(one) -> None:
    """Until the tables hold everything, what is looked at anew for their sake included."""
    for _ in range(3):
        assert await asyncio.to_thread(one.core.tables.flush)
        await one.core.pipeline.idle()


def by_id(rows) -> list:
    return sorted(rows, key=lambda row: row.id)


@pytest.fixture
async def kept(tmp_path):
    """What a mirror was, and the folder of its index after a stop."""
    async with running(tmp_path, no_model=True) as one:
        await a_life(one)
        was = of(one.core.mirror)
    return was, tmp_path / "state" / "index"


async def test_what_was_kept_is_what_the_mirror_held(kept):
    was, folder = kept
    mirror = Mirror()

    loaded, embeddings = Snapshot(folder, "none").read()
    mirror.load(loaded, lambda _id: Use(0.0, None))

    assert of(mirror) == was
    assert embeddings == []


async def test_only_its_owner_may_read_it(kept):
    _, folder = kept

    assert (folder / "snapshot").stat().st_mode & 0o077 == 0


async def test_a_start_from_it_leaves_the_tables_alone_until_something_changes(kept, tmp_path):
    was, _ = kept
    async with running(tmp_path, no_model=True) as one:
        assert of(one.core.mirror) == was
        assert not one.core.store.is_open

        await one.write(place(1), note(1, "a lantern at the harbour"))
        assert await asyncio.to_thread(one.core.tables.flush)

        assert one.core.store.is_open
        assert one.core.store.count() == len(one.core.mirror)
        now = snapshot(one.core)
    (tmp_path / "state" / "index" / "snapshot").unlink()
    async with running(tmp_path, no_model=True) as one:
        assert snapshot(one.core) == now
        assert one.core.mirror.body_words.frequency("lantern") == 1


async def test_it_is_not_taken_once_the_tables_have_changed(kept, tmp_path):
    _, folder = kept
    old = (folder / "snapshot").read_bytes()
    async with running(tmp_path, no_model=True) as one:
        await one.write(place(1), note(1, "a lantern at the harbour"))
    (folder / "snapshot").write_bytes(old)

    assert Snapshot(folder, "none").read() is None


@pytest.mark.parametrize(
    "harm", [lambda b: b"", lambda b: b[:-1], lambda b: b[:40], lambda b: b"\0" * len(b), bytes.upper]
)
async def test_a_torn_one_is_passed_over(kept, tmp_path, harm):
    was, folder = kept
    file = folder / "snapshot"
    file.write_bytes(harm(file.read_bytes()))

    assert Snapshot(folder, "none").read() is None
    async with running(tmp_path, no_model=True) as one:
        assert one.core.store.is_open
        assert sorted(row.id for row in one.core.mirror.rows()) == sorted(row.id for row in was[0])


async def test_tables_that_turn_out_to_lack_notes_are_made_anew(kept, tmp_path):
    _, folder = kept
    async with running(tmp_path, no_model=True) as one:
        shutil.rmtree(folder / "notes.lance")

        await one.write(place(1), note(1, "a lantern at the harbour"))
        await written(one)

        assert one.core.store.count() == len(one.core.mirror)
        now = of(one.core.mirror)[0]
    (folder / "snapshot").unlink()
    async with running(tmp_path, no_model=True) as one:
        assert by_id(one.core.mirror.rows()) == by_id(now)


async def test_a_data_file_that_was_lost_is_noticed_at_the_first_write_and_made_anew(kept, tmp_path):
    _, folder = kept
    for file in (folder / "contents.lance" / "data").iterdir():
        file.unlink()
    async with running(tmp_path, no_model=True) as one:
        await one.write(place(1), note(1, "a lantern at the harbour"))
        await written(one)

        assert one.core.tables.problem == ""
        now = of(one.core.mirror)[0]
    (folder / "snapshot").unlink()
    async with running(tmp_path, no_model=True) as one:
        assert by_id(one.core.mirror.rows()) == by_id(now)


async def test_a_note_that_cannot_be_read_does_not_have_the_tables_made_anew_again_and_again(kept, tmp_path):
    _, folder = kept
    async with running(tmp_path, no_model=True) as one:
        shutil.rmtree(folder / "notes.lance")
        await one.write(place(5), b"---\nid: 000000000005\n---\n\xff\xfe broken \xff")
        await written(one)

    async with running(tmp_path, no_model=True) as one:
        await one.write(place(1), note(1, "a lantern at the harbour"))
        assert await asyncio.to_thread(one.core.tables.flush)

        assert one.core.pipeline.waiting == 0
        assert one.core.indexer.anew == set()


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.03, 0.06])
async def test_a_stop_in_the_middle_of_a_batch_keeps_nothing_torn(tmp_path, moment):
    async with running(tmp_path, no_model=True) as one:
        await a_life(one)
        for number in range(100, 300):
            text = " ".join(f"word{number}x{i}" for i in range(200))
            (one.vault / place(number)).write_text(note(number, text))
        one.core.pipeline.put_all([NotePath(place(number)) for number in range(100, 300)])
        await asyncio.sleep(moment)

    kept = Snapshot(tmp_path / "state" / "index", "none").read()

    assert kept is not None
    mirror = Mirror()
    mirror.load(kept[0], lambda _id: Use(0.0, None))
    assert len(mirror.body_words) == len(mirror.title_words) == len(mirror)
    assert mirror.word_scores({"note": 1.0}).scores.shape == (mirror.slots,)
    async with running(tmp_path, no_model=True) as one:
        assert len(one.core.mirror) == len(list(one.vault.rglob("*.md")))


async def test_what_a_person_excludes_leaves_at_the_next_start(kept, tmp_path):
    base = Settings()
    excluding = replace(base, vault=replace(base.vault, exclude=("dynamic/日常/1*",)))

    async with running(tmp_path, no_model=True, settings=excluding) as one:
        assert one.core.mirror.by_path(place(1)) is None
        assert one.core.mirror.by_path(place(2)) is not None
        assert await one.reconcile() == 0


async def test_notes_are_read_anew_when_the_settings_read_them_otherwise(kept, tmp_path):
    base = Settings()
    async with running(tmp_path, no_model=True) as one:
        assert one.core.mirror.by_path(place(1)).role is Role.BUCKET

    async with running(
        tmp_path, no_model=True, settings=replace(base, memory=replace(base.memory, root="mine"))
    ) as one:
        await one.core.pipeline.idle()
        assert one.core.mirror.by_path(place(1)).role is Role.OWN


async def test_embeddings_are_kept_and_asked_for_no_more(tmp_path):
    embedder = FakeEmbedder()
    async with running(tmp_path, embedder=embedder) as one:
        await a_life(one)
        await one.embedded()
        was = snapshot(one.core)
    asked = len(embedder.passages)

    async with running(tmp_path, embedder=embedder) as one:
        assert not one.core.store.is_open
        assert snapshot(one.core) == was
        await one.write(place(1), note(1, "a lantern at the harbour"))
        await one.embedded()
        assert await asyncio.to_thread(one.core.tables.flush)
        now = snapshot(one.core)
    assert len(embedder.passages) == asked + 1
    (tmp_path / "state" / "index" / "snapshot").unlink()
    async with running(tmp_path, embedder=embedder) as one:
        assert one.core.store.is_open
        assert snapshot(one.core) == now


async def test_another_model_reads_the_tables(tmp_path):
    async with running(tmp_path) as one:
        await a_life(one)
        await one.embedded()
    other = FakeEmbedder()
    other.name = "other/1"

    async with running(tmp_path, embedder=other) as one:
        await one.embedded()
        assert len(set(other.passages)) == len(one.core.mirror.vectors)
    async with running(tmp_path, no_model=True) as one:
        assert len(one.core.mirror.vectors) == 0
    async with running(tmp_path, embedder=other) as one:
        assert len(one.core.mirror.vectors) == len(set(other.passages))
