"""Keep the process small: glibc gives each thread a heap of its own, and gives nothing back by itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

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
