"""Faults that people met in tools of this kind, each with the smallest input that shows it: what stands in one note."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest

from tests.cases.vault_setup import a_daemon, good, id_of, ids_of, put, row_at, until
from vaultd.core.bucket import Role
from vaultd.core.errors import UnwritableNote
from vaultd.core.note import NotePath
from vaultd.services.revise import Revision
from vaultd.vault import codec

BAD = b"---\ntitle: Fix: the thing\nby: @bob\n---\nbody kiwi\n"


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
