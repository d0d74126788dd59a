"""The daemon's one port: taking it, serving on it, and closing in good order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http.client
import ipaddress
import json
import signal
import socket
import sys
import threading
from collections.abc import Generator
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from vaultd.core.errors import SettingsError, VaultdError
from vaultd.web.drain import CUT_AFTER_S, GRACE_S, Closing
from vaultd.web.wire import Wire

SERVER_NAME: Final = "vaultd"
"""Value of the Server header; by it one vaultd knows another."""

IDLE_CONNECTION_S: Final = 75
"""How long an idle connection is kept: longer than HTTP clients keep theirs, so that the client closes first and
never sends a request into a connection that is being closed."""

_BACKLOG: Final = 512
_ABORT_AFTER_S: Final = GRACE_S + CUT_AFTER_S + 0.15
_LAST_REQUESTS_S: Final = 0.05
_LONGEST_HEAD: Final = 64 * 1024


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket; port 0 takes a free one (`getsockname()` has it).

    Connections queue up from here on: a client that comes before the server has started waits and is not refused.
    Raises SettingsError when the address is not this machine's or the port is taken, naming who has it if that is
    another vaultd.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        raise SettingsError(f"server.host: {host!r} is not an address; use 127.0.0.1, or 0.0.0.0 for all") from exc
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        _set_options(listener)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        raise _refused(exc, host, port) from exc
    listener.setblocking(False)
    return listener


def _set_options(listener: socket.socket) -> None:
    if sys.platform == "win32":
        # there SO_REUSEADDR would let two programs listen on one port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)


def _refused(exc: OSError, host: str, port: int) -> SettingsError:
    if exc.errno == errno.EADDRINUSE:
        owner = occupant(host, port) or "another program"
        return SettingsError(f"server.port: {port} is in use by {owner}; stop it, or choose another port (0: any free)")
    if exc.errno in (errno.EACCES, errno.EPERM):
        return SettingsError(f"server.port: {port} may not be opened by this user; choose one above 1023")
    if exc.errno == errno.EADDRNOTAVAIL:
        return SettingsError(f"server.host: {host!r} is not an address of this machine; use 127.0.0.1 or 0.0.0.0")
    return SettingsError(f"server.host: cannot listen on {host!r}, port {port}: {exc.strerror or exc}")


def occupant(host: str, port: int, *, timeout_s: float = 1.0) -> str | None:
    """Who listens on this port, if it is a vaultd: `another vaultd (http://127.0.0.1:8000, pid 4711)`; else None."""
    near = _reachable(host)
    connection = http.client.HTTPConnection(near, port, timeout=timeout_s)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        if answer.getheader("Server") != SERVER_NAME:
            return None
        health = json.loads(answer.read(65536))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    pid = health.get("pid") if isinstance(health, dict) else None
    return f"another vaultd ({base_url(near, port)}{f', pid {pid}' if isinstance(pid, int) else ''})"


def base_url(host: str, port: int) -> str:
    """The address under which this machine's own programs reach the server, without a slash at the end."""
    near = _reachable(host)
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def _reachable(host: str) -> str:
    """A wildcard address is for listening only; from here it is reached as the loopback address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


class WebServer(uvicorn.Server):
    """Serves one application on one listening socket until a signal, or `close()`.

    `serve_until_closed` returns normally after SIGINT, SIGTERM or SIGHUP, within two seconds, with nothing left on
    the loop. It must run in the main thread for the signals; in another thread only `close()` ends it.
    """

    def __init__(self, app: ASGIApp, *, listener: socket.socket, closing: Closing, behind_proxy: bool = False) -> None:
        """`behind_proxy`: a tunnel or proxy on this machine may tell the client's address and scheme."""
        config = uvicorn.Config(
            app,
            http=Wire,
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,  # request lines carry login codes
            server_header=False,
            headers=[("Server", SERVER_NAME)],
            proxy_headers=behind_proxy,
            timeout_keep_alive=IDLE_CONNECTION_S,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
        )
        super().__init__(config)
        self._listener = listener
        self.port = int(listener.getsockname()[1])
        self._closing = closing
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ready = asyncio.Event()

    async def serve_until_closed(self) -> None:
        """Serve; raises VaultdError when the application does not start. `ready` is set once requests are answered."""
        self._loop = asyncio.get_running_loop()
        try:
            await self.serve(sockets=[self._listener])
        finally:
            self._listener.close()
            await _end_watcher_of_sse_starlette()

    def close(self) -> None:
        """Begin to close. For signal handlers and other threads too."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._closing.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit as exc:
            raise VaultdError("the web server could not start; the lines above in the log say why") from exc
        self.ready.set()

    async def main_loop(self) -> None:
        # once a second, not ten times: an idle daemon should cost nothing
        while not self._closing.is_set() and not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._closing.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._closing.set()
        await self._stop_listening()
        # a client that reads nothing would keep its connection in the state of being closed
        abort = asyncio.get_running_loop().call_later(_ABORT_AFTER_S, self._abort_connections)
        try:
            await super().shutdown(sockets)
        finally:
            abort.cancel()
            self._abort_connections()

    async def _stop_listening(self) -> None:
        """Refuse new connections, and answer what was sent on those that were just made: uvicorn would cut them off."""
        loop = asyncio.get_running_loop()
        for server in self.servers:
            for listening in server.sockets:
                with contextlib.suppress(NotImplementedError):  # Windows
                    loop.remove_reader(listening.fileno())
        for _ in range(3):
            await asyncio.sleep(0)  # a connection that was accepted cannot attach itself to a closed server
        for server in self.servers:
            server.close()
        await asyncio.sleep(_LAST_REQUESTS_S)

    def _abort_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Close on a signal, and return: uvicorn's own form raises the signal again once it has served."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        # A plain function: sse_starlette searches bound methods for a server, and would cut calls off before their grace
        def on_signal(_number: int, _frame: FrameType | None) -> None:
            self.close()

        before = {number: signal.signal(number, on_signal) for number in _closing_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _closing_signals() -> list[signal.Signals]:
    numbers = [signal.SIGINT, signal.SIGTERM]
    for name in ("SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        # nohup has set SIGHUP to be ignored, and means it
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            numbers.append(number)
    return numbers


async def _end_watcher_of_sse_starlette() -> None:
    """The SDK's event streams leave a task on the loop that polls for the end of the process."""
    for task in asyncio.all_tasks():
        coroutine = task.get_coro()
        if getattr(coroutine, "__qualname__", "") == "_shutdown_watcher":
            task.cancel()
            await asyncio.wait((task,))
