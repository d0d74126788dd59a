"""A write that cannot be done or is cut off: told, nothing half written, nothing left behind."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
import textwrap

import pytest

from tests.vault.atomic_setup import NEW, OLD, THEIRS, Failing, a_file, names, replace
from vaultd.core.errors import StorageFull, UnwritableNote, VaultError
from vaultd.vault.atomic import remove_leftovers
from vaultd.vault.disk import Disk


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


def test_read_only_file_is_not_written(tmp_path):
    place = a_file(tmp_path)
    place.chmod(0o444)

    with pytest.raises(UnwritableNote, match="read-only"):
        replace(place)

    assert place.read_bytes() == OLD
    assert names(tmp_path) == ["note.md"]


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
    code = """if True:
        import os, pathlib, sys
        from vaultd.wholefile import write_whole
        os.fsync = lambda _: os._exit(9)
        write_whole(pathlib.Path(sys.argv[1]), b"half a lin", durable=True)
        """
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "activations.jsonl"], check=False)
    assert done.returncode == 9
    (part,) = tmp_path.iterdir()
    assert part.read_bytes() == b"half a lin"

    assert [leftover.place for leftover in remove_leftovers(tmp_path, displaced=pytest.fail)] == [part]
    assert names(tmp_path) == []


def test_clearing_up_touches_nothing_else(tmp_path):
    for name in (".vaultd-x.tmp", "a.tmp", ".hidden", "note.md"):
        (tmp_path / name).write_bytes(OLD)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / f".vaultd-{'a' * 40}.tmp").write_bytes(OLD)

    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == [".git", ".hidden", ".vaultd-x.tmp", "a.tmp", "note.md"]
