"""What is written into notes when they are quiet: counters, a new note's properties, moves that an edit asks for.

A round is cheap where nothing is to be done: it looks at the rows that changed since, and reads a file only where its
row tells that it may lack something. What was refused is not tried again until the file changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from vaultd.core.bucket import Kind, Role
from vaultd.core.errors import LostRace, UnwritableNote
from vaultd.core.note import NotePath
from vaultd.index.indexer import BatchReport
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.services.active import ActiveFiles
from vaultd.services.adoption import may_want, wanted
from vaultd.services.projection import KEPT_AFTER_DELETION, Moments, gain, period
from vaultd.services.refusals import Refusals
from vaultd.services.reinforce import Reinforce
from vaultd.services.scribe import Scribe
from vaultd.settings import Settings
from vaultd.vault import codec, sync
from vaultd.vault.journal import Journal
from vaultd.vault.layout import Layout
from vaultd.vault.log import WriteLog
from vaultd.vault.reader import VaultReader

log = logging.getLogger(__name__)

PROJECTED_A_ROUND: Final = 200  # notes: thousands that one conversation touched must not keep other writers waiting
PROJECTIONS_REMEMBERED: Final = timedelta(days=400)
LOG_COMPACTED_EVERY: Final = timedelta(hours=6)


@dataclass(slots=True)
class Round:
    """What a round did. `waiting` are notes that it left for later; `held` says why nothing at all was written."""

    projected: int = 0
    adopted: int = 0
    moved: int = 0
    refused: list[str] = field(default_factory=list)
    waiting: int = 0
    held: str = ""


@dataclass(frozen=True, slots=True)
class _Task:
    row: Row
    folder: Kind
    lacks: bool
    owed: bool


class Housekeeping:
    """Rounds over the memories. Call `heard` with every batch, `__call__` now and then."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        reader: VaultReader,
        mirror: Mirror,
        journal: Journal,
        reinforce: Reinforce,
        active: ActiveFiles,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
        owns_lifecycle: Callable[[], bool],
        write_log: WriteLog,
        state: Path,
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._reader = reader
        self._mirror = mirror
        self._journal = journal
        self._reinforce = reinforce
        self._active = active
        self._settings = settings
        self._clock = clock
        self._owns_lifecycle = owns_lifecycle
        self._write_log = write_log
        self._started = self._compacted = clock()
        self._changed = mirror.follow()
        self._open: set[str] = set()  # notes that are yet to be looked at, or for which something is yet to be done
        self._touched: dict[str, datetime] = {}
        self._whole: dict[str, str] = {}
        self._refusals = Refusals(clock)
        self._disputed: dict[str, frozenset[str]] = {}
        self._projected = Moments(state / "projected.json")
        self._gone = Moments(state / "gone.json")
        self._running = asyncio.Lock()

    def heard(self, report: BatchReport) -> None:
        """A batch was applied: these notes are not quiet now."""
        now = self._clock()
        for note_id in report.put:
            self._touched[note_id] = now
        self._gone.drop(report.put)
        for row in report.removed:
            self._touched.pop(row.id, None)
            self._whole.pop(row.id, None)
            self._refusals.drop(row.id)
            if self._mirror.get(row.id) is None and self._reinforce.use_of(row.id).activations:
                self._gone.note(row.id, now)

    async def __call__(self) -> Round:
        """One round. Raises StorageFull where the disk takes nothing any more."""
        async with self._running:
            done = Round()
            await asyncio.to_thread(self._refresh)
            merging = sync.merge_under_way(self._layout.root)
            if merging is not None:
                done.held = f"a git {merging} is under way"
                return done
            self._disputed.clear()
            self._open |= self._changed.take()
            if sync.is_git_synced(self._layout.root):
                # a commit since may say that the copy was there first
                await self._scribe.look(*(row.path for row in self._looked_for() if row.copied))
            todo = await asyncio.to_thread(self._todo)
            for task in todo:
                await self._tried(task, done)
            await asyncio.to_thread(self._tidy)
            return done

    def _refresh(self) -> None:
        """Take in what other machines counted meanwhile."""
        for note_id in self._journal.refresh():
            with self._mirror.lock:  # a recall in between would be added to the count before it
                self._mirror.set_use(note_id, self._reinforce.use_of(note_id))

    def _tidy(self) -> None:
        """Let go of counts of notes that are gone for good, and of moments that no longer matter."""
        now = self._clock()
        gone = self._gone.before(now - KEPT_AFTER_DELETION)
        if self._journal.drop([note_id for note_id in gone if self._mirror.get(note_id) is None]):
            self._gone.drop(gone)
        self._projected.drop(self._projected.before(now - PROJECTIONS_REMEMBERED))
        self._projected.save()
        self._gone.save()
        if now - self._compacted >= LOG_COMPACTED_EVERY:
            self._compacted = now
            self._write_log.compact(now=now)

    # -- what is to be done ---------------------------------------------------------------------------------------

    def _looked_for(self) -> list[Row]:
        """The rows that a round looks at; an id without a row is let go."""
        rows = {note_id: self._mirror.get(note_id) for note_id in self._open}
        self._open.intersection_update(note_id for note_id, row in rows.items() if row is not None)
        return sorted((row for row in rows.values() if row is not None), key=lambda row: row.path)

    def _todo(self) -> list[_Task]:
        mine = self._owns_lifecycle()
        in_git = sync.is_git_synced(self._layout.root)
        every = period(self._settings().journal.project_every_s, in_git=in_git)
        tasks: list[_Task] = []
        for row in self._looked_for():
            folder = self._layout.folder_kind(row.path)
            if row.role is not Role.BUCKET or row.stale or not row.writable or folder is None:
                wants = owes = False
            else:
                wants = may_want(row, folder) and self._whole.get(row.id) != row.checksum
                owes = bool(gain(row, self._mirror))
            if not (wants or owes or row.copied):
                self._open.discard(row.id)  # until it changes
                continue
            if folder is None or self._refusals.holds(row):
                continue
            lacks = wants and mine
            owed = owes and self._is_due(row, every)
            if lacks or owed:
                tasks.append(_Task(row, folder, lacks=lacks, owed=owed))
        return tasks

    def _is_due(self, row: Row, every: timedelta) -> bool:
        last = self._projected.get(row.id)
        return last is None or self._clock() - last >= every

    def _may_be_written(self, row: Row) -> bool:
        return self._is_quiet(row) and not self._active.is_active(row.path) and not self._is_disputed(row.path)

    def _is_quiet(self, row: Row) -> bool:
        """Whether the note was left alone for long enough, by what was seen and by what its file says."""
        now = self._clock()
        changed = datetime.fromtimestamp(row.stamp.mtime_ns / 1e9, UTC)
        if changed > now:
            changed = self._started
        last = max(changed, self._touched.get(row.id, changed))
        return now - last >= timedelta(seconds=self._settings().journal.quiet_s)

    def _is_disputed(self, path: NotePath) -> bool:
        """Whether a sync tool put another version of this note beside it."""
        folder = path.rpartition("/")[0]
        if folder not in self._disputed:
            self._disputed[folder] = frozenset(self._originals_of_copies(folder))
        return path in self._disputed[folder]

    def _originals_of_copies(self, folder: str) -> Iterator[str]:
        try:
            names = [entry.name for entry in self._layout.absolute(folder).iterdir()]
        except OSError:
            return
        for name in names:
            original = sync.conflict_original(f"{folder}/{name}")
            if original is not None:
                yield original

    # -- doing it -------------------------------------------------------------------------------------------------

    async def _tried(self, task: _Task, done: Round) -> None:
        row = task.row
        later = done.projected >= PROJECTED_A_ROUND and not task.lacks
        if later or not self._may_be_written(row):
            done.waiting += 1
            return
        try:
            if task.lacks:
                await self._complete(row, task.folder, done)
            if task.owed:
                await self._project(row.id, done)
        except LostRace:
            done.waiting += 1
        except UnwritableNote as exc:
            self._refusals.note(row)
            done.refused.append(str(exc))
            log.warning("%s", exc)

    async def _complete(self, row: Row, folder: Kind, done: Round) -> None:
        note = await asyncio.to_thread(self._reader.read, row.path)
        if note is None or note.checksum != row.checksum:
            raise LostRace(row.path)
        want = wanted(row, folder, note.properties, self._clock())
        if want.nothing:
            self._whole[row.id] = row.checksum
            return

        def edit(raw: bytes) -> bytes:
            if codec.checksum(raw) != row.checksum:
                raise LostRace(row.path)  # what was typed meanwhile was not weighed; the next round does so
            return codec.set_properties(row.path, raw, want.changes)

        if want.moves:
            await self._scribe.edit_and_move(row.path, edit, self._target(row, want.kind), why="housekeeping")
            done.moved += 1
        else:
            await self._scribe.change(row.path, edit, why="housekeeping")
            done.adopted += 1

    def _target(self, row: Row, kind: Kind) -> NotePath:
        domain = row.domain[0] if row.domain else ""
        planned = self._layout.bucket_path(kind=kind, domain=domain, name=row.name, note_id=row.id)
        return NotePath(f"{planned.rpartition('/')[0]}/{row.path.rpartition('/')[2]}")

    async def _project(self, note_id: str, done: Round) -> None:
        row = self._mirror.get(note_id)
        changes = gain(row, self._mirror) if row is not None else {}
        if row is None or not changes:
            return
        await self._scribe.set_properties(row.path, changes, why="counters")
        self._projected.note(row.id, self._clock())
        done.projected += 1
