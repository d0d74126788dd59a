"""Faults that people met in tools of this kind, each with the smallest input that shows it: what happens to a vault."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import unicodedata

import pytest

from tests.cases.vault_setup import a_daemon, body_at, git, good, id_of, is_equal_to_disk, put, row_at, until
from tests.running import running
from vaultd.services.revise import Revision
from vaultd.vault import codec


async def test_07_fifty_projections_are_fifty_writes_and_then_silence(tmp_path):
    async with a_daemon(tmp_path, notes=50) as r:
        r.core.reinforce([id_of(number) for number in range(1, 51)])
        r.clock.advance(days=2)
        applied = r.core.pipeline.counters.applied

        done = await r.core.services.housekeeping()
        await r.core.pipeline.idle()
        # the watcher's echoes of our own writes: looked at, found to be known, nothing more
        await until(lambda: r.core.pipeline.counters.applied >= applied + 50)
        r.clock.advance(days=2)
        again = await r.core.services.housekeeping()
        entries = r.core.writer.log.entries(limit=1000)

        assert done.projected == 50
        assert len(entries) == 50
        assert (again.projected, again.waiting) == (0, 0)
        assert await is_equal_to_disk(r)


async def test_08_two_daemons_over_mirrored_folders_do_not_answer_each_other(tmp_path):
    one_dir, other_dir = tmp_path / "one", tmp_path / "other"
    one_dir.mkdir(), other_dir.mkdir()
    async with a_daemon(one_dir, notes=3) as one, a_daemon(other_dir, notes=3) as other:
        place = put(one.vault, "dynamic/日常/note 1.md", good(1, body="an edit by hand"))
        for _ in range(3):
            for source, target in ((one.vault, other.vault), (other.vault, one.vault)):
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".vaultd"))
            for r in (one, other):
                await until(
                    lambda r=r: row_at(r, "dynamic/日常/note 1.md").checksum == codec.checksum(place.read_bytes())
                )
                r.clock.advance(hours=1)
                await r.core.services.housekeeping()

        assert one.core.writer.log.entries() == other.core.writer.log.entries() == ()
        assert (
            one.read("dynamic/日常/note 1.md")
            == other.read("dynamic/日常/note 1.md")
            == good(1, body="an edit by hand")
        )


async def test_09_a_move_keeps_id_counters_and_embedding(tmp_path):
    async with a_daemon(tmp_path) as r:
        first, second, third = (id_of(number) for number in (1, 2, 3))
        for _ in range(7):
            r.core.reinforce([first])
        counts = {note_id: r.core.mirror.activation_count(note_id) for note_id in (first, second, third)}
        asked = len(r.embedder.passages)

        (r.vault / "dynamic/work").mkdir()
        (r.vault / "dynamic/日常/note 1.md").rename(r.vault / "dynamic/work/note 1.md")
        (r.vault / "dynamic/日常/note 2.md").rename(r.vault / "dynamic/work/note 2.md")
        put(r.vault, "dynamic/work/note 2.md", good(2, tags="[moved]"))
        await until(lambda: r.core.mirror.get(first).path == "dynamic/work/note 1.md")
        await until(lambda: r.core.mirror.get(second).tags == ("moved",))
        await is_equal_to_disk(r)
        await r.embedded()

        assert r.core.mirror.get(second).path == "dynamic/work/note 2.md"
        assert len(r.ids()) == 20
        assert len(r.embedder.passages) == asked
        assert {note_id: r.core.mirror.activation_count(note_id) for note_id in counts} == counts
        assert counts[first] == pytest.approx(7.0)
    (r.vault / "dynamic/日常/note 3.md").rename(r.vault / "dynamic/note 3.md")
    async with running(tmp_path, embedder=r.embedder) as r:
        assert r.core.mirror.get(third).path == "dynamic/note 3.md"
        assert len(r.embedder.passages) == asked
        assert r.core.mirror.activation_count(first) == pytest.approx(7.0)


async def test_09_equal_files_are_not_paired_wrongly(tmp_path):
    async with a_daemon(tmp_path, notes=0) as r:
        put(r.vault, "dynamic/one.md", "the same words\n")
        put(r.vault, "dynamic/two.md", "the same words\n")
        one = await until(lambda: row_at(r, "dynamic/one.md"))
        two = await until(lambda: row_at(r, "dynamic/two.md"))

        (r.vault / "dynamic/one.md").rename(r.vault / "dynamic/three.md")
        moved = await until(lambda: row_at(r, "dynamic/three.md"))
        await until(lambda: row_at(r, "dynamic/one.md") is None)

        assert row_at(r, "dynamic/two.md").id == two.id
        assert moved.id in {one.id, moved.id} - {two.id}
        assert await is_equal_to_disk(r)


async def test_10_an_index_never_holds_an_emptied_or_half_written_text(tmp_path):
    seen = []
    async with a_daemon(tmp_path, notes=1) as r:
        path = "dynamic/日常/note 1.md"
        r.core.listeners.append(lambda report: seen.append(row_at(r, path).stamp.size) if report.put else None)
        whole = good(1, body="word " * 600)
        head, tail = whole[:3000], whole[3000:]

        with (r.vault / path).open("w") as file:
            await asyncio.sleep(0.05)  # what the editor does, not a wait for us
            file.write(head)
            file.flush()
            await asyncio.sleep(0.05)
            file.write(tail)
        ended = time.monotonic()
        await until(lambda: row_at(r, path).checksum == codec.checksum(whole.encode()))
        took = time.monotonic() - ended
        put(r.vault, path, whole.replace("word word", "lamp lamp", 1))
        await until(lambda: row_at(r, path).checksum != codec.checksum(whole.encode()))

        assert set(seen) == {len(whole.encode())}
        assert took < 2.0
        assert await is_equal_to_disk(r)


async def test_12_names_in_nfc_and_nfd_are_one_note(tmp_path):
    nfc, nfd = (unicodedata.normalize(form, "dynamic/Iółka.md") for form in ("NFC", "NFD"))
    async with a_daemon(tmp_path) as r:
        put(r.vault, nfc, good(99))
        put(r.vault, "Home.md", f"[[{unicodedata.normalize('NFC', 'dynamic/Iółka')}]]\n")
        await until(lambda: row_at(r, nfc))

        (r.vault / nfc).rename(r.vault / nfd)
        put(r.vault, nfd, good(99, body="edited afterwards"))
        await until(lambda: row_at(r, nfc) and row_at(r, nfc).path == nfd and "afterwards" in body_at(r, nfc))
        await r.core.pipeline.idle()
        await r.core.services.revise(id_of(99), Revision(pinned=True))

        assert [row.id for row in r.core.mirror.rows() if "ka" in row.path] == [id_of(99)]
        assert unicodedata.normalize("NFC", r.read("Home.md")) == unicodedata.normalize("NFC", "[[permanent/Iółka]]\n")


async def test_14_what_leaves_the_text_alone_never_calls_the_model(tmp_path):
    async with a_daemon(tmp_path, notes=100) as r:
        asked = len(r.embedder.passages)
        git(r.vault, "init", "-q", "-b", "main")
        git(r.vault, "add", "-A", "dynamic")
        git(r.vault, "commit", "-qm", "all")
        git(r.vault, "rm", "-q", *(f"dynamic/日常/note {number}.md" for number in range(1, 31)))
        git(r.vault, "commit", "-qm", "fewer")
        await until(lambda: len(r.ids()) == 70)
        git(r.vault, "checkout", "-q", "HEAD~1")
        await until(lambda: len(r.ids()) == 100)
        for number in range(1, 101):
            os.utime(r.vault / f"dynamic/日常/note {number}.md", (1_000_000_000 + number, 1_000_000_000 + number))
        for number in range(1, 21):
            put(r.vault, f"dynamic/日常/note {number}.md", good(number, tags="[other]"))
        await until(lambda: all(r.core.mirror.get(id_of(number)).tags == ("other",) for number in range(1, 21)))
        await r.reconcile()
        await r.embedded()

        assert len(r.embedder.passages) == asked
        assert await is_equal_to_disk(r)
    async with running(tmp_path, embedder=r.embedder) as r:
        assert len(r.ids()) == 100
        assert len(r.embedder.passages) == asked


async def test_15_links_lead_nowhere_outside_and_never_in_circles(tmp_path):
    outside = tmp_path / "outside"
    for number in range(10):
        put(outside, f"{number}.md", f"outside {number}\n")
    before = {place: place.read_bytes() for place in outside.iterdir()}
    async with a_daemon(tmp_path) as r:
        for name, target in {
            "itself": r.vault,
            "up": "..",
            "out": outside,
            "dangling.md": r.vault / "nowhere.md",
            "file.md": r.vault / "dynamic/日常/note 1.md",
        }.items():
            (r.vault / name).symlink_to(target)

        started = time.monotonic()
        scan = await asyncio.to_thread(r.core.reader.scan)
        took = time.monotonic() - started
        await r.reconcile()

        assert took < 1.0
        assert len(r.ids()) == 20
        assert sorted(skipped.path for skipped in scan.skipped) == ["dangling.md", "file.md", "itself", "out", "up"]
        assert {place: place.read_bytes() for place in outside.iterdir()} == before


async def test_16_counts_wait_until_the_person_has_stopped_typing(tmp_path):
    async with a_daemon(tmp_path, notes=1) as r:
        path, note_id = "dynamic/日常/note 1.md", id_of(1)
        typed = good(1)
        for line in range(30):
            typed += f"line {line}\n"
            put(r.vault, path, typed)
            await r.look(path)
            r.core.reinforce([note_id])
            r.clock.advance(seconds=2)
            done = await r.core.services.housekeeping()
            assert done.projected == 0
        while_typing = r.read(path)
        r.clock.advance(seconds=121)
        done = await r.core.services.housekeeping()

        assert while_typing == typed
        assert done.projected == 1
        assert r.read(path).endswith(typed[typed.index("an evening") :])
        assert "activation_count: 30\n" in r.read(path)


async def test_17_passing_files_are_never_seen(tmp_path):
    async with a_daemon(tmp_path) as r:
        for name in ("Test.tmp", ".Test.md.swp", "4913", "Test.md~"):
            put(r.vault, f"dynamic/{name}", "passing\n")
        put(r.vault, "dynamic/Test.md", good(50))
        for name in ("Test.tmp", ".Test.md.swp", "4913", "Test.md~"):
            (r.vault / "dynamic" / name).unlink()
        await until(lambda: row_at(r, "dynamic/Test.md"))

        assert len(r.ids()) == 21
        assert r.core.pipeline.counters.failed == 0
        assert await is_equal_to_disk(r)
