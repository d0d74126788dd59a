"""Put memories where they belong, many at once: topic areas for those without, folders for those that lie elsewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vaultd.core import properties as keys
from vaultd.core.bucket import UNSORTED_DOMAIN, Kind, Role
from vaultd.core.errors import BadInput, ModelError, VaultdError
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.llm.analyst import Analyst
from vaultd.scoring.domains import areas_of
from vaultd.services.scribe import Changes, Scribe
from vaultd.services.texts import Texts
from vaultd.vault.layout import Layout

log = logging.getLogger(__name__)

_SORTED_KINDS = (Kind.DYNAMIC, Kind.ARCHIVED)  # those whose folder is named by a topic area


@dataclass(frozen=True, slots=True)
class Step:
    """One memory: its topic areas before and after, its path before and after."""

    id: str
    name: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    path: NotePath
    target: NotePath


@dataclass(frozen=True, slots=True)
class Sorted:
    """What was done, or would be. `left` counts memories of which nothing can be said; `undo` takes all back at once."""

    steps: tuple[Step, ...]
    checked: int
    left: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    undo: str = ""
    dry_run: bool = False


class Sorting:
    """Runs one at a time; `progress` says how far: done, of how many."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        mirror: Mirror,
        texts: Texts,
        analyst: Analyst,
        owns_lifecycle: Callable[[], bool],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._mirror = mirror
        self._texts = texts
        self._analyst = analyst
        self._owns_lifecycle = owns_lifecycle
        self._one_at_a_time = asyncio.Lock()
        self.progress: tuple[int, int] = (0, 0)

    async def reclassify(self, *, by_model: bool = False, dry_run: bool = False) -> Sorted:
        """Give memories without a topic area one, by their words or by the chat model, and move them there.

        Raises BadInput where no chat model is set, or another machine owns the life cycle.
        """
        if by_model and not self._analyst.available:
            raise BadInput("no chat model is configured: set llm.api_key, or leave --llm out")
        async with self._one_at_a_time:
            unsorted = [row for row in self._memories() if not [one for one in row.domain if one != UNSORTED_DOMAIN]]
            steps: list[Step] = []
            failed: dict[str, str] = {}
            for number, row in enumerate(unsorted):
                self.progress = (number, len(unsorted))
                try:
                    areas = await self._areas(row, by_model=by_model)
                except ModelError as exc:
                    failed[row.id] = str(exc)
                    continue
                if areas:
                    steps.append(Step(row.id, row.name, row.domain, areas, row.path, self._target(row, areas)))
            left = len(unsorted) - len(steps) - len(failed)
            return await self._carried_out(
                Sorted(tuple(steps), len(unsorted), left, failed, dry_run=dry_run), why="reclassify"
            )

    async def migrate(self, *, dry_run: bool = False) -> Sorted:
        """Move memories that do not lie in the folder of their kind and first topic area into it.

        Raises BadInput where another machine owns the life cycle.
        """
        async with self._one_at_a_time:
            rows = self._memories()
            steps = [
                Step(row.id, row.name, row.domain, row.domain, row.path, target)
                for row in rows
                if (target := self._target(row, row.domain)) != row.path
            ]
            return await self._carried_out(Sorted(tuple(steps), len(rows), dry_run=dry_run), why="migrate")

    def _memories(self) -> list[Row]:
        with self._mirror.lock:
            rows = [row for row in self._mirror.having(Role.BUCKET) if row.kind in _SORTED_KINDS]
        return sorted((row for row in rows if row.writable), key=lambda row: row.path)

    async def _areas(self, row: Row, *, by_model: bool) -> tuple[str, ...]:
        (body,) = await self._texts.bodies([row.path])
        if not by_model:
            return areas_of(row.name, row.tags, body or "")
        annotation = await self._analyst.annotate(body or row.name)
        return tuple(area for area in annotation.domain if area != UNSORTED_DOMAIN)

    def _target(self, row: Row, areas: tuple[str, ...]) -> NotePath:
        """The folder where the memory belongs; its file keeps its name."""
        kind = row.kind or Kind.DYNAMIC
        planned = self._layout.bucket_path(
            kind=kind, domain=areas[0] if areas else UNSORTED_DOMAIN, name=row.name, note_id=row.id
        )
        wanted = NotePath(f"{planned.rpartition('/')[0]}/{row.path.rpartition('/')[2]}")
        return self._layout.spelled_on_disk(wanted)

    async def _carried_out(self, plan: Sorted, *, why: str) -> Sorted:
        if plan.dry_run or not plan.steps:
            return plan
        if not self._owns_lifecycle():
            raise BadInput("another machine owns the life cycle; `vaultd lifecycle claim` takes it over")
        done: list[Step] = []
        failed = dict(plan.failed)
        with self._scribe.together(why) as group:
            for number, step in enumerate(plan.steps):
                self.progress = (number, len(plan.steps))
                try:
                    done.append(await self._take(step, why))
                except VaultdError as exc:
                    log.warning("%s: %s", why, exc)
                    failed[step.id] = str(exc)
        self.progress = (len(plan.steps), len(plan.steps))
        return Sorted(tuple(done), plan.checked, plan.left, failed, undo=group if done else "")

    async def _take(self, step: Step, why: str) -> Step:
        changes: Changes = {keys.DOMAIN: list(step.after)} if step.after != step.before else {}
        if step.target == step.path:
            receipt = await self._scribe.set_properties(step.path, changes, why=why)
        elif changes:
            receipt = await self._scribe.change_and_move(step.path, changes, step.target, why=why)
        else:
            receipt = await self._scribe.move(step.path, step.target, why=why)
        return Step(step.id, step.name, step.before, step.after, step.path, receipt.path)
