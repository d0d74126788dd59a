"""The one thread that writes the tables, a little behind the mirror, many changes at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import IndexUnavailable, StorageFull
from vaultd.index.rows import Row
from vaultd.index.schema import ContentRow
from vaultd.index.store import VERSIONS_KEPT, Store

log = logging.getLogger(__name__)

FLUSH_AFTER_S = 0.3  # after the last change
FLUSH_AT_LATEST_S = 2.0  # after the first one: where something changes all the time
FLUSH_AT_ROWS = 512
COMPACT_WHEN_IDLE_S = 20.0
IDLE_COMMITS = 20  # fewer than these are not worth a compaction
CLEAN_AFTER_S = VERSIONS_KEPT.total_seconds() + 1  # from then on what a compaction had to leave may go
RETRY_AFTER_S = 10.0


@dataclass(slots=True)
class _Pending:
    rows: dict[str, Row] = field(default_factory=dict)
    contents: dict[str, ContentRow] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    embeddings: list[tuple[Sequence[bytes], npt.NDArray[np.float32], npt.NDArray[np.float32]]] = field(
        default_factory=list
    )

    @property
    def size(self) -> int:
        return len(self.rows) + len(self.gone) + sum(len(keys) for keys, _, _ in self.embeddings)


class TableWriter:
    """Takes changes from any thread, writes them in its own. `known` are the ids that the tables hold already.

    A store that is not open yet is opened, for `model`, when there is something to write; where it turns out not to
    hold what is known of it, it is emptied, and `on_lost` is called to have all notes put in anew.
    """

    def __init__(
        self,
        store: Store,
        known: set[str],
        *,
        model: str = "none",
        on_lost: Callable[[], None] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._known = known
        self._model = model
        self._on_lost = on_lost
        self._trusted = store.is_open
        self._monotonic = monotonic
        self._pending = _Pending()
        self._condition = threading.Condition()
        self._stopping = False
        self._writing = False
        self._flush_now = False
        self._problem = ""
        self._last_change = monotonic()
        self._first_change: float | None = None  # of those that wait
        self._compact_from = 0.0  # later than now after a compaction that failed
        self._clean_at: float | None = None  # where a compaction had to leave old versions
        self.worked_at: float | None = None  # when the tables were last written or compacted, on the monotonic clock
        self._thread = threading.Thread(target=self._run, name="index-writer", daemon=True)

    @property
    def problem(self) -> str:
        """Why the tables are behind, "" where they are not."""
        return self._problem

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, row: Row, content: ContentRow | None) -> None:
        """A row that changed; `content` where its body did."""
        with self._condition:
            self._pending.gone.discard(row.id)
            self._pending.rows[row.id] = row
            if content is not None:
                self._pending.contents[row.id] = content
            self._wake()

    def remove(self, note_id: str) -> None:
        """A note that left the index."""
        with self._condition:
            self._pending.rows.pop(note_id, None)
            self._pending.contents.pop(note_id, None)
            self._pending.gone.add(note_id)
            self._wake()

    def add_embeddings(
        self, keys: Sequence[bytes], vectors: npt.NDArray[np.float32], shares: npt.NDArray[np.float32]
    ) -> None:
        """Embeddings that were computed."""
        with self._condition:
            self._pending.embeddings.append((keys, vectors, shares))
            self._wake()

    def _wake(self) -> None:
        self._last_change = self._monotonic()
        if self._first_change is None:
            self._first_change = self._last_change
        self._condition.notify_all()

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until the tables hold everything; False where they could not within the time."""
        deadline = self._monotonic() + timeout_s
        with self._condition:
            self._flush_now = True
            self._condition.notify_all()
            while self._pending.size or self._writing:
                left = deadline - self._monotonic()
                if left <= 0 or not self._thread.is_alive():
                    return False
                self._condition.wait(min(left, 0.5))
        return True

    def close(self, timeout_s: float = 30.0) -> bool:
        """Write what is left, then end the thread; False where the tables lack something."""
        self.flush(timeout_s)
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        self._thread.join(timeout_s)
        return not self._thread.is_alive() and not self._pending.size and not self._problem

    def _run(self) -> None:
        while True:
            batch = self._next()
            if batch is None:
                return
            if batch.size:
                self._write(batch)
            else:
                self._compact()
            self.worked_at = self._monotonic()

    def _next(self) -> _Pending | None:
        """The next batch; an empty one asks for a compaction; None at the end."""
        with self._condition:
            self._writing = False
            self._condition.notify_all()
            while not self._stopping:
                now = self._monotonic()
                waited = now - self._last_change
                may_compact = now >= self._compact_from
                if self._store.wants_compaction and may_compact and not self._flush_now:
                    return _Pending()
                if self._pending.size:
                    overdue = now - (self._first_change or now) >= FLUSH_AT_LATEST_S
                    full = self._pending.size >= FLUSH_AT_ROWS
                    if self._flush_now or full or overdue or waited >= FLUSH_AFTER_S:
                        break
                    self._condition.wait(max(0.01, FLUSH_AFTER_S - waited))
                    continue
                self._flush_now = False
                if not may_compact:
                    self._condition.wait(self._compact_from - now)
                    continue
                wait_s = self._until_upkeep_s(now)
                if wait_s is not None:
                    if wait_s <= 0:
                        return _Pending()
                    self._condition.wait(wait_s)
                    continue
                if not self._store.wants_compaction:
                    self._condition.wait()
            if self._stopping and not self._pending.size:
                return None
            batch, self._pending = self._pending, _Pending()
            self._first_change = None
            self._writing = True
            return batch

    def _until_upkeep_s(self, now: float) -> float | None:
        """Seconds until the tables, where nothing changes, are to be compacted or cleared up; None: there is no need."""
        idle_from = self._last_change + COMPACT_WHEN_IDLE_S
        if self._store.commits >= IDLE_COMMITS:
            return idle_from - now
        return None if self._clean_at is None else max(idle_from, self._clean_at) - now

    def _write(self, batch: _Pending) -> None:
        try:
            self._write_all(batch)
        except (StorageFull, IndexUnavailable) as exc:
            log.error("%s", exc)
            mended = isinstance(exc, IndexUnavailable) and not self._problem and self._mend()
            self._problem = str(exc)
            with self._condition:
                self._give_back(batch)
                if not self._stopping and not mended:
                    self._condition.wait(RETRY_AFTER_S)
        else:
            self._problem = ""

    def _open_store(self) -> None:
        if not self._store.is_open:
            self._store.open(self._model)
        if self._store.count() != len(self._known):
            self._start_anew()
        self._trusted = True

    def _start_anew(self) -> None:
        log.warning("the tables of the index lack notes, or cannot be read; they are made anew")
        self._store.clear()
        self._known.clear()
        self._on_lost()

    def _mend(self) -> bool:
        """Make tables of this machine anew where they can't be read, and thus will not take a change; whether it was so."""
        try:
            damaged = self._store.folder is not None and self._store.is_open and not self._store.is_readable()
            if damaged:
                self._start_anew()
        except (StorageFull, IndexUnavailable) as exc:
            log.error("%s", exc)
            return False
        return damaged

    def _write_all(self, batch: _Pending) -> None:
        if not self._trusted:
            self._open_store()
        gone = batch.gone & self._known
        if gone:
            self._store.delete(sorted(gone))
            self._known -= gone
            batch.gone.clear()
        rows = [(row, row.id not in self._known) for row in batch.rows.values()]
        contents = [(content, content.id not in self._known) for content in batch.contents.values()]
        self._store.put(rows, contents)
        self._known.update(batch.rows)
        batch.rows.clear()
        batch.contents.clear()
        if batch.embeddings:
            keys = [key for some, _, _ in batch.embeddings for key in some]
            vectors = np.concatenate([vectors for _, vectors, _ in batch.embeddings])
            shares = np.concatenate([shares for _, _, shares in batch.embeddings])
            self._store.add_embeddings(keys, vectors, shares)
            batch.embeddings.clear()

    def _give_back(self, batch: _Pending) -> None:
        newer = self._pending
        for note_id, row in batch.rows.items():
            if note_id not in newer.gone:
                newer.rows.setdefault(note_id, row)
        for note_id, content in batch.contents.items():
            if note_id not in newer.gone:
                newer.contents.setdefault(note_id, content)
        newer.gone |= batch.gone - newer.rows.keys()
        newer.embeddings[:0] = batch.embeddings

    def _compact(self) -> None:
        gathered = self._store.commits
        try:
            self._store.compact()
        except (StorageFull, IndexUnavailable) as exc:
            self._problem = str(exc)
            self._compact_from = self._monotonic() + RETRY_AFTER_S
            log.warning("%s", exc)
        else:
            self._problem = ""
            self._clean_at = self._monotonic() + CLEAN_AFTER_S if gathered >= IDLE_COMMITS else None
