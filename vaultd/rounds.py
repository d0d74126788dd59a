"""What the daemon does by the clock, and its watcher: comparing, forgetting, keeping house, waking after sleep."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from vaultd.config.lastruns import Runs
from vaultd.config.systemd import notify, watchdog_s
from vaultd.core.errors import VaultdError, VaultUnavailable
from vaultd.engine import Core
from vaultd.frugal import give_back, give_back_code
from vaultd.services.forget import CycleResult
from vaultd.watch.observer import VaultObserver

log = logging.getLogger("vaultd")

HEARTBEAT_S = 60  # wakes the scheduler after the machine slept
JOURNAL_FLUSH_S = 5
WATCH_CHECK_S = 15
DRIFT_SETTLE_S = 3.0  # a difference younger than this may be an event under way
WAKE_GAP_S = 180.0
WAITING_RETRY_S = 30
HOUSEKEEPING_S = 30
RESTED_S = 15.0
TABLE_LIBRARIES = ("_lancedb", "libarrow", "libparquet")
FIRST_CYCLE_DELAY = timedelta(minutes=2)  # after a start that finds a cycle missed


class Rounds:
    """Each round is a method that the scheduler calls. `forgotten` hears what a cycle of forgetting did."""

    def __init__(self, core: Core, runs: Runs, *, forgotten: Callable[[CycleResult], None]) -> None:
        self._core = core
        self._runs = runs
        self._forgotten = forgotten
        self._observer: VaultObserver | None = None
        self._reconciling = asyncio.Lock()
        self._lost = threading.Event()
        self._last_beat = 0.0
        self._given_back_of: float | None = None
        self._settings = core.settings()
        self._scheduler = AsyncIOScheduler(
            timezone=core.zone, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )

    def begin(self) -> None:
        """Let the clock call every round. Call it in the event loop."""
        scheduler = self._scheduler
        scheduler.add_job(self._heartbeat, "interval", seconds=HEARTBEAT_S, id="heartbeat")
        scheduler.add_job(self._flush_journal, "interval", seconds=JOURNAL_FLUSH_S, id="journal")
        scheduler.add_job(self._check_watcher, "interval", seconds=WATCH_CHECK_S, id="watcher")
        scheduler.add_job(
            self.reconcile,
            "interval",
            minutes=self._settings.watch.reconcile_minutes,
            id="reconcile",
            args=["periodic"],
        )

        self._schedule_memory(scheduler)
        if (every := watchdog_s()) is not None:
            scheduler.add_job(self._feed_watchdog, "interval", seconds=every, id="watchdog")
        scheduler.start()

    def end(self) -> None:
        """No further round; those under way go on."""
        self._scheduler.shutdown(wait=False)

    def _schedule_memory(self, scheduler: AsyncIOScheduler) -> None:
        now = self._core.clock()
        hours = self._settings.decay.check_interval_hours
        last = self._runs.last("forget")
        due = (
            now + timedelta(hours=hours)
            if last is None
            else max(last + timedelta(hours=hours), now + FIRST_CYCLE_DELAY)
        )
        scheduler.add_job(self._forget, "interval", hours=hours, id="forget", next_run_time=due)
        scheduler.add_job(self._retry_waiting, "interval", seconds=WAITING_RETRY_S, id="waiting")
        scheduler.add_job(self._keep_house, "interval", seconds=HOUSEKEEPING_S, id="housekeeping")

    def watch(self) -> None:
        """Begin to watch the vault. Blocks."""
        core = self._core
        self._observer = VaultObserver(
            core.layout.root,
            core.inbox,
            is_note=core.layout.is_note,
            is_folder=lambda path: not core.layout.is_ignored_dir(path),
            lost=self._lost.set,
            polling=self._settings.watch.mode == "polling",
        )
        with contextlib.suppress(OSError):  # it is tried again with every look at the watcher
            self._observer.start()

    def stop_watching(self) -> None:
        """End the watcher. Blocks."""
        if self._observer is not None:
            self._observer.stop()

    async def reconcile(self, why: str) -> None:
        """Compare vault and index in full; a difference that no event announced is counted as missed."""
        core = self._core
        if core.indexer is None or self._reconciling.locked():
            return
        async with self._reconciling:
            try:
                found = await asyncio.to_thread(core.compare)
                if found and why not in ("start", "asked for"):
                    await asyncio.sleep(DRIFT_SETTLE_S)
                    with contextlib.suppress(TimeoutError):  # where something changes all the time
                        async with asyncio.timeout(DRIFT_SETTLE_S):
                            await core.pipeline.idle()
                    found = (await asyncio.to_thread(core.compare)).lasting_since(found)
            except VaultUnavailable as exc:
                core.progress.problem = str(exc)
                log.warning("%s", exc)
                return
            core.progress.problem = ""
            core.progress.last_reconcile = core.clock()
            if not found:
                return
            if why != "start":
                core.progress.missed += len(found)
                log.warning("reconcile (%s) found %d differences that no event announced", why, len(found))
                await asyncio.to_thread(self._restart_watcher)
            core.pipeline.put_all(found.paths)

    def _restart_watcher(self) -> None:
        if self._observer is not None:
            with contextlib.suppress(OSError):
                self._observer.restart()
                self._core.progress.watcher_restarts += 1

    async def _check_watcher(self) -> None:
        if self._observer is None:
            return
        if self._lost.is_set():
            self._lost.clear()
            await asyncio.to_thread(self._restart_watcher)
            await self.reconcile("events may be lost")
        elif not self._observer.alive:
            log.warning("the watcher had ended; it is started anew")
            await asyncio.to_thread(self._restart_watcher)
            await self.reconcile("the watcher had ended")

    async def _heartbeat(self) -> None:
        now = self._core.clock()
        slept = self._last_beat and now.timestamp() - self._last_beat > WAKE_GAP_S
        self._last_beat = now.timestamp()
        if slept:
            await self.reconcile("woken from sleep")
        await asyncio.to_thread(give_back)
        await self._give_back_of_tables()

    async def _give_back_of_tables(self) -> None:
        """Where the tables have rested for a while since they were last written, their libraries' code is let go."""
        tables = self._core.tables
        worked_at = None if tables is None else tables.worked_at
        if worked_at in (None, self._given_back_of) or time.monotonic() - worked_at < RESTED_S:
            return
        self._given_back_of = worked_at
        await asyncio.to_thread(give_back_code, TABLE_LIBRARIES)

    async def _forget(self) -> None:
        if not self._core.progress.ready or not self._core.pipeline.vault_available:
            return
        result = await self._core.services.forget()
        self._runs.note("forget", self._core.clock())
        self._forgotten(result)

    async def _keep_house(self) -> None:
        core = self._core
        if not core.progress.ready or not core.pipeline.vault_available:
            return
        try:
            await core.services.housekeeping()
            await core.services.card_care()
        except VaultdError as exc:
            log.warning("housekeeping stopped: %s", exc)

    async def _retry_waiting(self) -> None:
        core = self._core
        if core.progress.ready and core.analyst.available:
            await core.services.waiting.retry(core.services.diary.split)

    async def _feed_watchdog(self) -> None:
        """On the loop: a daemon whose loop hangs is started anew."""
        notify("WATCHDOG=1")

    async def _flush_journal(self) -> None:
        await asyncio.to_thread(self._core.journal.flush)
