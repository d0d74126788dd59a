"""A disk that is full or read-only: a clear error, nothing lost, and work goes on by itself when there is room again."""

import errno
from pathlib import Path

import pytest

from tests.vault.vault_setup import ID, PATH, RAW, a_vault
from vaultd.core.errors import StorageFull
from vaultd.vault import codec
from vaultd.vault.disk import Disk


class FullDisk(Disk):
    """A disk that takes nothing while `error` is set."""

    error: int | None = None

    def write_new(self, place: Path, raw: bytes) -> None:
        if FullDisk.error is not None:
            place.write_bytes(raw[: len(raw) // 2])  # a full disk takes the first half
            raise OSError(FullDisk.error, "no room")
        super().write_new(place, raw)


@pytest.fixture
def full():
    FullDisk.error = errno.ENOSPC
    yield FullDisk
    FullDisk.error = None


def importance(value):
    return lambda raw: codec.set_properties(PATH, raw, {"importance": value})


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_change_on_a_full_disk_changes_nothing_and_works_later(tmp_path, full, error):
    vault = a_vault(tmp_path, disk=FullDisk())
    vault.put(PATH)
    full.error = error
    with pytest.raises(StorageFull):
        vault.writer.change(PATH, importance(9))
    during = vault.files()

    full.error = None
    vault.writer.change(PATH, importance(9))

    assert during == {PATH: RAW}
    assert vault.files() == {PATH: RAW.replace(b"importance: 5", b"importance: 9")}
    assert len(vault.log.entries(note_id=ID)) == 1


def test_a_new_note_on_a_full_disk_leaves_no_half_of_it(tmp_path, full):
    vault = a_vault(tmp_path, disk=FullDisk())

    with pytest.raises(StorageFull):
        vault.writer.create(PATH, RAW)
    during = vault.files()
    full.error = None
    vault.writer.create(PATH, RAW)

    assert during == {}
    assert vault.files() == {PATH: RAW}
