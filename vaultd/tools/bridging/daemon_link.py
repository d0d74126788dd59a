"""The daemon that the bridge talks to now: found, started when there is none, found again when it has restarted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from vaultd.tools.bridging.launch import off_loop

if TYPE_CHECKING:  # importing the settings costs a third of the bridge's whole start
    from vaultd.config.runtime import Runtime

RETURN_GRACE_S: Final = 2.0
"""A daemon that was there a moment ago is being restarted by somebody: that one is waited for, not outrun."""

_LOOK_EVERY_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0


class DaemonLink:
    """Knows where the daemon is. All its waiting can be cancelled; a start that has begun goes on."""

    def __init__(
        self, *, find: Callable[[], Runtime | None], start: Callable[[], Awaitable[Runtime]], token: str | None
    ) -> None:
        """`find` may block for a moment; `start` raises DaemonDown. `token` is sent in place of the daemon's own."""
        self._find = find
        self._start = start
        self._token = token
        self._current: Runtime | None = None
        self._found = asyncio.Event()
        self._was_there = False
        self._search: asyncio.Task[Runtime] | None = None

    @property
    def current(self) -> Runtime | None:
        return self._current

    def authorization(self, runtime: Runtime) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token or runtime.token}"}

    @property
    def token_is_given(self) -> bool:
        return self._token is not None

    async def reach(self) -> Runtime:
        """The daemon; it is started when there is none. Raises DaemonDown."""
        if self._current is not None:
            return self._current
        if self._search is None:
            self._search = asyncio.create_task(self._find_or_start())
            self._search.add_done_callback(self._search_ended)
        return await asyncio.shield(self._search)

    async def come_back(self) -> Runtime:
        """The daemon, whenever there is one; it is not started for this."""
        pause_s = _LOOK_EVERY_S
        while self._current is None:
            if self._search is None and (runtime := await off_loop(self._find)) is not None:
                self._take(runtime)
                return runtime
            try:
                async with asyncio.timeout(pause_s):
                    await self._found.wait()
            except TimeoutError:
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        return self._current

    def lost(self, runtime: Runtime) -> None:
        """This one does not answer as it should; look for it anew before the next message."""
        if self._current is runtime:
            self._current = None
            self._found.clear()

    async def close(self) -> None:
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait((self._search,))

    async def _find_or_start(self) -> Runtime:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (RETURN_GRACE_S if self._was_there else 0.0)
        while (runtime := await off_loop(self._find)) is None:
            if loop.time() >= deadline:
                runtime = await self._start()
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        self._take(runtime)
        return runtime

    def _take(self, runtime: Runtime) -> None:
        self._current = runtime
        self._was_there = True
        self._found.set()

    def _search_ended(self, search: asyncio.Task[Runtime]) -> None:
        self._search = None
        if not search.cancelled():
            search.exception()  # every waiter has seen it; with none left it is nobody's
