"""Keep the process small: glibc gives each thread a heap of its own, and gives nothing back by itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Collection
from pathlib import Path

_MADV_PAGEOUT = 21  # madvise's name for: these pages are not needed soon; the next look at one brings it back
_M_ARENA_MAX = -8  # mallopt's name for the number of heaps
_HEAPS = 2


def few_heaps() -> None:
    """Before anything large is imported. Does nothing where the C library is another one."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def one_thread_for_products() -> None:
    """Before numpy is imported: threads that wait for each other's share of a matrix product cost more than they save."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def give_back() -> None:
    """Hand free memory to the system, after something large was let go. Does nothing where that is not known."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def give_back_code(libraries: Collection[str]) -> int:
    """Hand back the code of some libraries that did their work for now; how many bytes of it there are.

    `libraries`: how the names of their files begin. What is called again is read from the page cache, in microseconds.
    Does nothing, and says 0, where that is not known.
    """
    if sys.platform != "linux":
        return 0
    given = 0
    with contextlib.suppress(OSError, AttributeError, ValueError):
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            span, mode, *_, name = line.split(maxsplit=5)
            if mode == "r-xp" and name.rpartition("/")[2].startswith(tuple(libraries)):
                begin, end = (int(address, 16) for address in span.split("-"))
                if madvise(begin, end - begin, _MADV_PAGEOUT) == 0:
                    given += end - begin
    return given
