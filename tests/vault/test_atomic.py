"""One file is written whole or not at all, and never over somebody's save."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vaultd.core.errors import LostRace, StorageFull, UnwritableNote, VaultError
from vaultd.vault.atomic import AtomicFile, part_beside, remove_leftovers
from vaultd.vault.codec import checksum
from vaultd.vault.disk import Disk

OLD = b"old text\n"
NEW = b"new text, rather longer\n"
THEIRS = b"old text\nand a line a person typed\n"


def a_file(folder, raw=OLD):
    place = folder / "note.md"
    place.write_bytes(raw)
    return place


def replace(place, raw=NEW, *, expected=OLD, disk=None, **options):
    AtomicFile(disk or Disk(), **options).replace(place, raw, expected=checksum(expected), shown="note.md")


def names(folder):
    return sorted(place.name for place in folder.iterdir())


class Failing(Disk):
    """A disk on which one step fails."""

    def __init__(self, step, code):
        self._step = step
        self._code = code

    def __getattribute__(self, name):
        if name == object.__getattribute__(self, "_step"):
            code = object.__getattribute__(self, "_code")

            def fail(*_):
                raise OSError(code, os.strerror(code))

            return fail
        return object.__getattribute__(self, name)


class Meddling(Disk):
    """A disk on which a person acts right before the n-th call of one step."""

    def __init__(self, step, act, *, call=1):
        self._step = step
        self._act = act
        self._calls_left = call

    def _meddle(self, step):
        if step == self._step:
            self._calls_left -= 1
            if self._calls_left == 0:
                self._act()

    def exchange(self, one, other):
        self._meddle("exchange")
        super().exchange(one, other)

    def read(self, place):
        self._meddle("read")
        return super().read(place)


class WithoutSwap(Disk):
    """A file system that can neither swap files nor rename exclusively."""

    links = True

    def exchange(self, one, other):
        raise OSError(errno.EINVAL, "no")

    def rename_new(self, one, other):
        raise OSError(errno.EINVAL, "no")

    def link(self, one, other):
        if not self.links:
            raise OSError(errno.EPERM, "no")
        super().link(one, other)


class Fat(WithoutSwap):
    """The same, without hard links."""

    links = False


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


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("step", ["write_new", "dress", "exchange"])
def test_a_full_or_read_only_disk_is_told_and_changes_nothing(tmp_path, step, code):
    place = a_file(tmp_path)

    with pytest.raises(StorageFull, match="nothing was changed"):
        replace(place, disk=Failing(step, code))

    assert place.read_bytes() == OLD
    assert names(tmp_path) == ["note.md"]


def test_a_broken_disk_is_told_and_changes_nothing(tmp_path):
    place = a_file(tmp_path)

    with pytest.raises(VaultError, match="Input/output error"):
        replace(place, disk=Failing("write_new", errno.EIO))

    assert place.read_bytes() == OLD


def test_a_file_cut_short_by_a_size_limit_leaves_nothing_behind(tmp_path):
    place = a_file(tmp_path)
    code = textwrap.dedent(
        """
        import pathlib, resource, sys
        from vaultd.core.errors import StorageFull
        from vaultd.vault.atomic import AtomicFile
        from vaultd.vault.codec import checksum
        place = pathlib.Path(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            AtomicFile().replace(place, b"x" * 100_000, expected=checksum(place.read_bytes()), shown="note.md")
        except StorageFull as exc:
            print(exc)
        """
    )

    done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)

    assert "note.md: File too large; nothing was changed" in done.stdout
    assert place.read_bytes() == OLD
    assert names(tmp_path) == ["note.md"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


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


def test_read_only_file_is_not_written(tmp_path):
    place = a_file(tmp_path)
    place.chmod(0o444)

    with pytest.raises(UnwritableNote, match="read-only"):
        replace(place)

    assert place.read_bytes() == OLD
    assert names(tmp_path) == ["note.md"]


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


class BusyOnWindows(Disk):
    """What Windows says while another program has the file open, a number of times."""

    def __init__(self, times, winerror=32):
        self._left = times
        self._winerror = winerror

    def exchange(self, one, other):
        raise OSError(errno.ENOTSUP, "no swap")

    def rename_over(self, one, other):
        if self._left:
            self._left -= 1
            error = PermissionError(errno.EACCES, "used by another process")
            error.winerror = self._winerror
            raise error
        super().rename_over(one, other)


def test_sharing_violation_is_waited_out(tmp_path):
    place = a_file(tmp_path)
    pauses = []

    replace(place, disk=BusyOnWindows(3), pause=pauses.append)

    assert place.read_bytes() == NEW
    assert len(pauses) == 3
    assert sum(pauses) < 1


def test_sharing_violation_that_stays_is_told(tmp_path):
    place = a_file(tmp_path)

    with pytest.raises(UnwritableNote, match="another program has it open"):
        replace(place, disk=BusyOnWindows(100), pause=lambda _seconds: None)

    assert place.read_bytes() == OLD
    assert names(tmp_path) == ["note.md"]


def kill_in(step, folder):
    """Run a replace that ends, as by kill -9, right before a step."""
    code = textwrap.dedent(
        f"""
        import os, pathlib, sys
        from vaultd.vault.atomic import AtomicFile
        from vaultd.vault.codec import checksum
        from vaultd.vault.disk import Disk
        class Killed(Disk):
            def {step}(self, *_):
                os._exit(9)
        place = pathlib.Path(sys.argv[1])
        AtomicFile(Killed()).replace(place, {NEW!r}, expected=checksum(place.read_bytes()), shown="note.md")
        """
    )
    done = subprocess.run([sys.executable, "-c", code, folder / "note.md"], check=False)
    assert done.returncode == 9


@pytest.mark.parametrize(("step", "text"), [("dress", OLD), ("exchange", OLD), ("unlink", NEW), ("sync_folder", NEW)])
def test_a_crash_leaves_the_old_or_the_new_text_and_the_next_start_clears_up(tmp_path, step, text):
    place = a_file(tmp_path)

    kill_in(step, tmp_path)
    found = remove_leftovers(tmp_path)

    assert place.read_bytes() == text
    assert names(tmp_path) == ["note.md"]
    assert len(found) == (0 if step == "sync_folder" else 1)
    assert all(leftover.raw is None for leftover in found)


def test_leftover_with_a_third_text_is_handed_over_before_it_goes(tmp_path):
    (tmp_path / "x").mkdir()
    leftover = tmp_path / "x" / f".vaultd-{'a' * 16}{'b' * 16}01234567.tmp"
    leftover.write_bytes(THEIRS)
    kept = []

    found = remove_leftovers(tmp_path, displaced=lambda place, raw: kept.append((place, raw)))

    assert kept == [(leftover, THEIRS)]
    assert [one.raw for one in found] == [THEIRS]
    assert not leftover.exists()


def test_half_written_files_of_our_own_are_cleared_up_too(tmp_path):
    part = part_beside(tmp_path / "activations.jsonl")
    part.write_bytes(b"half a lin")

    assert [leftover.place for leftover in remove_leftovers(tmp_path, displaced=pytest.fail)] == [part]
    assert names(tmp_path) == []


def test_clearing_up_touches_nothing_else(tmp_path):
    for name in (".vaultd-x.tmp", "a.tmp", ".hidden", "note.md"):
        (tmp_path / name).write_bytes(OLD)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / f".vaultd-{'a' * 40}.tmp").write_bytes(OLD)

    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == [".git", ".hidden", ".vaultd-x.tmp", "a.tmp", "note.md"]


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
