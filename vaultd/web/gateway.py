"""`POST /v1/chat/completions` and `GET /v1/models`: what comes from the upstream reaches the client as it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from vaultd.core.errors import BadInput, ModelError, ModelTimedOut, ModelUnavailable, VaultdError
from vaultd.services.gateway import ChatTurn, Gateway, Passed, wish_of
from vaultd.services.replies import ReplyReader
from vaultd.web.credentials import sight_of

log = logging.getLogger(__name__)

GATEWAY_BODY_BYTES: Final = 64 * 1024 * 1024  # images travel inside the messages
PREFIX: Final = "/v1/"


def gateway_routes(gateway: Gateway) -> list[BaseRoute]:
    """The routes of the gateway."""

    async def chat(request: Request) -> Response:
        try:
            raw = await request.body()
            turn = await gateway.prepare(raw, wish_of(request.headers, sight_of(request)))
        except ClientDisconnect:
            return Response(status_code=499)
        except VaultdError as exc:
            return failed(exc)
        reply = ReplyReader(streamed=turn.streamed)
        return Passing(
            gateway.ask(turn, request.headers.raw),
            headers=_headers(turn),
            reply=reply,
            done=lambda aborted: gateway.finished(turn, reply, aborted=aborted),
        )

    async def models(request: Request) -> Response:
        try:
            return Passing(gateway.models(request.headers.raw))
        except VaultdError as exc:
            return failed(exc)

    return [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
    ]


def failed(exc: VaultdError) -> JSONResponse:
    """Our own refusal in the form that OpenAI's clients understand."""
    status, kind = 502, "upstream_error"
    if isinstance(exc, BadInput):
        status, kind = 400, "invalid_request_error"
    elif isinstance(exc, ModelTimedOut):
        status = 504
    elif isinstance(exc, ModelUnavailable):
        status = 503
    error = {"message": f"vaultd: {exc}", "type": kind, "param": None, "code": None}
    return JSONResponse({"error": error}, status_code=status)


def _headers(turn: ChatTurn) -> dict[str, str]:
    headers: dict[str, str] = {}
    if turn.conversation_id:
        headers["x-vaultd-conversation"] = turn.conversation_id
    if turn.intent is not None:
        headers["x-vaultd-intent"] = turn.intent.value
    if turn.injected:
        cards = [hit.view.card for hit in turn.injected]
        headers["x-vaultd-memories"] = ",".join(card.id for card in cards)
        headers["x-vaultd-topics"] = ",".join(quote("、".join(card.topic), safe="") for card in cards)
    return headers


class Passing(Response):
    """An answer of the upstream on its way to the client; a client that leaves ends the call upstream.

    `done` is told once, with whether the reply was broken off. Where the upstream breaks off, the client's connection
    is broken off too: it must not take half an answer for a whole one.
    """

    def __init__(
        self,
        call: AbstractAsyncContextManager[Passed],
        *,
        headers: Mapping[str, str] | None = None,
        reply: ReplyReader | None = None,
        done: Callable[[bool], None] | None = None,
    ) -> None:
        super().__init__()
        self._call = call
        self._more = [(name.encode(), value.encode("latin-1", "replace")) for name, value in (headers or {}).items()]
        self._reply = reply
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.ensure_future(self._pass(scope, receive, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            passing.cancel()
            await asyncio.wait((passing, leaving))
        if not passing.cancelled():
            passing.result()

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = began = good = False
        try:
            async with self._call as answer:
                good = answer.status == 200
                start = {
                    "type": "http.response.start",
                    "status": answer.status,
                    "headers": [*answer.headers, *self._more],
                }
                await send(start)
                began = True
                async with aclosing(self._chunks(answer, read=good)) as chunks:
                    async for chunk in chunks:
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                whole = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except ModelError as exc:
            if began:
                log.warning("%s", exc)  # leaving without an end breaks the client's connection off
            else:
                await failed(exc)(scope, receive, send)
        finally:
            if good and self._done is not None:
                self._done(not whole)

    async def _chunks(self, answer: Passed, *, read: bool) -> AsyncGenerator[bytes]:
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                yield chunk
                if read and self._reply is not None:
                    self._reply.feed(chunk)


async def _left(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
