"""Start, run, stop, in order; owns the one lifespan."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.metadata
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from vaultd.config.lastruns import Runs
from vaultd.config.runtime import Runtime, remove_runtime, write_runtime
from vaultd.config.systemd import notify, watchdog_s
from vaultd.config.tokens import scoped_tokens
from vaultd.core.errors import VaultdError, VaultUnavailable
from vaultd.core.query import Query
from vaultd.engine import Core
from vaultd.frugal import give_back
from vaultd.index.indexer import BatchReport
from vaultd.tools import bridge
from vaultd.tools.closing import end_sessions
from vaultd.vault.atomic import remove_leftovers
from vaultd.watch.observer import VaultObserver
from vaultd.web.app import MOST_MESSAGE_BYTES, WebParts, build_app
from vaultd.web.auth import Auth, Token
from vaultd.web.credentials import sight_of
from vaultd.web.drain import Closing
from vaultd.web.events import EventHub
from vaultd.web.guards import ServerNames
from vaultd.web.oauth import OAuth
from vaultd.web.server import WebServer, base_url

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp

log = logging.getLogger("vaultd")

HEARTBEAT_S = 60  # wakes the scheduler after the machine slept
JOURNAL_FLUSH_S = 5
WATCH_CHECK_S = 15
OPEN_RETRY_S = (1.0, 30.0)  # doubled from the first to the last
DRIFT_SETTLE_S = 3.0  # a difference younger than this may be an event under way
WAKE_GAP_S = 180.0
WAITING_RETRY_S = 30
HOUSEKEEPING_S = 30
FIRST_CYCLE_DELAY = timedelta(minutes=2)  # after a start that finds a cycle missed
MOST_IDS_TOLD = 100
BAR_AFTER_S = 1.0  # most first indexes are over by then
BAR_EVERY_S = 0.2


Bar = Callable[[str, int | None], contextlib.AbstractContextManager[Callable[[int], None]]]
"""Shows how far a task is: its name and how much there is of it → what is called with how much is done."""


class Daemon:
    """One vault's daemon: index and watcher behind, one port in front. `opened`: the index of `core` is open."""

    def __init__(
        self,
        core: Core,
        opened: Future[None],
        vault: Path,
        state: Path,
        token: str,
        listener: socket.socket,
        progress_bar: Bar | None = None,
    ) -> None:
        self.core = core
        self._opened = opened
        self._progress_bar = progress_bar
        self._settings = core.settings()
        self._vault = vault
        self._state = state
        self._token = token
        self._listener = listener
        self._closing = Closing()
        self._observer: VaultObserver | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._reconciling = asyncio.Lock()
        self._lost = threading.Event()
        self._last_beat = 0.0
        self._runs = Runs(state / "runs.json")

    def _scoped(self) -> list[Token]:
        tokens = scoped_tokens(self._state)
        return [Token(f"scope {scope}", value, scope=scope) for scope, value in tokens.items()]

    async def run(self) -> int:
        """Until a signal."""
        logging.getLogger().addHandler(self.core.tail)
        self.core.import_listeners.append(lambda status: self._events.publish("import", status.written()))
        host, port = self._settings.server.host, self._listener.getsockname()[1]
        url = base_url(host, port)
        auth = Auth(
            [Token("owner", self._token), *self._scoped()],
            clock=self.core.clock,
            sessions_path=self._state / "sessions.json",
        )
        self._auth, self._url = auth, url
        events = self._events = EventHub(closing=self._closing)
        self.core.listeners.append(self._tell_changes)
        names = ServerNames.of(self._settings.server)
        app = build_app(self._parts(auth, names, events, port, url))
        behind_proxy = bool(self._settings.server.public_url)
        server = WebServer(app, listener=self._listener, closing=self._closing, behind_proxy=behind_proxy)
        runtime = Runtime(
            pid=os.getpid(),
            url=url,
            port=port,
            token=self._token,
            vault=str(self._vault),
            started=self.core.clock().isoformat(timespec="seconds"),
        )
        write_runtime(self._state, runtime)
        try:
            self._spawn(self._announce(server, runtime))
            await server.serve_until_closed()
        finally:
            remove_runtime(self._state, os.getpid())
        return 0

    def _parts(self, auth: Auth, names: ServerNames, events: EventHub, port: int, url: str) -> WebParts:
        from vaultd.tools import render
        from vaultd.tools.server import build_server

        version = importlib.metadata.version("vaultd")
        self._mcp = build_server(
            self.core.services,
            language=lambda: self.core.settings().language,
            version=version,
            sight_of=sight_of,
        )
        mcp_app: ASGIApp = self._mcp.streamable_http_app(
            transport_security=_no_second_guard(), max_request_body_size=MOST_MESSAGE_BYTES
        )

        def status() -> dict[str, object]:
            head = {"url": url, "port": port, "pid": os.getpid(), "version": version}
            return head | self.core.services.health.status()

        async def breath() -> str:
            query = Query()
            return render.answer(await self.core.services.answer(query), query, self.core.settings().language)

        async def dream() -> str:
            return render.reflection(await self.core.services.reflect(), self.core.settings().language)

        return WebParts(
            services=self.core.services,
            auth=auth,
            names=names,
            closing=self._closing,
            events=events,
            status=status,
            mcp_app=mcp_app,
            oauth=self._oauth(auth),
            lifespan=self._lifespan,
            version=version,
            confirm_deletions=self.core.pipeline.confirm_deletions,
            breath=breath,
            dream=dream,
            reconcile=lambda: self._spawn(self._reconcile("asked for")),
        )

    def _oauth(self, auth: Auth) -> OAuth | None:
        """For connectors from outside, who need an address to come to."""
        public_url = self._settings.server.public_url
        if not public_url:
            return None
        return OAuth(public_url, auth, self._state / "connectors.json", clock=self.core.clock)

    def _tell_changes(self, report: BatchReport) -> None:
        """Open pages hear which notes changed, and how far the index is."""
        if report.put or report.removed:
            ids = report.put[:MOST_IDS_TOLD]
            removed = [row.id for row in report.removed][:MOST_IDS_TOLD]
            self._events.publish("change", {"ids": ids, "removed": removed, "more": len(report.put) > len(ids)})
        if not self.core.progress.ready:
            state = self.core.services.health.index_state()
            self._events.publish("progress", {"done": state.done, "total": state.total, "pending": state.pending})

    async def _announce(self, server: WebServer, runtime: Runtime) -> None:
        await server.ready.wait()
        link = self._auth.login_url(self._url)
        speaks_here = self._settings.transport == "stdio"
        out = sys.stderr if speaks_here else sys.stdout
        print(f"vaultd serves {self._vault}", file=out, flush=True)
        print(f"  dashboard  {link}", file=out, flush=True)
        print(f"  MCP        {self._url}/mcp", file=out, flush=True)
        notify(f"READY=1\nSTATUS=serves {self._vault} at {self._url}")
        if self._progress_bar is not None:
            self._spawn(self._show_first_index(self._progress_bar))
        if speaks_here:
            stop = asyncio.Event()
            self._closing.when_set(stop.set)
            try:
                await bridge.speak_for(runtime, stop)
            finally:
                server.close()

    async def _show_first_index(self, progress_bar: Bar) -> None:
        await asyncio.sleep(BAR_AFTER_S)
        progress, health = self.core.progress, self.core.services.health
        while not progress.ready and not progress.total:
            await asyncio.sleep(BAR_EVERY_S)
        if progress.ready:
            return
        with progress_bar("Indexing", progress.total) as update:
            while not progress.ready:
                update(health.index_state().done)
                await asyncio.sleep(BAR_EVERY_S)
            update(progress.total)

    # -- lifespan -------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[None]:
        scheduler = AsyncIOScheduler(
            timezone=self.core.zone, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        async with self._mcp.session_manager.run():
            self._add_jobs(scheduler)
            scheduler.start()
            self._spawn(self._start())
            try:
                yield
            finally:
                scheduler.shutdown(wait=False)
                await end_sessions(self._mcp.session_manager)
                await self._stop()

    def _add_jobs(self, scheduler: AsyncIOScheduler) -> None:
        settings = self._settings
        scheduler.add_job(self._heartbeat, "interval", seconds=HEARTBEAT_S, id="heartbeat")
        scheduler.add_job(self._flush_journal, "interval", seconds=JOURNAL_FLUSH_S, id="journal")
        scheduler.add_job(self._check_watcher, "interval", seconds=WATCH_CHECK_S, id="watcher")
        scheduler.add_job(
            self._reconcile, "interval", minutes=settings.watch.reconcile_minutes, id="reconcile", args=["periodic"]
        )

        self._add_memory_jobs(scheduler)
        if (every := watchdog_s()) is not None:
            scheduler.add_job(self._feed_watchdog, "interval", seconds=every, id="watchdog")

    def _add_memory_jobs(self, scheduler: AsyncIOScheduler) -> None:
        now = self.core.clock()
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

    async def _start(self) -> None:
        """Open the index, watch, reconcile, then say ready."""
        core = self.core
        try:
            await self._open()
            await asyncio.to_thread(give_back)
            await asyncio.to_thread(remove_leftovers, self._vault, displaced=core.writer.keep_displaced)
            self._spawn(core.pipeline.run())
            await asyncio.to_thread(self._watch)
            if core.queue is not None:
                core.queue.start()
                core.queue.offer_pending()
            await self._reconcile("start")
            await core.pipeline.idle()
            core.progress.ready = True
            await asyncio.to_thread(give_back)
            await core.services.importer.recover()
            log.info("ready: %d notes", len(core.mirror))
            await core.services.card_care.catch_up()
            await core.services.intents.learn()
        except VaultdError as exc:
            core.progress.problem = str(exc)
            log.error("%s", exc)

    async def _open(self) -> None:
        """Until the index is open. Where it can't be, writes are refused meanwhile, and it is tried again."""
        core = self.core
        opening: Awaitable[None] = asyncio.wrap_future(self._opened)
        pause_s, longest_s = OPEN_RETRY_S
        while True:
            try:
                await opening
            except VaultdError as exc:
                if core.progress.problem != str(exc):
                    log.error("%s", exc)
                core.progress.problem = str(exc)
                core.pipeline.refuse(exc)
            else:
                core.pipeline.refuse(None)
                core.progress.problem = ""
                return
            finally:
                gc.freeze()  # what is there by now stays: later collections need not look at it
                gc.enable()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, longest_s)
            opening = asyncio.to_thread(core.open_index)

    def _watch(self) -> None:
        core = self.core
        self._observer = VaultObserver(
            self._vault,
            core.inbox,
            is_note=core.layout.is_note,
            is_folder=lambda path: not core.layout.is_ignored_dir(path),
            lost=self._lost.set,
            polling=self._settings.watch.mode == "polling",
        )
        with contextlib.suppress(OSError):  # it is tried again with every look at the watcher
            self._observer.start()

    async def _stop(self) -> None:
        notify("STOPPING=1")
        core = self.core
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._observer is not None:
            await asyncio.to_thread(self._observer.stop)
        await core.services.importer.close()
        await core.services.gateway.close()
        await core.analyst.close()
        await asyncio.to_thread(core.close)

    def _spawn(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)

    # -- periodic work --------------------------------------------------------------------------------------------

    async def _reconcile(self, why: str) -> None:
        """Compare vault and index in full; a difference that no event announced is counted as missed."""
        core = self.core
        if core.indexer is None or self._reconciling.locked():
            return
        async with self._reconciling:
            try:
                found = await asyncio.to_thread(core.compare)
                if found and why not in ("start", "asked for"):
                    await asyncio.sleep(DRIFT_SETTLE_S)
                    with contextlib.suppress(TimeoutError):  # where something changes all the time
                        await asyncio.wait_for(core.pipeline.idle(), DRIFT_SETTLE_S)
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
                self.core.progress.watcher_restarts += 1

    async def _check_watcher(self) -> None:
        if self._observer is None:
            return
        if self._lost.is_set():
            self._lost.clear()
            await asyncio.to_thread(self._restart_watcher)
            await self._reconcile("events may be lost")
        elif not self._observer.alive:
            log.warning("the watcher had ended; it is started anew")
            await asyncio.to_thread(self._restart_watcher)
            await self._reconcile("the watcher had ended")

    async def _heartbeat(self) -> None:
        now = self.core.clock()
        slept = self._last_beat and now.timestamp() - self._last_beat > WAKE_GAP_S
        self._last_beat = now.timestamp()
        if slept:
            await self._reconcile("woken from sleep")
        await asyncio.to_thread(give_back)

    async def _forget(self) -> None:
        if not self.core.progress.ready or not self.core.pipeline.vault_available:
            return
        result = await self.core.services.forget()
        self._runs.note("forget", self.core.clock())
        self._events.publish("decay", {"archived": result.archived, "auto_resolved": result.auto_resolved})

    async def _keep_house(self) -> None:
        core = self.core
        if not core.progress.ready or not core.pipeline.vault_available:
            return
        try:
            await core.services.housekeeping()
            await core.services.card_care()
        except VaultdError as exc:
            log.warning("housekeeping stopped: %s", exc)

    async def _retry_waiting(self) -> None:
        core = self.core
        if core.progress.ready and core.analyst.available:
            await core.services.waiting.retry(core.services.diary.split)

    async def _feed_watchdog(self) -> None:
        """On the loop: a daemon whose loop hangs is started anew."""
        notify("WATCHDOG=1")

    async def _flush_journal(self) -> None:
        await asyncio.to_thread(self.core.journal.flush)


def _no_second_guard() -> TransportSecuritySettings:
    """Host and Origin are checked in front of every path already."""
    from mcp.server.transport_security import TransportSecuritySettings

    return TransportSecuritySettings(enable_dns_rebinding_protection=False)
