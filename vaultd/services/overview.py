"""Everything a person wants to know about the health of the vault, at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vaultd.core.bucket import Kind
from vaultd.core.errors import VaultError
from vaultd.index.rows import Row
from vaultd.llm.analyst import Analyst
from vaultd.llm.budget import RequestBudget
from vaultd.services.forget import Fading, Forget
from vaultd.services.health import Health
from vaultd.services.logtail import LogLine, LogTail
from vaultd.services.waiting import Waiting, Waits
from vaultd.vault.layout import Layout
from vaultd.vault.reader import Skipped, VaultReader

SKIPPED_LASTS_S = 60.0  # a look through all folders is kept so long


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that counts recalls in this vault. `seen` is when it last wrote its journal."""

    id: str
    here: bool
    seen: datetime | None
    size: int


@dataclass(frozen=True, slots=True)
class Spend:
    """Requests to remote models today. `left` is None without a cap."""

    used_today: int
    cap: int
    left: int | None
    chat_model: str
    chat_available: bool
    embedding_problem: str


@dataclass(frozen=True, slots=True)
class Looked:
    """The health of a vault."""

    status: Mapping[str, object]
    kinds: Mapping[str, int]
    unresolved: int
    pinned: int
    cards: int
    own: int
    size_bytes: int
    problems: tuple[Row, ...]
    skipped: tuple[Skipped, ...]
    waiting: tuple[Waits, ...]
    forecast: tuple[Fading, ...]
    machines: tuple[Machine, ...]
    spend: Spend
    log: tuple[LogLine, ...]
    last_cycle_at: datetime | None


class Overview:
    """Reads only."""

    def __init__(
        self,
        health: Health,
        forget: Forget,
        waiting: Waiting,
        layout: Layout,
        reader: VaultReader,
        machine: str,
        budget: RequestBudget,
        analyst: Analyst,
        chat_model: Callable[[], str],
        tail: LogTail,
        clock: Callable[[], datetime],
    ) -> None:
        self._health = health
        self._forget = forget
        self._waiting = waiting
        self._layout = layout
        self._reader = reader
        self._machine = machine
        self._budget = budget
        self._analyst = analyst
        self._chat_model = chat_model
        self._tail = tail
        self._clock = clock
        self._skipped: tuple[float, tuple[Skipped, ...]] | None = None

    async def __call__(self, *, forecast_days: float = 30.0, log_lines: int = 100) -> Looked:
        """A look at everything."""
        waiting, skipped, machines = await asyncio.to_thread(self._from_disk)
        counts = self._health.counts()
        forecast = await asyncio.to_thread(self._forget.forecast, forecast_days)
        status = self._health.status()
        embedding = status.get("embedding")
        return Looked(
            status=status,
            kinds={kind.value: counts.kinds[kind] for kind in Kind},
            unresolved=counts.unresolved,
            pinned=counts.pinned,
            cards=counts.cards,
            own=counts.own,
            size_bytes=counts.size_bytes,
            problems=tuple(self._health.problems()),
            skipped=skipped,
            waiting=waiting,
            forecast=tuple(forecast),
            machines=machines,
            spend=Spend(
                used_today=self._budget.used_today,
                cap=self._budget.daily_cap,
                left=self._budget.left_today,
                chat_model=self._chat_model(),
                chat_available=self._analyst.available,
                embedding_problem=str(embedding.get("problem", "")) if isinstance(embedding, dict) else "",
            ),
            log=self._tail.lines(log_lines),
            last_cycle_at=self._forget.last_at,
        )

    def _from_disk(self) -> tuple[tuple[Waits, ...], tuple[Skipped, ...], tuple[Machine, ...]]:
        return tuple(self._waiting.all()), self._left_out(), self._machines()

    def _left_out(self) -> tuple[Skipped, ...]:
        """Files that look like notes and are none to us: conflict copies, evicted files, links out of the vault."""
        now = self._clock().timestamp()
        if self._skipped is None or now - self._skipped[0] > SKIPPED_LASTS_S:
            try:
                self._skipped = (now, self._reader.scan().skipped)
            except VaultError:
                return ()
        return self._skipped[1]

    def _machines(self) -> tuple[Machine, ...]:
        folder = self._layout.state_dir / "machines"
        found: list[Machine] = []
        try:
            places = sorted(place for place in folder.iterdir() if place.is_dir())
        except OSError:
            places = []
        for place in places:
            seen, size = _journal(place)
            found.append(Machine(place.name, place.name == self._machine, seen, size))
        return tuple(found)


def _journal(folder: Path) -> tuple[datetime | None, int]:
    try:
        stats = [place.stat() for place in folder.iterdir() if place.is_file()]
    except OSError:
        return None, 0
    if not stats:
        return None, 0
    newest = max(stat.st_mtime for stat in stats)
    return datetime.fromtimestamp(newest, UTC), sum(stat.st_size for stat in stats)
