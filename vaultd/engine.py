"""What a daemon consists of, behind its faces: all objects of one vault, and its index opened, fed and closed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vaultd.config.files import read_text, write_text
from vaultd.core.errors import IndexUnavailable, VaultdError
from vaultd.core.note import FileStamp, NotePath
from vaultd.embedding import Model
from vaultd.index.embedding import EmbeddingQueue
from vaultd.index.indexer import BatchReport, Indexer
from vaultd.index.mirror import Loaded, Mirror
from vaultd.index.reconcile import Difference, difference
from vaultd.index.rows import Place
from vaultd.index.snapshot import Snapshot
from vaultd.index.store import Store
from vaultd.index.tables import TableWriter
from vaultd.index.vectors import Batch
from vaultd.llm.analyst import Analyst
from vaultd.llm.embedder import embedding_key
from vaultd.services import Services
from vaultd.services.health import Progress
from vaultd.services.logtail import LogTail
from vaultd.services.reinforce import Reinforce
from vaultd.services.scribe import Scribe
from vaultd.settings import Settings
from vaultd.vault.ancestry import Ancestry
from vaultd.vault.journal import Journal
from vaultd.vault.layout import Layout
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter
from vaultd.watch.inbox import Inbox, Ring, Touch
from vaultd.watch.pipeline import Pipeline

if TYPE_CHECKING:
    from vaultd.services.importing.status import ImportStatus

log = logging.getLogger(__name__)

REFIT_GROWTH = 1.25  # of the vectors that the centring was last fitted to
REFIT_FROM = 20


def _in_thread(work: Callable[[], None], name: str) -> Future[None]:
    """What work comes to, in a thread that ends with the process at the latest."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()  # who waits may give up, and the thread goes on

    def run() -> None:
        try:
            work()
        except Exception as exc:  # noqa: BLE001 – handed on to who waits
            future.set_exception(exc)
        else:
            future.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


@dataclass(slots=True)
class LiveSettings:
    """The settings in force; `replace` them while running where a key is hot."""

    value: Settings

    def __call__(self) -> Settings:
        """The settings as they are now."""
        return self.value


class VaultGround:
    """What the pipeline asks of vault and index."""

    def __init__(self, layout: Layout, reader: VaultReader, mirror: Mirror, is_open: Callable[[], bool]) -> None:
        self._layout = layout
        self._reader = reader
        self._mirror = mirror
        self._is_open = is_open

    def is_open(self) -> bool:
        """Whether the index is open."""
        return self._is_open()

    def available(self) -> bool:
        """Whether the root is there and holds anything."""
        try:
            return any(self._layout.root.iterdir())
        except OSError:
            return False

    def stamp(self, path: NotePath) -> FileStamp | None:
        """What the directory says of a path."""
        return self._reader.stamp(path)

    def is_note(self, path: str) -> bool:
        """Whether a path may be a note."""
        return self._layout.is_note(path)

    def below(self, folder: NotePath) -> Iterable[NotePath]:
        """Notes on disk and in the index below a folder."""
        known = [row.path for row in self._mirror.below(folder)]
        return dict.fromkeys([*self._reader.below(folder), *known])

    def known(self, path: NotePath) -> bool:
        """Whether the index has a note at this path."""
        return self._mirror.by_path(path) is not None

    def missed(self, path: NotePath) -> bool:
        """Whether the index has a note at this path whose text stands nowhere else."""
        return self._mirror.is_only_one(path)

    def notes(self) -> int:
        """How many notes the index has."""
        return len(self._mirror)


@dataclass(slots=True)
class Core:
    """All objects of one daemon. The index is opened by `open_index`, which blocks for a while."""

    settings: LiveSettings
    state: Path
    layout: Layout
    reader: VaultReader
    writer: VaultWriter
    journal: Journal
    model: Model
    mirror: Mirror
    store: Store
    inbox: Inbox
    pipeline: Pipeline
    progress: Progress
    reinforce: Reinforce
    services: Services
    analyst: Analyst
    clock: Callable[[], datetime]
    zone: tzinfo
    scribe: Scribe
    tables: TableWriter | None = None
    indexer: Indexer | None = None
    queue: EmbeddingQueue | None = None
    fitted_to: int = 0
    _applying: threading.Lock = field(default_factory=threading.Lock)
    _closing: bool = False
    tail: LogTail = field(default_factory=LogTail)
    listeners: list[Callable[[BatchReport], None]] = field(default_factory=list)
    import_listeners: list[Callable[[ImportStatus], None]] = field(default_factory=list)

    def key_of(self, text: str) -> bytes:
        """The key of a passage: of its text alone, since each model has a table of its own."""
        return bytes.fromhex(embedding_key(text, ""))

    def open_index(self) -> None:
        """Fill the mirror, from what was kept at the last stop or from the tables. Blocks.

        Raises IndexUnavailable, StorageFull; it may be called again then.
        """
        self.journal.refresh()
        snapshot = self._snapshot()
        kept = snapshot.read() if snapshot is not None else None
        loaded, embeddings = kept or self._read_tables()
        self.mirror.load(loaded, self.reinforce.use_of)
        self._fit(embeddings)
        for keys, vectors, shares in embeddings:
            self.mirror.add_vectors(keys, vectors, shares)
        tables = TableWriter(
            self.store, {row.id for row in loaded.rows}, model=self._model_name, on_lost=self._put_all_anew
        )
        tables.start()
        self.indexer = Indexer(
            self.reader,
            self.place_of,
            self.mirror,
            tables,
            self.reinforce.use_of,
            self.key_of,
            self.zone,
            Ancestry(self.layout.root).is_elder,
            self.layout.is_note,
        )
        if self.model.embedder is not None:
            self.queue = EmbeddingQueue(
                self.model.embedder, self._body, self.mirror, tables, self.key_of, on_progress=self.refit
            )
        self._notice_another_reading()
        self.tables = tables

    @property
    def _model_name(self) -> str:
        return self.model.name or "none"

    def _notice_another_reading(self) -> None:
        """Rows say how notes were read; where the settings now read them otherwise, all are read anew."""
        vault, root = self.settings().vault, self.settings().memory.root
        reading = json.dumps([root, sorted(vault.exclude), str(self.zone)])
        kept = self.state / "reading.json"
        before = read_text(kept)
        if before is not None and before != reading:
            log.info("memory.root, vault.exclude or the time zone has changed; all notes are read anew")
            self._put_all_anew()
        if before != reading:
            write_text(kept, reading)

    def _snapshot(self) -> Snapshot | None:
        return None if self.store.folder is None else Snapshot(self.store.folder, self._model_name)

    def _read_tables(self) -> tuple[Loaded, list[Batch]]:
        """What the tables hold; on this machine, what cannot be read is made anew.

        Elsewhere, a storage that fails for a moment must not cost what lies there.
        """
        self.store.open(self._model_name)
        try:
            loaded = self.store.load()
        except IndexUnavailable as exc:
            if self.store.folder is None:
                raise
            log.warning("%s; it is made anew", exc)
            self.store.clear()
            loaded = self.store.load()
        try:
            return loaded, list(self.store.embeddings())
        except IndexUnavailable as exc:
            if self.store.folder is None:
                raise
            log.warning("%s; embeddings are made anew", exc)
            self.store.drop_embeddings_table()
            return loaded, []

    def _put_all_anew(self) -> None:
        """Have every note looked at as if the index did not know it. From any thread."""
        if self.indexer is not None:
            paths = [row.path for row in self.mirror.rows()]
            self.indexer.anew.update(paths)
            for path in paths:
                self.inbox.put(Touch(path, Ring.CHANGED))

    def begin_opening(self) -> Future[None]:
        """Have the index opened in a thread of its own, for which a stop need not wait."""
        return _in_thread(self.open_index, "opening")

    def _fit(self, batches: Sequence[Batch]) -> None:
        """Centre the vectors for this vault, before they come in."""
        if self.model.fit is not None and batches:
            vectors = np.concatenate([vectors for _, vectors, _ in batches])
            self.mirror.vectors.centre = self.model.fit(vectors, np.concatenate([shares for *_, shares in batches]))
            self.fitted_to = len(vectors)

    def refit(self) -> None:
        """Centre anew when the vault has grown by a quarter. Called by the thread that adds embeddings. Blocks."""
        if self.model.fit is None or len(self.mirror.vectors) < REFIT_GROWTH * self.fitted_to + REFIT_FROM:
            return
        if self.tables is None or not self.tables.flush():
            return
        try:
            batches = list(self.store.embeddings())
        except IndexUnavailable as exc:
            log.warning("%s", exc)
            return
        if not batches:
            return
        vectors = np.concatenate([vectors for _, vectors, _ in batches])
        centre = self.model.fit(vectors, np.concatenate([shares for *_, shares in batches]))
        self.mirror.recentre(centre, batches)
        self.fitted_to = len(vectors)

    @property
    def aside(self) -> tuple[NotePath, ...]:
        """Numbered copies of cloud drives that have no row."""
        return () if self.indexer is None else tuple(self.indexer.aside)

    def place_of(self, path: str) -> Place:
        """What a note's folder says of it."""
        return Place(self.layout.role_of(path), self.layout.folder_kind(path))

    def _body(self, path: NotePath) -> str | None:
        note = self.reader.read(path)
        return None if note is None else note.body

    def apply(self, paths: Sequence[NotePath], admits: Callable[[Sequence[NotePath]], bool]) -> BatchReport:
        """Have the indexer look at a batch. Blocks. Raises IndexUnavailable before the index is open, and after `close`."""
        with self._applying:
            if self.indexer is None or self._closing:
                raise IndexUnavailable("the index is not open")
            return self.indexer.apply(paths, admits)

    def on_batch(self, report: BatchReport) -> None:
        """A batch was applied: what changed gets its embeddings, and listeners hear of it."""
        if self.queue is not None and report.contents:
            self.queue.offer(report.contents)
        for listener in self.listeners:
            listener(report)

    def compare(self) -> Difference:
        """Vault against index. Blocks. Raises VaultUnavailable."""
        self.pipeline.demand_vault()
        self.layout.refresh()
        scan = self.reader.scan()
        found = difference(scan.stamps, self.mirror.rows())
        vanished = tuple(path for path in found.vanished if not scan.hides(path))
        aside = self.indexer.aside if self.indexer is not None else {}
        appeared = tuple(path for path in found.appeared if aside.get(path) != scan.stamps[path])
        self.progress.total = len(scan.stamps)
        return Difference(appeared, found.changed, vanished)

    def close(self) -> None:
        """Flush and let go; a batch that a thread is still at is over first. Blocks."""
        self._closing = True
        if self.queue is not None:
            self.queue.close()
        with self._applying:
            self._close_index()
        self.services.meaning.close()
        self.services.card_care.close()
        if self.model.embedder is not None:
            self.model.embedder.close()

    def _close_index(self) -> None:
        whole = self.tables is not None and self.tables.close()
        try:
            self.journal.flush()
        except VaultdError as exc:
            log.warning("%s", exc)
        if self.tables is None:  # its opening may still be under way, and is left alone
            return
        snapshot = self._snapshot()
        if snapshot is not None and whole:
            snapshot.keep(self.mirror, self.store.embeddings)
        elif snapshot is not None:
            snapshot.drop()  # what is wrong with the tables is noticed by who reads them
        self.store.close()
