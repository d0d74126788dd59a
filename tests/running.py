"""A daemon's core in this process: real files, real tables, a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np

from tests.fakes import FakeAnalyst, FakeClock, FakeEmbedder
from vaultd.compose import compose
from vaultd.core.note import NotePath
from vaultd.embedding import Model
from vaultd.engine import Core
from vaultd.index.vectors import as_they_are
from vaultd.llm.calibration import Similarity
from vaultd.settings import Settings
from vaultd.watch.observer import VaultObserver

LINEAR = Similarity((0.0, 1.0), (0.0, 1.0))


@dataclasses.dataclass
class Running:
    """A core with its rims at hand."""

    core: Core
    clock: FakeClock
    embedder: FakeEmbedder
    analyst: FakeAnalyst
    vault: Path

    async def look(self, *paths: str) -> None:
        """Have these paths looked at now."""
        await self.core.pipeline.look(*(NotePath(path) for path in paths))

    async def write(self, path: str, text: str | bytes) -> None:
        """Write a file as a person would, and have it looked at."""
        place = self.vault / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        await self.look(path)

    async def reconcile(self) -> int:
        """Compare vault and index in full; how many paths differed."""
        found = await asyncio.to_thread(self.core.compare)
        self.core.pipeline.put_all(found.paths)
        await self.core.pipeline.idle()
        return len(found)

    async def embedded(self) -> None:
        """Wait until no passage waits for its embedding."""
        if self.core.queue is not None:
            assert await asyncio.to_thread(self.core.queue.wait_idle, 20)

    def read(self, path: str) -> str:
        """A file's text as it lies there."""
        return (self.vault / path).read_text(encoding="utf-8")

    def ids(self) -> set[str]:
        """The ids in the index."""
        return {row.id for row in self.core.mirror.rows()}


@contextlib.asynccontextmanager
async def running(
    tmp_path: Path,
    *,
    settings: Settings | None = None,
    clock: FakeClock | None = None,
    embedder: FakeEmbedder | None = None,
    no_model: bool = False,
    analyst: FakeAnalyst | None = None,
    watch: bool = False,
    seed: int = 1,
    fit=None,
    compare: bool = True,
) -> AsyncIterator[Running]:
    """A core over tmp_path/vault with its state in tmp_path/state; both may be there already."""
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir(exist_ok=True)
    state.mkdir(exist_ok=True)
    base = settings or Settings()
    clock = clock or FakeClock()
    embedder = embedder or FakeEmbedder()
    analyst = analyst or FakeAnalyst()
    core = compose(
        dataclasses.replace(base, vault=dataclasses.replace(base.vault, path=vault)),
        state,
        clock=clock,
        rng=random.Random(seed),
        model=Model(None if no_model else embedder, as_they_are, LINEAR, fit=fit),
        analyst=analyst,
    )
    await asyncio.to_thread(core.open_index)
    consumer = asyncio.create_task(core.pipeline.run())
    observer = None
    if watch:
        observer = VaultObserver(
            vault,
            core.inbox,
            is_note=core.layout.is_note,
            is_folder=lambda path: not core.layout.is_ignored_dir(path),
            lost=lambda: None,
        )
        observer.start()
    if core.queue is not None:
        core.queue.start()
        core.queue.offer_pending()
    one = Running(core, clock, embedder, analyst, vault)
    try:
        if compare:
            await one.reconcile()
        core.progress.ready = True
        yield one
    finally:
        consumer.cancel()
        await asyncio.gather(consumer, return_exceptions=True)
        if observer is not None:
            await asyncio.to_thread(observer.stop)
        await asyncio.to_thread(core.close)


def snapshot(core: Core) -> dict[str, tuple]:
    """All that the index says of each note, to be compared with another index of the same vault."""
    out = {}
    for row in core.mirror.rows():
        slot = core.mirror.slot_of(row.id)
        refs = core.mirror.vectors.passages(slot)
        vectors = [core.mirror.vectors.vector(ref.key) for ref in refs]
        out[row.id] = (
            dataclasses.replace(row, stamp=dataclasses.replace(row.stamp, mtime_ns=0, inode=0)),
            tuple((ref.key, ref.start, ref.end) for ref in refs),
            tuple(None if v is None else tuple(np.round(v, 5).tolist()) for v in vectors),
            round(core.mirror.activation_count(row.id), 6),
            round(core.mirror.last_active(row.id), 3),
        )
    return out
