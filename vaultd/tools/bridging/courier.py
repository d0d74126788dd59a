"""Carrying one request to the daemon and its answer back, through restarts of the daemon."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from vaultd.tools.bridging.daemon_link import DaemonLink
from vaultd.tools.bridging.launch import DaemonDown
from vaultd.tools.bridging.lines import Lines
from vaultd.tools.bridging.loopback import Answer, CutOff, NotDelivered, exchange
from vaultd.tools.bridging.messages import (
    REPEATABLE,
    UNREACHABLE,
    JsonObject,
    Message,
    error_line,
    on_one_line,
    to_line,
)
from vaultd.tools.bridging.session import POST_HEADERS, UPDATED, Session, Sessions, endpoint

if TYPE_CHECKING:  # importing the settings costs a third of the bridge's whole start
    from vaultd.config.runtime import Runtime

DELIVERY_TIMEOUT_S: Final = 90.0
MOST_LOSSES: Final = 3
"""How often a harmless request is sent again after it was cut off."""

LISTEN: Final = "subscriptions/listen"

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_REQUEST_CANCELLED: Final = -32800
_PAUSE_S: Final = 0.1


class Outcome(Enum):
    """What became of one attempt to deliver a request."""

    ANSWERED = auto()
    NO_SESSION = auto()
    NOT_LET_IN = auto()
    NOT_NOW = auto()
    """Certainly not delivered."""

    LOST = auto()
    """Sent, and no answer came."""


@dataclass(slots=True, eq=False)
class Call:
    """A request of the client that is under way."""

    message: Message
    sent: bool = False
    cancelled: bool = False
    acknowledged: bool = False
    """Subscriptions: the daemon has said what it will tell."""

    @property
    def request_id(self) -> object:
        return self.message.content.get("id")


class Courier:
    """Delivers requests; one object for all of a client's calls."""

    def __init__(self, daemon: DaemonLink, lines: Lines, sessions: Sessions) -> None:
        self._daemon = daemon
        self._lines = lines
        self._sessions = sessions

    async def carry(self, call: Call) -> None:
        """Deliver a request and hand its answer to the client.

        It is sent again when it was certainly not delivered, and when that does no harm. Raises CutOff when it was
        lost and may have been carried out; DaemonDown; ClientGone.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DELIVERY_TIMEOUT_S
        tries: Counter[Outcome] = Counter()
        while True:
            # a subscription that was cut off waits for a daemon, and does not start one
            runtime = await (self._daemon.come_back() if call.acknowledged else self._daemon.reach())
            outcome = await self._attempt(call, runtime)
            if outcome is Outcome.ANSWERED:
                return
            if outcome is not Outcome.NO_SESSION:
                self._daemon.lost(runtime)
            tries[outcome] += 1
            if not call.acknowledged:
                self._give_up_on(call, outcome, tries, runtime, late=loop.time() > deadline)
            if outcome is not Outcome.NO_SESSION:
                await asyncio.sleep(_PAUSE_S)

    def _give_up_on(
        self, call: Call, outcome: Outcome, tries: Counter[Outcome], runtime: Runtime, *, late: bool
    ) -> None:
        """Raise when another attempt would be wrong or hopeless."""
        if outcome is Outcome.LOST and (call.message.method not in REPEATABLE or tries[outcome] > MOST_LOSSES):
            raise CutOff("the connection ended before the answer came")
        if outcome is Outcome.NOT_LET_IN and tries[outcome] > 1:
            token = "the token in VAULTD_TOKEN" if self._daemon.token_is_given else "the token in its runtime file"
            raise DaemonDown(f"vaultd at {runtime.url} refused {token}; correct it, or restart vaultd")
        if late or tries[Outcome.NO_SESSION] > MOST_LOSSES:
            raise DaemonDown(f"vaultd at {runtime.url} takes no requests; restart it, or see its log")

    async def _attempt(self, call: Call, runtime: Runtime) -> Outcome:
        call.sent = False
        session = None if _stands_alone(call.message) else self._sessions.current
        session_id = None if session is None else session.session_id
        try:
            outcome = await self._try(call, runtime, session)
            if outcome is Outcome.NO_SESSION and session is not None:
                await self._sessions.reopen(session, session_id)
            return outcome
        except NotDelivered:
            return Outcome.NOT_NOW
        except CutOff:
            return Outcome.LOST

    async def _try(self, call: Call, runtime: Runtime, session: Session | None) -> Outcome:
        """Send the request once. Raises NotDelivered, CutOff, ClientGone."""
        message = call.message
        headers = {**POST_HEADERS, **self._daemon.authorization(runtime), **message.headers}
        if session is not None:
            headers |= session.headers()

        def on_connected() -> None:
            call.sent = True

        url = endpoint(runtime)
        async with exchange("POST", url, headers=headers, body=message.line, on_connected=on_connected) as answer:
            if answer.status == 503:  # the header promises that the request was not looked at
                return Outcome.NOT_NOW if "retry-after" in answer.headers else Outcome.LOST
            if answer.status == 401:
                return Outcome.NOT_LET_IN
            if answer.status == 404 and session is not None:
                return Outcome.NO_SESSION
            if not answer.is_event_stream:
                await self._relay_body(call, answer)
                return Outcome.ANSWERED
            answered, last_event_id = await self._relay_events(call, answer)
        while not answered:
            if last_event_id is None or session is None:
                raise CutOff("the stream ended without an answer")
            answered, last_event_id = await self._resume(call, runtime, session, last_event_id)
        return Outcome.ANSWERED

    async def _resume(
        self, call: Call, runtime: Runtime, session: Session, last_event_id: str
    ) -> tuple[bool, str | None]:
        """Take up a stream that the daemon has ended before the answer. Raises CutOff when it cannot be."""
        await asyncio.sleep(_PAUSE_S)
        headers = {
            "Accept": "text/event-stream",
            "Last-Event-ID": last_event_id,
            **self._daemon.authorization(runtime),
            **session.headers(),
        }
        try:
            async with exchange("GET", endpoint(runtime), headers=headers) as answer:
                if answer.status != 200 or not answer.is_event_stream:
                    raise CutOff("the stream cannot be taken up again")
                answered, newest = await self._relay_events(call, answer)
                return answered, newest or last_event_id
        except NotDelivered as exc:
            raise CutOff("the daemon ended before it had answered") from exc

    async def _relay_events(self, call: Call, answer: Answer) -> tuple[bool, str | None]:
        """Pass a stream on to the client: whether the answer was in it, and the id of its last event."""
        last_event_id: str | None = None
        async for event in answer.events():
            last_event_id = event.event_id or last_event_id
            if event.data and await self._relay(call, event.data, answer):
                return True, last_event_id
        return False, last_event_id

    async def _relay_body(self, call: Call, answer: Answer) -> None:
        """Pass on an answer that is not a stream; make one of what is no answer."""
        body = await answer.body()
        try:
            content = json.loads(body) if body else None
        except ValueError:
            content = None
        if isinstance(content, dict) and content.get("jsonrpc") == "2.0" and await self._relay(call, body, answer):
            return
        error = content.get("error") if isinstance(content, dict) else None
        text = error.get("message") if isinstance(error, dict) else None
        message = f"vaultd answered {answer.status}{f': {text}' if isinstance(text, str) else ''}"
        await self._lines.write(error_line(call.request_id, UNREACHABLE, message))

    async def _relay(self, call: Call, data: bytes, answer: Answer) -> bool:
        """Pass one message on to the client; true when it is the answer to the call."""
        content = json.loads(data)
        if not isinstance(content, dict):
            return False
        if "method" in content:
            await self._relay_from_daemon(call, content, data)
            return False
        if "error" in content and content.get("id") is None:
            content["id"] = call.request_id  # it was refused before the id was read
            data = to_line(content)
        if content.get("id") != call.request_id:
            return False
        if isinstance(content.get("result"), dict):
            self._keep(call.message, content["result"], answer)
        elif call.cancelled and content.get("error", {}).get("code") == _REQUEST_CANCELLED:
            return True  # who has cancelled wants no answer
        await self._lines.write(on_one_line(data, content))
        return True

    def _keep(self, message: Message, result: JsonObject, answer: Answer) -> None:
        if message.method == "initialize":
            self._sessions.opened(message, result, answer)
        elif self._sessions.current is not None and not message.needs_no_session:
            self._sessions.current.keep(message)

    async def _relay_from_daemon(self, call: Call, content: JsonObject, data: bytes) -> None:
        if content["method"] == _ACKNOWLEDGED and call.message.method == LISTEN:
            if call.acknowledged:
                await self._tell_what_may_have_changed(content)
                return
            call.acknowledged = True
        await self._sessions.pass_on(content, data)

    async def _tell_what_may_have_changed(self, acknowledged: JsonObject) -> None:
        """A subscription was cut off for a while: say of everything it covers that it changed."""
        params = acknowledged.get("params") or {}
        covered = params.get("notifications") or {}
        meta = {"_meta": params["_meta"]} if "_meta" in params else {}
        for kind in ("tools", "prompts", "resources"):
            if covered.get(f"{kind}ListChanged"):
                await self._sessions.tell(f"notifications/{kind}/list_changed", meta)
        for uri in covered.get("resourceSubscriptions") or ():
            await self._sessions.tell(UPDATED, {"uri": uri, **meta})


def _stands_alone(message: Message) -> bool:
    return message.needs_no_session or message.method == "initialize"
