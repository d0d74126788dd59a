"""The forgetting cycle: resolve what nobody came back to, archive what has faded. And what is going to happen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from vaultd.core import properties as keys
from vaultd.core.bucket import Kind, Role
from vaultd.core.errors import BadInput, NoSuchMemory, VaultdError
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.scoring.decay import CyclePlan, DecayColumns, cycle, forecast
from vaultd.services.adoption import is_being_revived
from vaultd.services.scribe import Scribe
from vaultd.settings import Settings
from vaultd.vault.layout import Layout

log = logging.getLogger(__name__)

FORECAST_DAYS = (7, 30)


@dataclass(frozen=True, slots=True)
class CycleResult:
    """What a cycle did, or would do. `lowest_score` is None where nothing fades."""

    checked: int
    archived: int
    auto_resolved: int
    lowest_score: float | None
    failed: int
    dry_run: bool
    to_resolve: tuple[str, ...] = ()
    to_archive: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory that will be archived if nobody comes back to it. `held` by the importance floor."""

    id: str
    name: str
    days: float
    score: float
    importance: int
    held: bool


class Forget:
    """Runs cycles. Only the machine that owns the life cycle moves files."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        mirror: Mirror,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        owns_lifecycle: Callable[[], bool],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._mirror = mirror
        self._settings = settings
        self._clock = clock
        self._owns_lifecycle = owns_lifecycle
        self._running = asyncio.Lock()
        self.last: CycleResult | None = None
        self.last_at: datetime | None = None

    async def __call__(self, *, dry_run: bool = False) -> CycleResult:
        """One cycle; a note that fails is logged and skipped."""
        async with self._running:
            now = self._clock()
            ids, plan = await asyncio.to_thread(self._plan, now)
            to_resolve = tuple(ids[i] for i in plan.resolve)
            to_archive = tuple(ids[i] for i in plan.archive)
            reason = ""
            done, failed = (0, 0), 0
            if not dry_run and not self._owns_lifecycle():
                reason = "another machine owns the life cycle; `vaultd lifecycle claim` takes it over"
            elif not dry_run:
                done, failed = await self._carry_out(to_resolve, to_archive)
            result = CycleResult(
                checked=plan.checked,
                archived=len(to_archive) if dry_run else done[1],
                auto_resolved=len(to_resolve) if dry_run else done[0],
                lowest_score=None if plan.lowest is None else round(plan.lowest, 4),
                failed=failed,
                dry_run=dry_run,
                to_resolve=to_resolve,
                to_archive=to_archive,
                reason=reason,
            )
            if not dry_run:
                self.last, self.last_at = result, now
                log.info(
                    "forgetting cycle: checked %d, archived %d, resolved %d, failed %d",
                    result.checked,
                    result.archived,
                    result.auto_resolved,
                    result.failed,
                )
            return result

    def _plan(self, now: datetime) -> tuple[list[str], CyclePlan]:
        ids, columns = self._memories()
        return ids, cycle(columns, now.timestamp(), self._settings().decay.weights)

    def _memories(self) -> tuple[list[str], DecayColumns]:
        """Ids and columns of all buckets that may be written."""
        with self._mirror.lock:
            slots = np.flatnonzero(self._mirror.memories())
            rows = [self._mirror.at(int(slot)) for slot in slots]
            open_to_it = np.array([row.writable and not is_being_revived(row) for row in rows], np.bool_)
            columns = self._mirror.columns.decay().take(slots[open_to_it] if len(slots) else slots)
        return [row.id for row, chosen in zip(rows, open_to_it, strict=True) if chosen], columns

    async def _carry_out(self, to_resolve: tuple[str, ...], to_archive: tuple[str, ...]) -> tuple[tuple[int, int], int]:
        archived = resolved = failed = 0
        leaving = set(to_archive)
        for note_id in to_resolve:
            if note_id not in leaving:
                ok = await self._tried(note_id, self._resolve)
                resolved, failed = resolved + ok, failed + (not ok)
        resolving = set(to_resolve)
        for note_id in to_archive:
            both = note_id in resolving
            ok = await self._tried(note_id, self._archive_resolved if both else self._archive)
            archived, failed = archived + ok, failed + (not ok)
            resolved += ok and both
        return (resolved, archived), failed

    async def _tried(self, note_id: str, step: Callable[[str], object]) -> bool:
        try:
            await step(note_id)  # type: ignore[misc]
        except VaultdError as exc:
            log.warning("forgetting cycle: %s", exc)
            return False
        except Exception:
            log.exception("forgetting cycle: %s failed", note_id)
            return False
        return True

    async def _resolve(self, note_id: str) -> None:
        row = self._mirror.get(note_id)
        if row is not None:
            await self._scribe.set_properties(row.path, {keys.RESOLVED: True}, why="auto-resolve")

    async def _archive(self, note_id: str, *, resolve: bool = False) -> None:
        row = self._mirror.get(note_id)
        if row is None:
            return
        changes: dict[str, object] = {keys.TYPE: Kind.ARCHIVED.value}
        if resolve:
            changes[keys.RESOLVED] = True
        domain = row.domain[0] if row.domain else ""
        planned = self._layout.bucket_path(kind=Kind.ARCHIVED, domain=domain, name=row.name, note_id=row.id)
        target = NotePath(f"{planned.rpartition('/')[0]}/{row.path.rpartition('/')[2]}")
        await self._scribe.change_and_move(row.path, changes, target, why="archive")  # type: ignore[arg-type]

    async def archive(self, note_id: str) -> None:
        """Archive one memory now, because a person says so. Raises NoSuchMemory, BadInput, VaultError."""
        row = self._mirror.get(note_id)
        if row is None or row.role is not Role.BUCKET:
            raise NoSuchMemory(note_id)
        if row.is_core:
            raise BadInput("archived: a pinned or protected memory is not archived; unpin it first")
        if row.kind is not Kind.ARCHIVED:
            await self._archive(note_id)

    async def _archive_resolved(self, note_id: str) -> None:
        await self._archive(note_id, resolve=True)

    # -- what is going to happen ----------------------------------------------------------------------------------

    def forecast(self, days: float = FORECAST_DAYS[-1]) -> list[Fading]:
        """What will be archived within `days` if nobody comes back to it, soonest first. Blocks for a moment."""
        now = self._clock().timestamp()
        ids, columns = self._memories()
        weights = self._settings().decay.weights
        coming = forecast(columns, now, weights, days=days)
        scores = cycle(columns, now, weights).scores
        chosen = np.flatnonzero(np.isfinite(coming.archive_day))
        out: list[Fading] = []
        for i in chosen[np.argsort(coming.archive_day[chosen], kind="stable")]:
            row = self._mirror.get(ids[i])
            if row is not None:
                day = round(float(coming.archive_day[i]), 1)
                held = bool(coming.held[i])
                out.append(Fading(row.id, row.name, day, round(float(scores[i]), 3), row.importance, held))
        return out
