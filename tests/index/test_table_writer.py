"""The thread that writes the tables, while something changes all the time."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from tests.fakes import FakeClock
from vaultd.index.tables import FLUSH_AT_LATEST_S, TableWriter


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
