"""The client's session with the daemon (protocols up to 2025-11-25), and how it outlives a daemon."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vaultd.tools.bridging.daemon_link import DaemonLink
from vaultd.tools.bridging.launch import DaemonDown
from vaultd.tools.bridging.lines import ClientGone, Lines
from vaultd.tools.bridging.loopback import Answer, CutOff, NotDelivered, exchange
from vaultd.tools.bridging.messages import JsonObject, Message, key_of, on_one_line, to_line

if TYPE_CHECKING:  # importing the settings costs a third of the bridge's whole start
    from vaultd.config.runtime import Runtime

POST_HEADERS: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
UPDATED: Final = "notifications/resources/updated"

_REOPEN_TIMEOUT_S: Final = 30.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0


def endpoint(runtime: Runtime) -> str:
    return f"{runtime.url}/mcp"


@dataclass(slots=True, eq=False)
class Session:
    """What is needed to open the client's session again on another daemon."""

    opening: Message
    session_id: str | None
    version: str
    initialized: bool = False
    kept: dict[str, Message] = field(default_factory=dict)
    """Requests that a new session needs again: the log level, and each subscription."""

    asked: dict[str, object] = field(default_factory=dict)
    """Ids of the daemon's own requests that the client has not answered."""

    capabilities: JsonObject = field(default_factory=dict)
    unheard: bool = False
    """Whether the daemon may have said something while nobody listened."""

    def headers(self) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self.version} if self.version else {}
        return headers if self.session_id is None else {**headers, "Mcp-Session-Id": self.session_id}

    def learn(self, result: JsonObject) -> None:
        """Take what the daemon said of itself when the session was opened."""
        self.version = str(result.get("protocolVersion") or self.version)
        capabilities = result.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}

    def keep(self, message: Message) -> None:
        """Remember a request that went well, if a new session needs it again."""
        match message.method:
            case "logging/setLevel":
                self.kept["level"] = message
            case "resources/subscribe":
                self.kept[f"subscribe {message.params.get('uri')}"] = message
            case "resources/unsubscribe":
                self.kept.pop(f"subscribe {message.params.get('uri')}", None)

    def subscribed(self) -> list[object]:
        return [message.params.get("uri") for message in self.kept.values() if message.method == "resources/subscribe"]


class Sessions:
    """The session that the client has now, if it has one."""

    def __init__(self, daemon: DaemonLink, lines: Lines) -> None:
        self._daemon = daemon
        self._lines = lines
        self._reopening = asyncio.Lock()
        self._reopened = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self.current: Session | None = None

    def opened(self, opening: Message, result: JsonObject, answer: Answer) -> None:
        """The client's `initialize` has been answered."""
        self.current = Session(opening, answer.headers.get("mcp-session-id"), version="")
        self.current.learn(result)

    def initialized(self) -> None:
        """The client has said that it is ready: listen to what the daemon says unasked."""
        if self.current is None:
            return
        self.current.initialized = True
        if self._listening is not None:
            self._listening.cancel()
        self._listening = asyncio.create_task(self._listen())

    def takes_answer(self, message: Message) -> bool:
        """Whether the client's answer is for a daemon that is still there, and has asked."""
        return self.current is not None and self.current.asked.pop(key_of(message.content.get("id")), None) is not None

    async def pass_on(self, content: JsonObject, data: bytes) -> None:
        """Hand the daemon's notification or request to the client. Raises ClientGone."""
        if "id" in content and self.current is not None:
            self.current.asked[key_of(content["id"])] = content["id"]
        await self._lines.write(on_one_line(data, content))

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send the client a notification of our own. Raises ClientGone."""
        await self._lines.write(to_line({"jsonrpc": "2.0", "method": method, "params": params}))

    async def reopen(self, session: Session, stale_id: str | None) -> None:
        """Open the session on the daemon that is there now, unless another call has just done so.

        Raises NotDelivered, DaemonDown, ClientGone.
        """
        async with self._reopening:
            if self.current is not session or session.session_id != stale_id:
                return
            runtime = await self._daemon.reach()
            try:
                async with asyncio.timeout(_REOPEN_TIMEOUT_S):
                    await self._open_again(session, runtime)
            except (CutOff, TimeoutError) as exc:
                raise NotDelivered(f"the session could not be opened again: {exc}") from exc
        self._reopened.set()
        asked, session.asked = session.asked, {}
        for request_id in asked.values():
            await self.tell("notifications/cancelled", {"requestId": request_id, "reason": "vaultd restarted"})

    async def say_goodbye(self, timeout_s: float) -> None:
        """Stop listening, and end the session on the daemon if it is there."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))
        session, runtime = self.current, self._daemon.current
        if session is None or session.session_id is None or runtime is None:
            return
        headers = {**self._daemon.authorization(runtime), **session.headers()}
        try:
            async with asyncio.timeout(timeout_s), exchange("DELETE", endpoint(runtime), headers=headers):
                pass
        except (NotDelivered, CutOff, TimeoutError):
            return  # it will expire

    async def _open_again(self, session: Session, runtime: Runtime) -> None:
        headers = {**POST_HEADERS, **self._daemon.authorization(runtime)}
        async with exchange("POST", endpoint(runtime), headers=headers, body=session.opening.line) as answer:
            result = await _result_in(answer, session.opening.content.get("id"))
            session.session_id = answer.headers.get("mcp-session-id")
        session.learn(result)
        for line in _lines_again(session):
            in_session = {**headers, **session.headers()}
            async with exchange("POST", endpoint(runtime), headers=in_session, body=line) as answer:
                await answer.body()

    async def _listen(self) -> None:
        """Keep the stream open on which the daemon speaks unasked; wait for a daemon, but never start one."""
        pause_s = _FIRST_PAUSE_S
        while (session := self.current) is not None:
            runtime = await self._daemon.come_back()
            try:
                status = await self._listen_once(session, runtime)
            except (NotDelivered, CutOff):
                self._daemon.lost(runtime)
                status = 0
            except (ClientGone, DaemonDown):
                return
            if status in (400, 405, 406):
                return  # this daemon has no such stream
            if status == 401:
                self._daemon.lost(runtime)
            pause_s = _FIRST_PAUSE_S if status == 200 else min(_LONGEST_PAUSE_S, pause_s * 2)
            await self._pause(pause_s)

    async def _listen_once(self, session: Session, runtime: Runtime) -> int:
        """Listen until the stream ends; the HTTP status that it began with."""
        session_id = session.session_id
        headers = {"Accept": "text/event-stream", **self._daemon.authorization(runtime), **session.headers()}
        async with exchange("GET", endpoint(runtime), headers=headers) as answer:
            if answer.status == 404:
                await self.reopen(session, session_id)
            elif answer.is_event_stream:
                if session.unheard:
                    await self._tell_what_may_have_changed(session)
                session.unheard = True  # from the end of the stream on, whatever ends it
                async for event in answer.events():
                    content = json.loads(event.data) if event.data else None
                    if isinstance(content, dict):
                        await self.pass_on(content, event.data)
            return answer.status

    async def _tell_what_may_have_changed(self, session: Session) -> None:
        for kind, capability in session.capabilities.items():
            if isinstance(capability, dict) and capability.get("listChanged") is True:
                await self.tell(f"notifications/{kind}/list_changed", {})
        for uri in session.subscribed():
            await self.tell(UPDATED, {"uri": uri})

    async def _pause(self, seconds: float) -> None:
        """Wait a little, or until the session has been opened again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._reopened.wait()
        self._reopened.clear()


def _lines_again(session: Session) -> Sequence[bytes]:
    ready = [to_line({"jsonrpc": "2.0", "method": "notifications/initialized"})] if session.initialized else []
    return [*ready, *(message.line for message in session.kept.values())]


async def _result_in(answer: Answer, request_id: object) -> JsonObject:
    """The result of `initialize` in an answer of either form. Raises NotDelivered when there is none."""
    if answer.is_event_stream:
        texts = [event.data async for event in answer.events() if event.data]
    else:
        texts = [await answer.body()]
    for text in texts:
        try:
            content = json.loads(text)
        except ValueError:
            continue
        if isinstance(content, dict) and content.get("id") == request_id and isinstance(content.get("result"), dict):
            result: JsonObject = content["result"]
            return result
    raise NotDelivered(f"the session could not be opened again (HTTP {answer.status})")
