"""Disks of their own size, for tests: one in memory, and one in a file that can be taken out and put back."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


def _mounts(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0


def needs_mounting() -> None:
    """Skip where nothing can be mounted."""
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("mounting a disk takes Linux and its superuser")


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A disk in memory."""
    needs_mounting()
    place.mkdir()
    if not _mounts("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)):
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@dataclass
class Removable:
    """A disk in a file, at `place` while it is in."""

    image: Path
    place: Path

    def put_in(self) -> None:
        """Mount it."""
        if not _mounts("-o", "loop", str(self.image), str(self.place)):
            pytest.skip("no disk can be mounted here")

    def take_out(self) -> None:
        """Unmount it, whatever is open."""
        subprocess.run(["umount", "-l", str(self.place)], check=True)


@contextlib.contextmanager
def removable_disk(folder: Path) -> Iterator[Removable]:
    """A disk that is in."""
    needs_mounting()
    disk = Removable(folder / "disk.img", folder / "disk")
    disk.place.mkdir()
    with disk.image.open("wb") as file:
        file.truncate(16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", str(disk.image)], check=True)
    disk.put_in()
    try:
        yield disk
    finally:
        if os.path.ismount(disk.place):
            disk.take_out()
