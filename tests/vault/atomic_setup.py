"""A file to be written, and disks on which that goes wrong."""

from __future__ import annotations

import errno
import os

from vaultd.vault.atomic import AtomicFile
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
