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
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vaultd.config.lastruns import Runs
from vaultd.config.runtime import Runtime, remove_runtime, write_runtime
from vaultd.config.systemd import notify
from vaultd.config.tokens import scoped_tokens
from vaultd.core.errors import VaultdError
from vaultd.core.query import Query
from vaultd.engine import Core
from vaultd.frugal import give_back
from vaultd.index.indexer import BatchReport
from vaultd.services.forget import CycleResult
from vaultd.tools.closing import end_sessions
from vaultd.vault.atomic import remove_leftovers
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

    from vaultd.rounds import Rounds

log = logging.getLogger("vaultd")

FIRST_ANSWERS_S = 0.3  # who waited for the start is answered before the vault is looked through
ROUNDS_AFTER_S = 5.0  # where the index is not open by then, what goes by the clock begins all the same
OPEN_RETRY_S = (1.0, 30.0)  # doubled from the first to the last
MOST_IDS_TOLD = 100
COLLECTED_AFTER = (20_000, 20, 20)  # objects, as gc counts: a question makes some hundred that outlive it by a moment
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
        self._rounds: Rounds | None = None
        self._background: set[asyncio.Task[None]] = set()

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
            reconcile=self._compare,
        )

    def _compare(self) -> None:
        if self._rounds is not None:  # else it is about to be done at the start
            self._spawn(self._rounds.reconcile("asked for"))

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

    def _tell_forgotten(self, result: CycleResult) -> None:
        self._events.publish("decay", {"archived": result.archived, "auto_resolved": result.auto_resolved})

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
            from vaultd.tools import bridge

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
        async with self._mcp.session_manager.run():
            self._spawn(self._start())
            try:
                yield
            finally:
                if self._rounds is not None:
                    self._rounds.end()
                await end_sessions(self._mcp.session_manager)
                await self._stop()

    async def _start(self) -> None:
        """Open the index, watch, reconcile, then say ready."""
        core = self.core
        opening = asyncio.ensure_future(self._open())
        try:
            await asyncio.wait([opening], timeout=ROUNDS_AFTER_S)
            await asyncio.sleep(FIRST_ANSWERS_S)
            rounds = self._rounds = await asyncio.to_thread(self._made_rounds)
            rounds.begin()
            await opening
            await asyncio.to_thread(give_back)
            await asyncio.to_thread(remove_leftovers, self._vault, displaced=core.writer.keep_displaced)
            self._spawn(core.pipeline.run())
            await asyncio.to_thread(rounds.watch)
            if core.queue is not None:
                core.queue.start()
                core.queue.offer_pending()
            await rounds.reconcile("start")
            await core.pipeline.idle()
            core.progress.ready = True
            await asyncio.to_thread(give_back)
            importer = await asyncio.to_thread(lambda: core.services.importer)
            await importer.recover()
            log.info("ready: %d notes", len(core.mirror))
            await core.services.card_care.catch_up()
            await core.services.intents.learn()
        except VaultdError as exc:
            core.progress.problem = str(exc)
            log.error("%s", exc)
        finally:
            opening.cancel()

    def _made_rounds(self) -> Rounds:
        from vaultd.rounds import Rounds  # a tenth of a second, for which the first answers need not wait

        return Rounds(self.core, Runs(self._state / "runs.json"), forgotten=self._tell_forgotten)

    async def _open(self) -> None:
        """Until the index is open. Where it can't be, writes are refused meanwhile, and it is tried again."""
        core = self.core
        opening = self._opened
        pause_s, longest_s = OPEN_RETRY_S
        while True:
            try:
                await asyncio.wrap_future(opening)
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
                gc.set_threshold(*COLLECTED_AFTER)
                gc.enable()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, longest_s)
            opening = core.begin_opening()

    async def _stop(self) -> None:
        notify("STOPPING=1")
        core = self.core
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._rounds is not None:
            await asyncio.to_thread(self._rounds.stop_watching)
        await core.services.close()
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


def _no_second_guard() -> TransportSecuritySettings:
    """Host and Origin are checked in front of every path already."""
    from mcp.server.transport_security import TransportSecuritySettings

    return TransportSecuritySettings(enable_dns_rebinding_protection=False)
