"""How vaultd is: counts, the index, the queue, the vault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from vaultd.core.bucket import Bucket, Kind, Role
from vaultd.index.columns import ROLE_CODES
from vaultd.index.embedding import EmbeddingQueue
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.index.tables import TableWriter
from vaultd.scoring.decay import KIND_CODES, decay_scores
from vaultd.services.showing import IndexState
from vaultd.settings import Settings
from vaultd.watch.pipeline import Pipeline

LISTED = 200  # memories a page


@dataclass(slots=True)
class Progress:
    """What the daemon tells of its own work; written by the daemon, read by everyone."""

    started: datetime
    ready: bool = False
    total: int = 0
    last_reconcile: datetime | None = None
    missed: int = 0
    watcher_restarts: int = 0
    problem: str = ""  # of the index or the vault
    embedder: str = ""
    model_problem: str = ""  # why there is no embedding model, where there should be one


@dataclass(frozen=True, slots=True)
class Counts:
    """How many memories of each kind, and of each state."""

    kinds: dict[Kind, int]
    unresolved: int
    pinned: int
    cards: int
    own: int
    waiting: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list of memories."""

    bucket: Bucket
    score: float


class Health:
    """Reads only."""

    def __init__(
        self,
        mirror: Mirror,
        pipeline: Pipeline,
        tables: Callable[[], TableWriter | None],
        queue: Callable[[], EmbeddingQueue | None],
        progress: Progress,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        root: Path,
    ) -> None:
        self._mirror = mirror
        self._pipeline = pipeline
        self._tables = tables
        self._queue = queue
        self._settings = settings
        self._clock = clock
        self._root = root
        self.progress = progress

    async def opened(self) -> None:
        """Returns once the index has been read after a start. Raises IndexUnavailable, StorageFull."""
        await self._pipeline.opened()

    def index_state(self) -> IndexState:
        """How far the index is."""
        queue = self._queue()
        waiting = self._pipeline.waiting if not self.progress.ready else 0
        done = len(self._mirror)
        return IndexState(
            done=done,
            total=max(self.progress.total, done + waiting) if not self.progress.ready else done,
            pending=queue.pending if queue else 0,
            failed=queue.failed if queue else 0,
            vault_available=self._pipeline.vault_available,
        )

    @property
    def embedding_problem(self) -> str:
        """Why embeddings are behind or not there, "" where that is as it should be."""
        queue = self._queue()
        return queue.problem if queue else self.progress.model_problem

    def counts(self) -> Counts:
        """Memories by kind and state, and the bytes of all notes."""
        with self._mirror.lock:
            columns = self._mirror.columns
            memories = self._mirror.memories()
            kinds = {kind: int(((columns.kind == KIND_CODES[kind]) & memories).sum()) for kind in Kind}
            live = memories & (columns.kind == KIND_CODES[Kind.DYNAMIC])
            return Counts(
                kinds=kinds,
                unresolved=int((live & ~columns.resolved).sum()),
                pinned=int((memories & columns.pinned).sum()),
                cards=int((columns.role == ROLE_CODES[Role.CARD]).sum()),
                own=int((columns.role == ROLE_CODES[Role.OWN]).sum()),
                waiting=int((columns.role == ROLE_CODES[Role.WAITING]).sum()),
                size_bytes=sum(row.stamp.size for row in self._mirror.rows() if row.role is not Role.OWN),
            )

    def memories(self, *, include_archive: bool) -> list[Listed]:
        """All memories with their decay scores, most alive first."""
        now = self._clock()
        with self._mirror.lock:
            columns = self._mirror.columns
            scores = decay_scores(columns.decay(), now.timestamp(), self._settings().decay.weights)
            mask = self._mirror.memories()
            if not include_archive:
                mask = mask & (columns.kind != KIND_CODES[Kind.ARCHIVED])
            slots = np.flatnonzero(mask)
            slots = slots[np.argsort(-scores[slots], kind="stable")]
            rows = [(self._mirror.at(int(slot)), int(slot)) for slot in slots]
            return [
                Listed(
                    row.bucket(float(columns.activation_count[slot]), float(columns.last_active[slot])),
                    float(scores[slot]),
                )
                for row, slot in rows
            ]

    def rows(self) -> list[Row]:
        """All rows of the index."""
        return list(self._mirror.rows())

    def problems(self) -> list[Row]:
        """Notes that cannot wholly be read."""
        return [row for row in self._mirror.rows() if row.problem]

    def status(self) -> dict[str, object]:
        """What `vaultd status --json` prints, but for url, port and pid, which the daemon adds."""
        state = self.index_state()
        tables = self._tables()
        queue = self._queue()
        progress = self.progress
        reconciled = progress.last_reconcile
        since = self._pipeline.since_event_s()
        return {
            "vault": str(self._root),
            "ready": progress.ready,
            "vault_available": self._pipeline.vault_available,
            "notes": len(self._mirror),
            "total": state.total,
            "waiting": self._pipeline.waiting,
            "pending": state.pending,
            "failed": state.failed + self._pipeline.counters.failed,
            "problems": len(self.problems()),
            "lag_s": round(self._pipeline.lag_s(), 3),
            "last_event": None if since is None else (self._clock() - timedelta(seconds=since)).isoformat(),
            "last_reconcile": reconciled.isoformat() if reconciled else None,
            "missed": progress.missed,
            "held_deletions": self._pipeline.held_deletions,
            "watcher_restarts": progress.watcher_restarts,
            "embedding": {
                "model": progress.embedder or "none",
                "done": queue.done if queue else 0,
                "problem": self.embedding_problem,
            },
            "index_problem": (tables.problem if tables else "") or progress.problem,
            "started": progress.started.isoformat(),
        }
