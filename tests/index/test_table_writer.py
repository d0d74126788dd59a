"""The thread that writes the tables, while something changes all the time."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from tests.fakes import FakeClock
from vaultd.index.tables import CLEAN_AFTER_S, COMPACT_WHEN_IDLE_S, FLUSH_AT_LATEST_S, IDLE_COMMITS, TableWriter


class Shelf:
    """Stands in for the tables: counts what comes, and wants to be compacted after every write."""

    is_open = True

    def __init__(self) -> None:
        self.written = threading.Event()
        self.compacted = threading.Event()
        self.commits = 0

    @property
    def wants_compaction(self) -> bool:
        return self.commits > 0

    def put(self, rows, contents):
        self.commits += 1
        self.written.set()

    def compact(self):
        self.commits = 0
        self.compacted.set()


def test_changes_without_a_pause_are_written_and_the_tables_compacted_all_the_same():
    clock, shelf, over = FakeClock(), Shelf(), threading.Event()
    writer = TableWriter(shelf, set(), monotonic=lambda: clock.now.timestamp())
    writer.start()

    def change() -> None:
        number = 0
        while not over.wait(0.001):
            clock.advance(seconds=FLUSH_AT_LATEST_S / 50)
            writer.put(SimpleNamespace(id=f"{number % 20}"), None)
            number += 1

    changing = threading.Thread(target=change)
    changing.start()
    try:
        assert shelf.written.wait(10)
        assert shelf.compacted.wait(10)
    finally:
        over.set()
        changing.join()
        writer.close()


class Quiet(Shelf):
    """Tables that ask for nothing by themselves."""

    wants_compaction = False

    def __init__(self) -> None:
        super().__init__()
        self.compactions = 0

    def put(self, rows, contents):
        self.commits += IDLE_COMMITS

    def compact(self):
        self.commits = 0
        self.compactions += 1
        self.compacted.set()


def test_what_a_compaction_left_is_cleared_once_when_it_may_go():
    clock, shelf = FakeClock(), Quiet()
    writer = TableWriter(shelf, set(), monotonic=lambda: clock.now.timestamp())
    writer.start()
    try:
        writer.put(SimpleNamespace(id="a"), None)
        assert writer.flush()
        counts = []
        for pause_s in (COMPACT_WHEN_IDLE_S, CLEAN_AFTER_S, 10 * CLEAN_AFTER_S):
            shelf.compacted.clear()
            clock.advance(seconds=pause_s)
            assert writer.flush()  # wakes it
            shelf.compacted.wait(0.3 if len(counts) == 2 else 10)
            counts.append(shelf.compactions)
    finally:
        writer.close()

    assert counts == [1, 2, 2]
