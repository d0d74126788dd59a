"""The only hand that writes: what it refuses, what it keeps, what it tells."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from tests.vault.vault_setup import ID, PATH, RAW, a_vault
from vaultd.core.errors import LostRace, OutsideVault, StorageFull, UnwritableNote, VaultUnavailable
from vaultd.vault.codec import checksum, set_properties
from vaultd.vault.disk import Disk
from vaultd.vault.history import history_key
from vaultd.vault.log import Operation

CHANGED = RAW.replace(b"importance: 5", b"importance: 6")
REWRITTEN = RAW.replace(b"river", b"sea")


def test_create_writes_the_note_and_says_so(tmp_path):
    vault = a_vault(tmp_path)

    receipt = vault.writer.create(PATH, RAW, why="hold")

    assert receipt.path == PATH
    assert receipt.checksum == checksum(RAW) == vault.reader.read(PATH).checksum
    assert vault.files() == {PATH: RAW}


def test_create_over_a_namesake_is_a_lost_race(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, b"theirs")

    with pytest.raises(LostRace):
        vault.writer.create(PATH, RAW)

    assert vault.files() == {PATH: b"theirs"}
    assert vault.log.entries() == ()


def test_create_can_step_aside_for_a_namesake(tmp_path):
    vault = a_vault(tmp_path)
    vault.put("inbox/a.md", b"theirs")

    receipt = vault.writer.create("inbox/a.md", RAW, free_name=True)

    assert receipt.path == "inbox/a-2.md"
    assert vault.files() == {"inbox/a.md": b"theirs", "inbox/a-2.md": RAW}


@pytest.mark.parametrize(("there", "ours"), [("Work", "work"), ("Cafe\u0301", "Café")])
def test_folder_that_is_there_in_another_spelling_is_used(tmp_path, there, ours):
    vault = a_vault(tmp_path)
    vault.put(f"dynamic/{there}/a.md")

    created = vault.writer.create(f"dynamic/{ours}/b.md", RAW)
    moved = vault.writer.move(created.path, f"dynamic/{ours}/c.md")

    assert created.path == f"dynamic/{there}/b.md"
    assert set(vault.files()) == {f"dynamic/{there}/a.md", moved.path}


def test_replace_needs_the_bytes_it_was_made_for(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)

    with pytest.raises(LostRace):
        vault.writer.replace(PATH, CHANGED, expected=checksum(b"other"))
    receipt = vault.writer.replace(PATH, CHANGED, expected=checksum(RAW))

    assert receipt.checksum == checksum(CHANGED)
    assert vault.files() == {PATH: CHANGED}


def test_equal_bytes_are_not_written(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    before = vault.reader.stamp(PATH)

    receipt = vault.writer.change(PATH, lambda raw: raw)

    assert vault.reader.stamp(PATH) == before
    assert receipt.checksum == checksum(RAW)
    assert vault.log.entries() == ()


def test_change_begins_again_on_the_new_text(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    seen = []

    def edit(raw):
        if not seen:
            vault.put(PATH, RAW + b"typed meanwhile\n")
        seen.append(raw)
        return set_properties(PATH, raw, {"importance": 9})

    vault.writer.change(PATH, edit)

    assert seen == [RAW, RAW + b"typed meanwhile\n"]
    assert vault.files() == {PATH: RAW.replace(b"importance: 5", b"importance: 9") + b"typed meanwhile\n"}


def test_change_gives_up_after_five_lost_races(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    tries = []

    def edit(raw):
        tries.append(raw)
        vault.put(PATH, raw + b"again\n")
        return raw + b"ours\n"

    with pytest.raises(LostRace):
        vault.writer.change(PATH, edit)

    assert len(tries) == 5
    assert vault.files() == {PATH: RAW + b"again\n" * 5}
    assert vault.log.entries() == ()


def test_change_of_a_note_that_is_gone_is_a_lost_race(tmp_path):
    with pytest.raises(LostRace):
        a_vault(tmp_path).writer.change(PATH, lambda raw: raw + b"x")


def test_changed_body_keeps_the_old_version_and_changed_property_does_not(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)

    vault.writer.change(PATH, lambda raw: raw.replace(b"importance: 5", b"importance: 6"))
    assert vault.writer.history.versions(ID) == ()
    vault.writer.change(PATH, lambda raw: raw.replace(b"river", b"sea"))

    (version,) = vault.writer.history.versions(ID)
    assert vault.writer.history.read(version) == CHANGED


def test_caller_decides_whether_a_version_is_kept_and_how_many(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)

    for number in range(4):
        vault.writer.change(PATH, lambda raw, n=number: raw + b"%d\n" % n, keep=True, versions=2)
    vault.writer.change(PATH, lambda raw: raw + b"4\n", keep=False)

    kept = [vault.writer.history.read(version) for version in vault.writer.history.versions(ID)]
    assert kept == [RAW + b"0\n1\n2\n", RAW + b"0\n1\n"]


def test_move_keeps_bytes_and_inode(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    before = vault.reader.stamp(PATH)

    receipt = vault.writer.move(PATH, f"archive/日常/walk_{ID}.md")

    assert receipt.path == f"archive/日常/walk_{ID}.md"
    assert vault.reader.stamp(receipt.path) == before
    assert vault.files() == {receipt.path: RAW}


def test_move_over_a_namesake_is_a_lost_race(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("archive/a.md", b"theirs")

    with pytest.raises(LostRace):
        vault.writer.move(PATH, "archive/a.md")

    assert vault.files() == {PATH: RAW, "archive/a.md": b"theirs"}


def test_deleted_note_lies_in_the_trash_under_a_free_name(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put(f".trash/walk_{ID}.md", b"an earlier one")

    receipt = vault.writer.delete(PATH, permanent=False)

    assert receipt == type(receipt)(PATH, None)
    assert vault.files() == {f".trash/walk_{ID}.md": b"an earlier one", f".trash/walk_{ID}-2.md": RAW}


def test_permanently_deleted_note_is_gone_with_its_versions(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.writer.change(PATH, lambda _raw: REWRITTEN)

    vault.writer.delete(PATH, permanent=True)

    assert vault.files() == {}
    assert vault.writer.history.versions(ID) == ()
    assert not any(b"river" in place.read_bytes() for place in (tmp_path / ".vaultd" / "history").rglob("*.md"))


@pytest.mark.parametrize("path", ["my own.md", "journal/2026.md", "dynamic.md"])
def test_the_persons_own_notes_are_never_written_moved_or_deleted(tmp_path, path):
    vault = a_vault(tmp_path)
    vault.put(path, RAW)

    for write in (
        lambda: vault.writer.change(path, lambda raw: raw + b"x"),
        lambda: vault.writer.create(path + "x.md", RAW),
        lambda: vault.writer.move(path, PATH),
        lambda: vault.writer.delete(path, permanent=True),
    ):
        with pytest.raises(UnwritableNote, match="the person's own"):
            write()

    assert vault.files() == {path: RAW}


def test_a_path_out_of_the_vault_is_refused(tmp_path):
    vault = a_vault(tmp_path / "vault")
    (tmp_path / "vault").mkdir(exist_ok=True)

    with pytest.raises(OutsideVault):
        vault.writer.create("dynamic/../../x.md", RAW)

    assert not (tmp_path / "x.md").exists()


def test_nothing_is_written_while_git_merges(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git" / "MERGE_HEAD").touch()

    for write in (
        lambda: vault.writer.create("inbox/a.md", RAW),
        lambda: vault.writer.change(PATH, lambda raw: raw + b"x"),
        lambda: vault.writer.move(PATH, "archive/a.md"),
        lambda: vault.writer.delete(PATH, permanent=False),
    ):
        with pytest.raises(UnwritableNote, match="a git merge is under way"):
            write()
    (tmp_path / ".git" / "MERGE_HEAD").unlink()
    vault.writer.change(PATH, lambda raw: raw + b"x")

    assert vault.reader.read_bytes(PATH) == RAW + b"x"


def test_a_vault_that_is_gone_is_not_made_again(tmp_path):
    vault = a_vault(tmp_path / "vault")

    with pytest.raises(VaultUnavailable):
        vault.writer.create(PATH, RAW)

    assert not (tmp_path / "vault").exists()


def test_an_empty_place_where_the_vaults_disk_was_is_not_written(tmp_path):
    mount = tmp_path / "vault"
    mount.mkdir()
    vault = a_vault(mount)
    vault.writer.create(PATH, RAW)
    mount.rename(tmp_path / "elsewhere")
    mount.mkdir()

    with pytest.raises(VaultUnavailable):
        vault.writer.create("inbox/a.md", RAW)

    assert list(mount.iterdir()) == []


def test_a_full_disk_is_told_logged_nowhere_and_passes(tmp_path):
    class Full(Disk):
        full = True

        def write_new(self, place, raw):
            if self.full:
                place.write_bytes(raw[: len(raw) // 2])
                raise OSError(28, "No space left on device")
            super().write_new(place, raw)

    disk = Full()
    vault = a_vault(tmp_path, disk=disk)
    vault.put(PATH)

    with pytest.raises(StorageFull):
        vault.writer.change(PATH, lambda raw: raw.replace(b"5", b"6"))
    with pytest.raises(StorageFull):
        vault.writer.create("inbox/a.md", RAW)
    assert vault.files() == {PATH: RAW}
    assert vault.log.entries() == ()
    disk.full = False
    vault.writer.change(PATH, lambda raw: raw + b"x")

    assert vault.files() == {PATH: RAW + b"x"}


def test_writes_of_many_threads_all_arrive(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    barrier = threading.Barrier(4)

    def work(name):
        barrier.wait()
        for number in range(5):
            vault.writer.change(PATH, lambda raw, number=number: raw + f"{name}{number}\n".encode(), keep=False)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = vault.reader.read_bytes(PATH)[len(RAW) :].decode().split()
    assert sorted(lines) == sorted(f"{name}{number}" for name in "abcd" for number in range(5))
    assert len(vault.log.entries(limit=100)) == 20


def test_log_tells_what_was_done_to_a_note(tmp_path):
    vault = a_vault(tmp_path)

    vault.writer.create(PATH, RAW, why="hold")
    vault.writer.change(PATH, lambda _raw: CHANGED, why="trace")
    vault.writer.move(PATH, "archive/a.md", why="decay")
    vault.writer.create("inbox/b.md", b"another note", why="grow")

    told = [(entry.operation, entry.path, entry.target, entry.why) for entry in vault.log.entries(note_id=ID)]
    assert told == [
        (Operation.MOVE, PATH, "archive/a.md", "decay"),
        (Operation.REPLACE, PATH, None, "trace"),
        (Operation.CREATE, PATH, None, "hold"),
    ]
    assert [entry.why for entry in vault.log.entries(path="archive/a.md")] == ["decay"]


def test_text_that_gave_way_twice_is_in_the_history(tmp_path):
    vault = a_vault(tmp_path)

    vault.writer.keep_displaced(tmp_path / PATH, RAW)

    (version,) = vault.writer.history.versions(ID)
    assert vault.writer.history.read(version) == RAW


def test_note_without_id_has_its_versions_under_its_path(tmp_path):
    vault = a_vault(tmp_path)
    vault.put("dynamic/plain.md", b"no frontmatter\n")

    vault.writer.change("dynamic/plain.md", lambda raw: raw + b"more\n")

    (version,) = vault.writer.history.versions(history_key("", "dynamic/plain.md"))
    assert vault.writer.history.read(version) == b"no frontmatter\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write every file")
def test_folder_that_may_not_be_written_is_told(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    (tmp_path / PATH).parent.chmod(0o500)

    with pytest.raises(UnwritableNote, match="forbids"):
        vault.writer.change(PATH, lambda raw: raw + b"x")

    (tmp_path / PATH).parent.chmod(0o700)
    assert vault.files() == {PATH: RAW}
