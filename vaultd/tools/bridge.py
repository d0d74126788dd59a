"""`vaultd mcp`: MCP on standard input and output, passed on to the one daemon of the vault.

The bridge serves both forms of the protocol: sessions (up to 2025-11-25) and stateless requests (2026-07-28). It
starts the daemon when there is none. When the daemon restarts the client notices nothing: the session is opened
again, and what was not delivered, or does no harm, is sent again. A call that may have been carried out is not; its
client is told so.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultd.core.errors import SettingsError
from vaultd.tools.bridging.courier import LISTEN, Call, Courier
from vaultd.tools.bridging.daemon_link import DaemonLink
from vaultd.tools.bridging.launch import START_TIMEOUT_S, DaemonDown, launcher_of
from vaultd.tools.bridging.lines import ClientGone, Lines
from vaultd.tools.bridging.loopback import CutOff, NotDelivered, exchange
from vaultd.tools.bridging.messages import (
    INTERNAL_ERROR,
    UNREACHABLE,
    Message,
    NotAMessage,
    error_line,
    key_of,
    parse,
)
from vaultd.tools.bridging.session import POST_HEADERS, Sessions, endpoint

if TYPE_CHECKING:  # importing the settings costs a third of the bridge's whole start
    from vaultd.config.runtime import Runtime
    from vaultd.settings import Settings

log = logging.getLogger(__name__)

MOST_CALLS_AT_ONCE: Final = 64
"""Connections to the daemon for requests; more of them wait their turn."""

LAST_CALLS_S: Final = 1.5
"""What calls under way get when the input has ended: less than clients wait before they send a signal."""

_NOTICE_TIMEOUT_S: Final = 10.0
_GOODBYE_TIMEOUT_S: Final = 1.0
_FLUSH_TIMEOUT_S: Final = 0.5
_LOOK_EVERY_S: Final = 0.05


def run(settings: Settings, *, config: Path | None = None) -> int:
    """`vaultd mcp`: serve one client on this process's input and output; the exit code.

    `config`: the settings file that a daemon started from here must read too. Raises SettingsError where no vault is
    set.
    """
    vault = settings.vault.path
    if vault is None:
        raise SettingsError("vault.path: no vault is set; use --vault DIR or VAULTD_VAULT")
    launcher = launcher_of(vault, settings.state_dir, config=config, environ=os.environ)
    token = os.environ.get("VAULTD_TOKEN", "").strip() or None
    asyncio.run(serve(find=launcher.find, start=launcher.start, token=token))
    return 0


async def serve(
    *,
    find: Callable[[], Runtime | None],
    start: Callable[[], Awaitable[Runtime]],
    token: str | None = None,
    lines: Lines | None = None,
) -> None:
    """Serve one client until its input ends, its output is closed, or SIGINT, SIGTERM or SIGHUP comes.

    `find` gives the daemon that answers now, if there is one (it may block for a moment); `start` starts one, or
    raises DaemonDown. `token` takes the place of the token in the runtime file. `lines`: other descriptors than 0 and
    1. Needs a main thread of its own for the signals.
    """
    stop = asyncio.Event()
    with _stopped_by_signals(stop):
        await Bridge(DaemonLink(find=find, start=start, token=token), lines or Lines()).run(stop)


async def speak_for(runtime: Runtime, stop: asyncio.Event) -> None:
    """Serve one client on this process's input and output for the daemon in this same process, until it goes or `stop`.

    What anybody prints meanwhile goes to standard error: the output belongs to the client.
    """

    async def start() -> Runtime:
        raise DaemonDown("vaultd is ending")

    wire = os.dup(1)
    os.dup2(2, 1)
    link = DaemonLink(find=lambda: runtime, start=start, token=None)
    await Bridge(link, Lines(write_fd=wire)).run(stop)


class Bridge:
    """One client, and one daemon at a time."""

    def __init__(self, daemon: DaemonLink, lines: Lines) -> None:
        self._daemon = daemon
        self._lines = lines
        self._sessions = Sessions(daemon, lines)
        self._courier = Courier(daemon, lines, self._sessions)
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: dict[str, tuple[Call, asyncio.Task[None]]] = {}
        self._opening: asyncio.Task[None] | None = None
        self._last_notice: asyncio.Task[None] | None = None
        self._slots = asyncio.Semaphore(MOST_CALLS_AT_ONCE)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until the client goes or `stop` is set."""
        self._lines.start()
        reading = asyncio.create_task(self._read())
        ends = (asyncio.create_task(_set(stop)), asyncio.create_task(self._lines.wait_gone()))
        try:
            await asyncio.wait((reading, *ends), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
                await self._finish_calls(ends)
        finally:
            await _end((reading, *ends, *self._tasks))
            await self._sessions.say_goodbye(_GOODBYE_TIMEOUT_S)
            await self._daemon.close()
            await self._lines.close(_FLUSH_TIMEOUT_S)

    async def _read(self) -> None:
        async for line in self._lines.read():
            try:
                message = parse(line)
            except NotAMessage as exc:
                self._spawn(self._write_quietly(error_line(None, exc.code, str(exc))))
                continue
            if message.kind == "request":
                self._accept(message)
            elif message.method == "notifications/cancelled":
                self._cancel(message)
            else:
                self._notice(message)

    def _accept(self, message: Message) -> None:
        call = Call(message)
        task = self._spawn(self._answer(call, after=self._last_notice))
        self._calls[key_of(call.request_id)] = (call, task)
        if message.method == "initialize":
            self._opening = task

    def _cancel(self, message: Message) -> None:
        call, task = self._calls.get(key_of(message.params.get("requestId")), (None, None))
        if call is None or task is None:
            return
        call.cancelled = True
        if call.message.needs_no_session or not call.sent:
            task.cancel()  # closing the request is how it is cancelled, if there is anything to cancel yet
        else:
            self._notice(message)

    def _notice(self, message: Message) -> None:
        """Pass on a notification, or the answer to a question of the daemon's; these keep the client's order."""
        self._last_notice = self._spawn(self._post(message, after=self._last_notice))

    async def _answer(self, call: Call, *, after: asyncio.Task[None] | None) -> None:
        """Carry one request to its answer, whatever happens."""
        problem: bytes | None = None
        try:
            await _ended(after, None if call.message.method == "initialize" else self._opening)
            # a subscription never ends, and must not take a turn from the others
            async with contextlib.nullcontext() if call.message.method == LISTEN else self._slots:
                await self._courier.carry(call)
        except ClientGone:
            return
        except DaemonDown as exc:
            problem = error_line(call.request_id, UNREACHABLE, str(exc))
        except CutOff:
            message = (
                f"vaultd ended while {call.message.title} was under way: it may have been carried out, or not. "
                "Look first, before you repeat it."
            )
            details = {"delivered": "unknown", "method": call.message.method}
            problem = error_line(call.request_id, UNREACHABLE, message, details)
        except Exception:  # the face's outermost edge: every request gets an answer
            log.exception("%s failed in the bridge", call.message.title)
            problem = error_line(call.request_id, INTERNAL_ERROR, "the bridge to vaultd failed; its log says why")
        finally:
            key = key_of(call.request_id)
            if self._calls.get(key, (None, None))[0] is call:
                del self._calls[key]
        if problem is not None and not call.cancelled:
            await self._write_quietly(problem)

    async def _post(self, message: Message, *, after: asyncio.Task[None] | None) -> None:
        """Send what wants no answer, once. A daemon that has gone misses nothing: a new session begins afresh."""
        await _ended(after, self._opening)
        if message.kind == "response" and not self._sessions.takes_answer(message):
            return
        if message.method == "notifications/initialized":
            self._sessions.initialized()
        runtime, session = self._daemon.current, self._sessions.current
        if runtime is None or (session is None and not message.needs_no_session):
            return
        headers = {**POST_HEADERS, **self._daemon.authorization(runtime), **message.headers}
        if session is not None and not message.needs_no_session:
            headers |= session.headers()
        try:
            async with (
                asyncio.timeout(_NOTICE_TIMEOUT_S),
                exchange("POST", endpoint(runtime), headers=headers, body=message.line) as answer,
            ):
                await answer.body()
        except (NotDelivered, CutOff, TimeoutError) as exc:
            log.info("%s was not passed on: %s", message.method or "an answer", exc)

    async def _finish_calls(self, ends: Iterable[asyncio.Task[None]]) -> None:
        """Input has ended: let calls that are nearly done be answered, for a script that pipes its requests in.

        A call that still waits for the daemon to start has all of that time, and its own after it.
        """
        loop = asyncio.get_running_loop()
        last_sent = begin = loop.time()
        while True:
            calls = [(call, task) for call, task in self._calls.values() if call.message.method != LISTEN]
            tasks = {task for _, task in calls} | ({self._last_notice} if self._last_notice else set())
            waiting = {task for task in tasks if not task.done()}
            if any(not call.sent for call, _ in calls):
                last_sent = loop.time()
            late = loop.time() - last_sent > LAST_CALLS_S or loop.time() - begin > START_TIMEOUT_S
            if not waiting or late or any(end.done() for end in ends):
                return
            await asyncio.wait((*waiting, *ends), timeout=_LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)

    async def _write_quietly(self, line: bytes) -> None:
        with contextlib.suppress(ClientGone):
            await self._lines.write(line)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _ended(*tasks: asyncio.Task[None] | None) -> None:
    """Wait for tasks to end, however they do."""
    waiting = {task for task in tasks if task is not None and not task.done()}
    if waiting:
        await asyncio.wait(waiting)


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    waiting = [task for task in tasks if not task.done()]
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting)


@contextlib.contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
