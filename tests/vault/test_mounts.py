"""A vault on a disk of this machine is told from one behind a network."""

import os
from pathlib import Path

import pytest

from vaultd.vault.mounts import MOUNTS, is_local

TABLE = r"""
25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
26 25 0:20 / /proc rw - proc proc rw
30 25 0:40 / /home/user/nas rw shared:9 master:1 - nfs4 nas:/export rw,hard
31 25 0:41 / /home/user/My\040Drive rw - fuse.rclone drive: rw
32 25 8:2 / /data rw - btrfs /dev/sdb1 rw
33 32 0:50 / /data/share rw - cifs //server/share rw
34 25 8:3 / /twice rw - nfs4 nas:/other rw
35 34 8:3 / /twice rw - ext4 /dev/sdc1 rw
"""


@pytest.fixture
def mounts(tmp_path):
    place = tmp_path / "mountinfo"
    place.write_text(TABLE.lstrip("\n"))
    return place


@pytest.mark.parametrize("folder", ["/home/user/vault", "/home/user/nasty", "/data/vault", "/twice/vault", "/twice"])
def test_on_a_disk_of_this_machine(mounts, folder):
    assert is_local(Path(folder), mounts)


@pytest.mark.parametrize(
    "folder",
    ["/", "/home/user/nas", "/home/user/nas/vault", "/home/user/My Drive/vault", "/data", "/data/share/a", "/proc"],
)
def test_behind_a_network_or_with_a_share_below_it(mounts, folder):
    assert not is_local(Path(folder), mounts)


def test_where_it_can_not_be_told_it_is_not_taken_for_local(tmp_path):
    assert not is_local(tmp_path, tmp_path / "missing")
    (tmp_path / "broken").write_bytes(b"\n25 1\n\xff - \nnothing here\n")
    assert not is_local(tmp_path, tmp_path / "broken")


def test_a_path_that_is_no_text_is_told_as_well(mounts):
    assert is_local(Path(os.fsdecode(b"/home/user/caf\xe9")), mounts)
    assert not is_local(Path(os.fsdecode(b"/home/user/nas/caf\xe9")), mounts)


@pytest.mark.skipif(not MOUNTS.exists(), reason="there is no table of mounts here")
def test_the_table_of_this_machine_is_read():
    assert not is_local(Path("/proc"))
