"""Whether a folder lies on a disk of this machine: there a file's status is told at once, however far its content is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

MOUNTS: Final = Path("/proc/self/mountinfo")

_OF_THIS_MACHINE: Final = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs")
)
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def is_local(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether `folder`, with everything mounted below it, lies on file systems of this machine.

    False where that can't be told: `mounts` is Linux' table of them (proc(5), mountinfo).
    """
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return False
    sought = _as_folder(os.fsencode(folder))
    holder, kind_of_holder = b"", ""
    for line in lines:
        place, kind = _mount(line)
        if place.startswith(sought) and place != sought and kind not in _OF_THIS_MACHINE:
            return False
        if sought.startswith(place) and len(place) >= len(holder):  # of two at one place the later one is seen
            holder, kind_of_holder = place, kind
    return kind_of_holder in _OF_THIS_MACHINE


def _mount(line: bytes) -> tuple[bytes, str]:
    """Where a file system is mounted, with a slash at the end, and its kind."""
    before, _, after = line.partition(b" - ")
    fields = before.split()
    place = _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), fields[4]) if len(fields) > 4 else b"?"
    return _as_folder(place), after.split(maxsplit=1)[0].decode("ascii", "replace") if after else ""


def _as_folder(place: bytes) -> bytes:
    return place.rstrip(b"/") + b"/"
