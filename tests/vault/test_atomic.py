"""One file is written whole or not at all, and never over somebody's save."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.vault.atomic_setup import NEW, OLD, THEIRS, Fat, Meddling, WithoutSwap, a_file, names, replace
from vaultd.core.errors import LostRace
from vaultd.vault.atomic import AtomicFile
from vaultd.vault.disk import Disk


def test_replace_puts_the_new_text_in_place_and_leaves_nothing_behind(tmp_path):
    place = a_file(tmp_path)

    replace(place)

    assert place.read_bytes() == NEW
    assert names(tmp_path) == ["note.md"]


def test_replace_of_a_changed_file_is_refused(tmp_path):
    place = a_file(tmp_path, THEIRS)

    with pytest.raises(LostRace):
        replace(place)

    assert place.read_bytes() == THEIRS
    assert names(tmp_path) == ["note.md"]


def test_replace_of_a_file_that_is_gone_is_a_lost_race(tmp_path):
    with pytest.raises(LostRace):
        replace(tmp_path / "note.md")

    assert names(tmp_path) == []


@pytest.mark.parametrize("call", [1, 2])
def test_a_save_before_the_second_look_wins(tmp_path, call):
    place = a_file(tmp_path)

    with pytest.raises(LostRace):
        replace(place, disk=Meddling("read", lambda: place.write_bytes(THEIRS), call=call))

    assert place.read_bytes() == THEIRS
    assert names(tmp_path) == ["note.md"]


def test_a_save_in_place_right_before_the_swap_wins(tmp_path):
    place = a_file(tmp_path)

    with pytest.raises(LostRace):
        replace(place, disk=Meddling("exchange", lambda: place.write_bytes(THEIRS)))

    assert place.read_bytes() == THEIRS
    assert names(tmp_path) == ["note.md"]


def test_a_save_by_rename_right_before_the_swap_wins(tmp_path):
    place = a_file(tmp_path)

    def save():
        (tmp_path / "save.tmp").write_bytes(THEIRS)
        (tmp_path / "save.tmp").replace(place)

    with pytest.raises(LostRace):
        replace(place, disk=Meddling("exchange", save))

    assert place.read_bytes() == THEIRS
    assert names(tmp_path) == ["note.md"]


def test_a_note_emptied_right_before_the_swap_gets_its_text_afterwards(tmp_path):
    place = a_file(tmp_path)
    opened = []

    with pytest.raises(LostRace):
        replace(place, disk=Meddling("exchange", lambda: opened.append(place.open("wb"))))
    opened[0].write(THEIRS)
    opened[0].close()

    assert place.read_bytes() == THEIRS


def test_a_note_that_is_open_for_writing_is_not_replaced(tmp_path):
    place = a_file(tmp_path)

    with place.open("r+b") as file:
        if Disk().open_for_writing(place) is None:
            pytest.skip("this system can't tell whether a file is open for writing")
        with pytest.raises(LostRace):
            replace(place)
        file.write(THEIRS)

    assert place.read_bytes() == THEIRS


def test_of_two_saves_in_one_swap_the_later_stays_and_the_earlier_is_kept(tmp_path):
    place = a_file(tmp_path)
    kept = []
    saves = iter([THEIRS, b"later\n"])

    class Twice(Disk):
        def exchange(self, one, other):
            save = next(saves, None)
            if save is not None:
                place.write_bytes(save)
            super().exchange(one, other)

    with pytest.raises(LostRace):
        replace(place, disk=Twice(), displaced=lambda where, raw: kept.append((where, raw)))

    assert place.read_bytes() == b"later\n"
    assert kept == [(place, THEIRS)]
    assert names(tmp_path) == ["note.md"]


@pytest.mark.parametrize("disk", [WithoutSwap(), Fat()])
def test_a_disk_without_swap_is_written_by_rename(tmp_path, disk):
    place = a_file(tmp_path)

    replace(place, disk=disk)

    assert place.read_bytes() == NEW
    assert names(tmp_path) == ["note.md"]


@pytest.mark.parametrize("disk", [Disk(), WithoutSwap(), Fat()])
def test_create_never_writes_over_a_namesake(tmp_path, disk):
    place = a_file(tmp_path)

    with pytest.raises(LostRace):
        AtomicFile(disk).create(place, NEW, shown="note.md")
    AtomicFile(disk).create(tmp_path / "new" / "other.md", NEW, shown="other.md")

    assert place.read_bytes() == OLD
    assert (tmp_path / "new" / "other.md").read_bytes() == NEW
    assert names(tmp_path) == ["new", "note.md"]
    assert names(tmp_path / "new") == ["other.md"]


@pytest.mark.parametrize("disk", [Disk(), WithoutSwap(), Fat()])
def test_move_never_goes_over_a_namesake(tmp_path, disk):
    place = a_file(tmp_path)
    (tmp_path / "taken.md").write_bytes(THEIRS)
    file = AtomicFile(disk)

    with pytest.raises(LostRace):
        file.move(place, tmp_path / "taken.md", shown="note.md")
    file.move(place, tmp_path / "archive" / "note.md", shown="note.md")

    assert (tmp_path / "taken.md").read_bytes() == THEIRS
    assert (tmp_path / "archive" / "note.md").read_bytes() == OLD
    assert not place.exists()


def test_mode_is_kept_and_mtime_is_new(tmp_path):
    place = a_file(tmp_path)
    place.chmod(0o640)
    os.utime(place, (1_000_000_000, 1_000_000_000))

    replace(place)

    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert place.stat().st_mtime > 1_700_000_000


def test_new_file_has_the_mode_that_the_umask_gives(tmp_path):
    ordinary = a_file(tmp_path)

    AtomicFile().create(tmp_path / "new.md", NEW, shown="new.md")

    assert (tmp_path / "new.md").stat().st_mode == ordinary.stat().st_mode


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(tmp_path):
    place = a_file(tmp_path)
    os.setxattr(place, "user.colour", b"red")

    replace(place)

    assert os.getxattr(place, "user.colour") == b"red"


def test_target_of_a_link_is_written_and_the_link_stays(tmp_path):
    place = a_file(tmp_path)
    link = tmp_path / "link.md"
    link.symlink_to("note.md")

    replace(link)

    assert link.is_symlink()
    assert place.read_bytes() == NEW


def test_hard_linked_snapshot_keeps_the_old_text(tmp_path):
    place = a_file(tmp_path)
    (tmp_path / "snapshot.md").hardlink_to(place)

    replace(place)

    assert place.read_bytes() == NEW
    assert (tmp_path / "snapshot.md").read_bytes() == OLD


def test_open_for_writing_is_told_without_harm_to_the_writer(tmp_path):
    place = a_file(tmp_path)
    disk = Disk()
    if disk.open_for_writing(place) is None:
        pytest.skip("this system can't tell whether a file is open for writing")

    with Path(place).open("rb"):
        assert disk.open_for_writing(place) is False
    with Path(place).open("ab") as file:
        assert disk.open_for_writing(place) is True
        file.write(b"more")
    assert disk.open_for_writing(place) is False
    assert place.read_bytes() == OLD + b"more"
