"""The write log, and undoing by it."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vault.vault_setup import ID, NOW, PATH, RAW, a_vault
from vaultd.core.errors import BadInput, UnwritableNote, VaultError
from vaultd.vault.log import Operation, Splice, WriteLog
from vaultd.vault.undo import undo

MACHINE = "0123456789ab"


def take_back(vault, entry_id=None):
    return undo(vault.writer, vault.reader, entry_id or vault.log.entries()[0].group)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_splice_gives_the_old_bytes_back(old, new):
    splice = Splice.between(old, new)

    assert new[: splice.start] + splice.old + new[splice.start + splice.length :] == old


@given(st.binary(min_size=1, max_size=30), st.binary(max_size=30), st.binary(max_size=5), st.binary(max_size=5))
def test_splice_holds_no_more_than_what_differs(start, end, old, new):
    splice = Splice.between(start + old + end, start + new + end)

    assert len(splice.old) <= len(old)


def test_changed_property_costs_one_short_line(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, RAW + b"a long text\n" * 5000)

    vault.writer.change(PATH, lambda raw: raw.replace(b"importance: 5", b"importance: 6"), why="trace")

    (line,) = (tmp_path / ".vaultd" / "log" / f"{MACHINE}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(line) < 400
    assert json.loads(line)["why"] == "trace"


@pytest.mark.parametrize("size", [10, 100_000])
def test_undo_of_a_change_gives_the_bytes_back(tmp_path, size):
    vault = a_vault(tmp_path)
    raw = RAW + random.Random(1).randbytes(size).hex().encode() + b"\r\nno newline at the end"
    vault.put(PATH, raw)
    vault.writer.change(PATH, lambda _raw: b"something else altogether\n")

    take_back(vault)

    assert vault.files() == {PATH: raw}


def test_undo_of_a_creation_puts_the_note_into_the_trash(tmp_path):
    vault = a_vault(tmp_path)
    vault.writer.create(PATH, RAW)

    take_back(vault)

    assert vault.files() == {f".trash/walk_{ID}.md": RAW}


def test_undo_of_a_move_and_of_a_deletion(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.move(PATH, "archive/a.md")
    vault.writer.delete("archive/a.md", permanent=False)

    take_back(vault)
    assert vault.files() == {"archive/a.md": RAW}
    take_back(vault, "1")
    assert vault.files() == {PATH: RAW}


def test_undo_can_be_undone(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.change(PATH, lambda raw: raw + b"more\n")

    take_back(vault)
    take_back(vault)

    assert vault.files() == {PATH: RAW + b"more\n"}


def test_undo_of_a_permanent_deletion_is_refused(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.delete(PATH, permanent=True)

    with pytest.raises(BadInput, match="can't be undone"):
        take_back(vault)


def test_undo_of_an_unknown_entry_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no entry '99'"):
        take_back(a_vault(tmp_path), "99")


@pytest.mark.parametrize("theirs", [RAW + b"more\nand typed\n", None])
def test_undo_of_a_note_that_changed_since_is_refused(tmp_path, theirs):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.change(PATH, lambda raw: raw + b"more\n")
    if theirs is None:
        (tmp_path / PATH).unlink()
    else:
        vault.put(PATH, theirs)
    before = vault.files()

    with pytest.raises(UnwritableNote, match="nothing was undone"):
        take_back(vault)

    assert vault.files() == before


def test_undo_of_a_move_is_refused_where_the_old_place_is_taken(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.move(PATH, "archive/a.md")
    vault.put(PATH, b"a new note")

    with pytest.raises(UnwritableNote, match="exists again"):
        take_back(vault)

    assert vault.files() == {PATH: b"a new note", "archive/a.md": RAW}


def test_a_group_is_undone_whole(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("inbox/x.md", b"waiting\n")
    with vault.log.together("trace"):
        vault.writer.change(PATH, lambda raw: raw.replace(b"5", b"6"))
        vault.writer.change(PATH, lambda raw: raw + b"more\n")
        vault.writer.move(PATH, "permanent/a.md")
        vault.writer.change("inbox/x.md", lambda raw: raw + b"x")
        vault.writer.create("feel/b.md", b"new\n")

    groups = {entry.group for entry in vault.log.entries()}
    take_back(vault, str(vault.log.entries()[2].number))

    assert len(groups) == 1
    assert vault.files() == {PATH: RAW, "inbox/x.md": b"waiting\n", ".trash/b.md": b"new\n"}


def test_a_group_is_undone_not_at_all_where_one_file_changed_since(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("inbox/x.md", b"waiting\n")
    with vault.log.together("trace"):
        vault.writer.change(PATH, lambda raw: raw + b"more\n")
        vault.writer.change("inbox/x.md", lambda raw: raw + b"x")
    vault.put(PATH, b"typed")
    before = vault.files()

    with pytest.raises(UnwritableNote, match=f"{PATH}: was changed since"):
        take_back(vault)

    assert vault.files() == before


def test_entries_survive_a_restart_and_numbers_go_on(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.change(PATH, lambda raw: raw + b"1\n")

    again = a_vault(tmp_path)
    again.writer.change(PATH, lambda raw: raw + b"2\n")

    assert [entry.number for entry in again.log.entries()] == [2, 1]
    take_back(again)
    take_back(again, "1")
    assert again.files() == {PATH: RAW}


def test_torn_line_costs_itself_alone(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.change(PATH, lambda raw: raw + b"1\n")
    place = tmp_path / ".vaultd" / "log" / f"{MACHINE}.jsonl"
    place.write_bytes(place.read_bytes() + b'{"n":2,"at":"2026-05')

    again = a_vault(tmp_path)
    again.writer.change(PATH, lambda raw: raw + b"3\n")

    assert [entry.operation for entry in again.log.entries()] == [Operation.REPLACE] * 2


@pytest.mark.parametrize(
    "line", [b"[]", b"null", b'{"n":"x"}', b'{"n":1}', b"\xff", b'{"n":1,"at":"x","op":"fly"}', b"{}"]
)
def test_foreign_lines_are_passed_over(tmp_path, line):
    place = tmp_path / "log" / f"{MACHINE}.jsonl"
    place.parent.mkdir()
    place.write_bytes(line + b"\n")

    assert WriteLog(tmp_path, MACHINE).entries() == ()


def test_lost_old_bytes_are_told(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, RAW + b"x" * 100_000)
    vault.writer.change(PATH, lambda _raw: RAW)
    for place in (tmp_path / ".vaultd" / "history" / "objects" / MACHINE).iterdir():
        place.unlink()

    with pytest.raises(VaultError, match="are lost"):
        take_back(vault)

    assert vault.files() == {PATH: RAW}


def test_old_entries_leave_with_their_bytes(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, RAW + b"x" * 100_000)
    vault.writer.change(PATH, lambda _raw: RAW + b"y" * 100_000)
    vault.writer.change(PATH, lambda _raw: RAW)
    objects = tmp_path / ".vaultd" / "history" / "objects" / MACHINE

    assert vault.log.compact(now=NOW + timedelta(days=29)) == 0
    assert vault.log.compact(now=NOW, entries=1) == 1
    assert [entry.number for entry in vault.log.entries()] == [2]
    assert len(list(objects.iterdir())) == 1
    take_back(vault)
    assert vault.files() == {PATH: RAW + b"y" * 100_000}
    assert vault.log.compact(now=NOW + timedelta(days=31)) == 2
    assert list(objects.iterdir()) == []


def test_log_lets_go_of_what_does_not_fit(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    rng = random.Random(2)
    for _ in range(4):
        vault.writer.change(PATH, lambda _raw: rng.randbytes(10_000), keep=False)

    gone = vault.log.compact(now=NOW, object_bytes=25_000)

    assert gone == 2  # RAW is short and inline, but older than what no longer fits
    assert len(vault.log.entries()) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["change", "move", "delete", "create"]), min_size=1, max_size=8), st.randoms())
def test_everything_can_be_taken_back_step_by_step(tmp_path_factory, steps, rng):
    vault = a_vault(tmp_path_factory.mktemp("vault"))
    vault.put(PATH)
    vault.put("inbox/x.md", b"waiting\n")
    states = [vault.files()]
    for number, step in enumerate(steps):
        notes = [path for path in vault.files() if not path.startswith(".trash")]
        path = rng.choice(notes) if notes else None
        if step == "create" or path is None:
            vault.writer.create(f"feel/{number}.md", b"felt %d\n" % number)
        elif step == "change":
            vault.writer.change(path, lambda raw, n=number: raw[: len(raw) // 2] + b"%d" % n + raw[len(raw) // 3 :])
        elif step == "move":
            vault.writer.move(path, f"archive/{number}.md")
        else:
            vault.writer.delete(path, permanent=False)
        states.append(vault.files())

    numbers = [str(entry.number) for entry in vault.log.entries(limit=100)]
    for number, state in zip(numbers, reversed(states[:-1]), strict=True):
        take_back(vault, number)
        live = {path: raw for path, raw in vault.files().items() if not path.startswith(".trash")}
        assert live == {path: raw for path, raw in state.items() if not path.startswith(".trash")}


def test_numbers_go_on_after_those_of_a_vault_that_came_later(tmp_path):
    elsewhere = a_vault(tmp_path / "elsewhere")
    elsewhere.put(PATH)
    for text in (b"one", b"two"):
        elsewhere.writer.change(PATH, lambda raw, text=text: raw + text)
    vault = a_vault(tmp_path / "vault")  # its disk is out
    elsewhere.root.rename(vault.root)

    vault.writer.change(PATH, lambda raw: raw + b"three")

    assert [entry.number for entry in vault.log.entries()] == [3, 2, 1]


def test_a_write_that_failed_with_its_disk_leaves_the_empty_mount_point_alone(tmp_path):
    vault = a_vault(tmp_path / "vault")
    vault.put(PATH)
    entry = vault.log.add(Operation.MOVE, PATH, at=NOW)
    vault.root.rename(tmp_path / "elsewhere")
    vault.root.mkdir()

    vault.log.void(entry)

    assert list(vault.root.iterdir()) == []
