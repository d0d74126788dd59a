"""Faults that people met in tools of this kind, each with the smallest input that shows it: the vault.

Set-up: a vault of 20 good notes, a daemon's core with a real watcher, embeddings counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import shutil
import subprocess
import time
import unicodedata
from datetime import UTC, datetime

import pytest

from tests.fakes import FakeClock
from tests.running import running
from vaultd.core.bucket import Role
from vaultd.core.errors import UnwritableNote
from vaultd.core.note import NotePath
from vaultd.core.query import Query
from vaultd.services.revise import Revision
from vaultd.vault import codec

BAD = b"---\ntitle: Fix: the thing\nby: @bob\n---\nbody kiwi\n"
WAIT_S = 20.0


def id_of(number):
    return f"a{number:011x}"


def good(number, body="an evening by the harbour", **more):
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    return (
        f"---\nid: {id_of(number)}\nname: note {number}\ntype: dynamic\ndomain: [日常]\nimportance: 5\n"
        f"created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-17T12:00:00+00:00\n{lines}---\n{body} {number}\n"
    )


def git(vault, *arguments):
    """A git command of a person."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", *identity, "-C", str(vault), *arguments], check=True, capture_output=True)


def put(vault, path, text):
    place = vault / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


@contextlib.asynccontextmanager
async def a_daemon(tmp_path, *, notes=20, watch=True, **options):
    """The set-up of every case."""
    vault = tmp_path / "vault"
    for number in range(1, notes + 1):
        put(vault, f"dynamic/日常/note {number}.md", good(number))
    async with running(tmp_path, watch=watch, clock=FakeClock(datetime.now(UTC)), **options) as r:
        await r.embedded()
        yield r


async def until(condition, timeout_s=WAIT_S):
    """Wait for what the watcher brings about; what it returns."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.02)
    return found


def row_at(r, path):
    return r.core.mirror.by_path(path)


def body_at(r, path):
    """The text that the index knows at a path."""
    key = codec.checksum((r.vault / r.core.mirror.by_path(path).path).read_bytes())
    row = r.core.mirror.by_path(path)
    return r.read(row.path) if row.checksum == key else ""


async def is_equal_to_disk(r):
    """No difference between vault and index is left."""
    await r.core.pipeline.idle()
    return not await asyncio.to_thread(r.core.compare)


async def ids_of(r, text):
    answer = await r.core.services.answer(Query.parse(text))
    return {hit.bucket.id for hit in answer.hits}


async def test_01_one_bad_note_stops_no_other_and_is_named_with_its_line(tmp_path):
    async with a_daemon(tmp_path) as r:
        put(r.vault, "dynamic/bad.md", BAD)
        row = await until(lambda: row_at(r, "dynamic/bad.md"))
        applied = r.core.pipeline.counters.applied
        r.clock.advance(hours=1)
        await r.core.services.housekeeping()
        found = await ids_of(r, "kiwi")

        assert len(r.ids()) == 21
        assert (row.problem_line, row.writable) == (2, False)
        assert [one.path for one in r.core.services.health.problems()] == ["dynamic/bad.md"]
        assert row.id in found
        assert (r.vault / "dynamic/bad.md").read_bytes() == BAD
        assert r.core.pipeline.counters.applied == applied


async def test_02_a_write_adds_its_key_inside_the_one_block_or_nothing(tmp_path):
    async with a_daemon(tmp_path) as r:
        put(r.vault, "dynamic/bad.md", BAD)
        put(r.vault, "dynamic/lit.md", "---\nid: abcabcabcabc\ntype: litnote\nmine: 1\n---\ntext\n")
        bad = await until(lambda: row_at(r, "dynamic/bad.md"))
        await until(lambda: row_at(r, "dynamic/lit.md"))

        await r.core.services.revise("abcabcabcabc", Revision(importance=7))
        with pytest.raises(UnwritableNote):
            await r.core.services.revise(bad.id, Revision(importance=7))

        assert r.read("dynamic/lit.md") == ("---\nid: abcabcabcabc\ntype: litnote\nmine: 1\nimportance: 7\n---\ntext\n")
        assert (r.vault / "dynamic/bad.md").read_bytes() == BAD


async def test_03_a_byte_order_mark_stays_first_and_hides_nothing(tmp_path):
    async with a_daemon(tmp_path) as r:
        put(r.vault, "dynamic/bom.md", b"\xef\xbb\xbf---\nid: 1\ntags: [a]\n---\nx")
        row = await until(lambda: row_at(r, "dynamic/bom.md"))

        await r.core.services.revise(row.id, Revision(resolved=True))

        raw = (r.vault / "dynamic/bom.md").read_bytes()
        assert row.tags == ("a",)
        assert raw == b"\xef\xbb\xbf---\nid: 1\ntags: [a]\nresolved: true\n---\nx"


async def test_04_one_property_one_line(tmp_path):
    raw = "---\n# mine\ndate: 2026-06-29   # why\ntags: [b, a]\nq: 'it''s'\nlink: \"[[N]]\"\n---\nbody\n"
    async with a_daemon(tmp_path) as r:
        put(r.vault, "dynamic/mine.md", raw)
        row = await until(lambda: row_at(r, "dynamic/mine.md"))

        await r.core.services.revise(row.id, Revision(resolved=True))
        with_it = r.read("dynamic/mine.md")
        await r.core.scribe.set_properties(row.path, {"resolved": codec.REMOVE}, why="test")

        assert with_it == raw.replace("\n---\nbody", "\nresolved: true\n---\nbody")
        assert r.read("dynamic/mine.md") == raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"---\r\nid: a\r\n---\r\nx\r\n", b"---\r\nid: a\r\nresolved: true\r\n---\r\nx\r\n"),
        (b"---\nid: a\n---\nx\n", b"---\nid: a\nresolved: true\n---\nx\n"),
        (b"---\r\nid: a\r\n---\nx\r\ny\n", b"---\r\nid: a\r\nresolved: true\r\n---\nx\r\ny\n"),
        (b"---\nid: a\n---\nx", b"---\nid: a\nresolved: true\n---\nx"),
    ],
    ids=["crlf", "lf", "mixed", "no final newline"],
)
async def test_05_a_new_line_ends_like_its_block(tmp_path, raw, expected):
    async with a_daemon(tmp_path, notes=1) as r:
        put(r.vault, "dynamic/newlines.md", raw)
        row = await until(lambda: row_at(r, "dynamic/newlines.md"))

        await r.core.services.revise(row.id, Revision(resolved=True))

        assert (r.vault / "dynamic/newlines.md").read_bytes() == expected


async def test_06_values_are_read_as_obsidian_reads_them(tmp_path):
    async with a_daemon(tmp_path, notes=1) as r:
        put(r.vault, "dynamic/values.md", "---\ncreated: 2026-08-11\nt: 12:30\nok: yes\nn: 0123\nx:\n---\nbody\n")
        row = await until(lambda: row_at(r, "dynamic/values.md"))
        note = r.core.reader.read(NotePath("dynamic/values.md"))
        whole = await r.core.services.revise.read(row.id)

        assert note.properties == {"created": "2026-08-11", "t": "12:30", "ok": "yes", "n": 123, "x": None}
        assert whole.text == "body"
        assert datetime.fromtimestamp(row.created, row.zone()).date().isoformat() == "2026-08-11"


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


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"---\nid: x\n---\ncaf\xff\n", "offset 17"),
        ("---\nid: x\n---\ntext\n".encode("utf-16"), "UTF-16"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe", "offset 0"),
        (b"---\nid: x\n---\na\x00b\n", "offset 15"),
    ],
    ids=["latin1", "utf-16", "png", "nul"],
)
async def test_13_bytes_that_are_no_text_are_named_and_never_rewritten(tmp_path, raw, reason):
    async with a_daemon(tmp_path) as r:
        put(r.vault, "dynamic/odd.md", raw)
        row = await until(lambda: row_at(r, "dynamic/odd.md"))
        r.clock.advance(hours=1)
        await r.core.services.housekeeping()
        with pytest.raises(UnwritableNote):
            await r.core.services.revise(row.id, Revision(importance=9))

        assert reason in row.problem
        assert len(r.ids()) == 21
        assert (r.vault / "dynamic/odd.md").read_bytes() == raw


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


async def test_22_a_floor_of_importance_keeps_a_memory_and_says_so(tmp_path):
    from vaultd.settings import Settings

    base = Settings()
    settings = dataclasses.replace(base, decay=dataclasses.replace(base.decay, protect_importance_floor=8))
    old = datetime.now(UTC).timestamp() - 79 * 86400
    moment = datetime.fromtimestamp(old, UTC).isoformat(timespec="seconds")
    note = good(77).replace("importance: 5", "importance: 9").replace("2026-05-17T12:00:00+00:00", moment)
    async with a_daemon(tmp_path, notes=0, settings=settings) as r:
        put(r.vault, "dynamic/日常/old.md", note)
        await until(lambda: r.core.mirror.get(id_of(77)))

        result = await r.core.services.forget()
        coming = [one for one in r.core.services.forget.forecast() if one.id == id_of(77)]

        assert result.archived == 0
        assert row_at(r, "dynamic/日常/old.md")
        assert all(one.held for one in coming)
    plain = tmp_path / "plain"
    plain.mkdir()
    async with a_daemon(plain, notes=0) as r:
        put(r.vault, "dynamic/日常/old.md", note)
        await until(lambda: r.core.mirror.get(id_of(77)))
        assert (await r.core.services.forget(dry_run=True)).lowest_score == result.lowest_score


async def test_23_protected_is_set_and_the_restored_one_stays(tmp_path):
    async with a_daemon(tmp_path, notes=2) as r:
        old = good(3, body="long ago").replace("2026-05-17", "2025-05-17").replace("type: dynamic", "type: archived")
        put(r.vault, "archive/日常/note 3.md", old)
        await until(lambda: r.core.mirror.get(id_of(3)))

        await r.core.services.revise(id_of(1), Revision(protected=True))
        await r.core.services.revise(id_of(3), Revision(restore=True))
        result = await r.core.services.forget()

        assert "protected: true\n" in r.read("dynamic/日常/note 1.md")
        assert row_at(r, "dynamic/日常/note 3.md").last_active == r.clock.now.timestamp().__floor__()
        assert id_of(3) not in result.to_archive


async def test_24_pinned_in_the_archive_ends_up_consistent(tmp_path):
    async with a_daemon(tmp_path, notes=0) as r:
        pinned = good(1).replace("type: dynamic", "type: permanent") + "core\n"
        pinned = pinned.replace("importance: 5\n", "importance: 10\npinned: true\n")
        put(r.vault, "permanent/note 1.md", pinned)
        await until(lambda: row_at(r, "permanent/note 1.md"))
        (r.vault / "archive").mkdir()
        (r.vault / "permanent/note 1.md").rename(r.vault / "archive/note 1.md")
        await until(lambda: row_at(r, "archive/note 1.md"))

        r.clock.advance(minutes=5)
        await r.core.services.housekeeping()
        archived = r.read("archive/note 1.md")
        await r.core.services.revise(id_of(1), Revision(restore=True, pinned=True))
        restored = r.core.mirror.get(id_of(1))

        assert "pinned: false\n" in archived
        assert "type: archived\n" in archived
        assert restored.path == "permanent/note 1.md"
        assert (restored.pinned, restored.importance, restored.role) == (True, 10, Role.BUCKET)
