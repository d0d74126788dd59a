"""Read every note again, as if the index were new; ask again for embeddings that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vaultd.core.errors import IndexUnavailable
from vaultd.index.embedding import EmbeddingQueue
from vaultd.index.indexer import Indexer
from vaultd.index.mirror import Mirror
from vaultd.vault.reader import VaultReader
from vaultd.watch.pipeline import Pipeline


class Reindexing:
    """Answers stay whole meanwhile: a note's row is replaced when the note has been read."""

    def __init__(
        self,
        reader: VaultReader,
        mirror: Mirror,
        pipeline: Pipeline,
        indexer: Callable[[], Indexer | None],
        queue: Callable[[], EmbeddingQueue | None],
    ) -> None:
        self._reader = reader
        self._mirror = mirror
        self._pipeline = pipeline
        self._indexer = indexer
        self._queue = queue

    async def __call__(self, *, dry_run: bool = False) -> int:
        """Have all notes read anew, in the background; how many. Raises IndexUnavailable, VaultUnavailable."""
        indexer = self._indexer()
        if indexer is None:
            raise IndexUnavailable("the index is not open yet; see `vaultd status`")
        scan = await asyncio.to_thread(self._reader.scan)
        with self._mirror.lock:
            known = [row.path for row in self._mirror.rows()]
        paths = dict.fromkeys([*scan.stamps, *known])
        if not dry_run:
            indexer.anew.update(paths)
            self._pipeline.put_all(paths)
        return len(paths)

    def embeddings(self, *, dry_run: bool = False) -> int:
        """Ask again for what has no embedding, what failed before included; how many passages. Raises IndexUnavailable."""
        queue = self._queue()
        if queue is None:
            raise IndexUnavailable("embeddings are off, or their model is not there; see `vaultd status`")
        if dry_run:
            return queue.pending + queue.failed
        queue.offer_pending()
        return queue.pending
