"""An importer with fakes at its rims."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.services.importing.helpers import NOW, FakeAnalyst, FakeMemory, a_claude_export, blocks
from vaultd.core.errors import UnwritableNote
from vaultd.services.importing.hands import Hands
from vaultd.services.importing.importer import Importer
from vaultd.services.importing.jobs import ImportOptions
from vaultd.services.importing.preflight import Prices
from vaultd.services.importing.status import ImportStatus

TALKS = a_claude_export([("t1", ["I ran ten miles.", "Well done."]), ("t2", ["My sister called.", "How is she?"])])


class Desk:
    """An importer with fakes at its rims, on a state folder that outlives it."""

    def __init__(self, folder: Path, *, analyst: FakeAnalyst | None = None, memory: FakeMemory | None = None) -> None:
        self.folder = folder
        self.analyst = analyst or FakeAnalyst()
        self.memory = memory or FakeMemory()
        self.requests = 0
        self.waits: list[float] = []
        self.told: list[ImportStatus] = []
        self.sleeping: Callable[[], Awaitable[object]] = _at_once
        self.most_bytes = 1 << 20
        self.important: list[str] = []
        self.discarded: list[str] = []
        self.importer = self.another()

    def another(self) -> Importer:
        """A new importer on the same folder, as after a restart."""
        memory = self.memory
        hands = Hands(
            keep=memory.keep,
            near=memory.near,
            find=memory.find,
            adopt=memory.adopt,
            important=self._important,
            discard=self._discard,
        )
        self.importer = Importer(
            self.folder,
            analyst=self.analyst,  # type: ignore[arg-type]
            hands=hands,
            clock=lambda: NOW,
            rng=random.Random(7),
            prices=lambda: Prices(1.0, 2.0, "USD"),
            on_progress=self.told.append,
            sleep=self._sleep,
            most_upload_bytes=self.most_bytes,
        )
        return self.importer

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.sleeping()

    async def _important(self, note_id: str) -> None:
        self.important.append(note_id)

    async def _discard(self, note_id: str) -> None:
        if note_id == "id1":
            raise UnwritableNote("a.md", "the file is read-only")
        self.discarded.append(note_id)

    async def upload(self, raw: bytes = TALKS, name: str = "conversations.json") -> str:
        return (await self.importer.upload(blocks(raw), name)).job.id

    async def run(self, job_id: str, options: ImportOptions | None = None) -> ImportStatus:
        await self.importer.start(job_id, options)
        await self.importer.wait()
        return await self.importer.status(job_id)


async def _at_once() -> None:
    """No wait at all."""


class Counting(list[ImportStatus]):
    """A list that tells of each value it is given."""

    def __init__(self, tell: Callable[[ImportStatus], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, value: ImportStatus) -> None:
        super().append(value)
        self._tell(value)
