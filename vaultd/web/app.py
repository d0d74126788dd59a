"""All routes in one list, behind the guards: Host and Origin, closing, token."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from vaultd.services import Services
from vaultd.services.importing.limits import MOST_UPLOAD_BYTES
from vaultd.web.api import api_endpoints, api_routes
from vaultd.web.auth import Auth, AuthMiddleware
from vaultd.web.compression import Compression
from vaultd.web.connectors import Connectors
from vaultd.web.credentials import ScopeFence
from vaultd.web.drain import Closing, DrainMiddleware
from vaultd.web.endpoints import Endpoint
from vaultd.web.events import EventHub
from vaultd.web.gateway import GATEWAY_BODY_BYTES, PREFIX, gateway_routes
from vaultd.web.guards import BodyLimits, GuardMiddleware, ServerNames
from vaultd.web.login import login_routes
from vaultd.web.oauth import OPEN_PATHS, OAuth
from vaultd.web.oauth_consent import Consent
from vaultd.web.pages import page_routes

log = logging.getLogger(__name__)

MOST_MESSAGE_BYTES = 16 << 20  # of one MCP message

UPLOAD_PATH = "/api/import/upload"


@dataclass(frozen=True, slots=True)
class WebParts:
    """What the application is made of. `status` adds url, port and pid to the services' own."""

    services: Services
    auth: Auth
    names: ServerNames
    closing: Closing
    events: EventHub
    status: Callable[[], dict[str, object]]
    mcp_app: ASGIApp
    lifespan: Callable[[], contextlib.AbstractAsyncContextManager[None]]
    version: str
    confirm_deletions: Callable[[], int]
    reconcile: Callable[[], None]
    breath: Callable[[], Awaitable[str]]
    dream: Callable[[], Awaitable[str]]
    more_routes: Sequence[BaseRoute] = ()
    open_paths: frozenset[str] = frozenset()
    """Paths beside the built-in ones that ask for no token."""

    oauth: OAuth | None = None
    """Lets remote connectors in."""


def build_app(parts: WebParts) -> Starlette:
    """The whole HTTP side of a daemon."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "name": "vaultd", "version": parts.version, "pid": os.getpid()})

    async def status(_: Request) -> Response:
        return JSONResponse(parts.status())

    async def home(_: Request) -> Response:
        return RedirectResponse("/dashboard", status_code=303)

    async def confirm(_: Request) -> Response:
        return JSONResponse({"confirmed": parts.confirm_deletions()})

    async def reconcile(_: Request) -> Response:
        parts.reconcile()
        return JSONResponse({"started": True}, status_code=202)

    own = [
        Endpoint("GET", "/health", health, "Whether the daemon is there; needs no token", open=True),
        Endpoint("GET", "/api/status", status, "Counts and the state of the index"),
        Endpoint(
            "GET",
            "/api/events",
            parts.events.endpoint,
            "Live events",
            "Kinds: change, progress, decay, import; `reset` asks to load everything anew.",
            answer_type="text/event-stream",
        ),
        Endpoint("POST", "/api/confirm-deletions", confirm, "Let go of notes that vanished all at once"),
        Endpoint("POST", "/api/reconcile", reconcile, "Compare vault and index in full", status=202),
    ]
    endpoints = [
        *api_endpoints(parts.services, status=parts.status, breath=parts.breath, dream=parts.dream),
        *Connectors(parts.oauth).endpoints(),
    ]
    routes: list[BaseRoute] = [
        Route("/mcp", parts.mcp_app),  # first, since it is asked most and each route that is tried costs time
        Route("/", home),
        *login_routes(parts.auth, parts.names),
        *page_routes(parts.version),
        *api_routes([*own, *endpoints], version=parts.version),
        *gateway_routes(parts.services.gateway),
        *_connector_routes(parts),
        *parts.more_routes,
        Mount("/static", StaticFiles(packages=[("vaultd", "web/static")])),
        Mount("/", parts.mcp_app),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with parts.lifespan():
            yield

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(
                GuardMiddleware,
                names=parts.names,
                limits=BodyLimits(
                    by_prefix={UPLOAD_PATH: MOST_UPLOAD_BYTES, "/mcp": MOST_MESSAGE_BYTES, PREFIX: GATEWAY_BODY_BYTES}
                ),
            ),
            Middleware(DrainMiddleware, closing=parts.closing),
            _door(parts),
            Middleware(ScopeFence),
            Middleware(Compression),
        ],
    )


def _connector_routes(parts: WebParts) -> list[BaseRoute]:
    if parts.oauth is None:
        return []
    return [*parts.oauth.routes(), *Consent(parts.oauth, parts.auth).routes()]


def _door(parts: WebParts) -> Middleware:
    oauth = parts.oauth
    if oauth is None:
        return Middleware(AuthMiddleware, auth=parts.auth, open_paths=parts.open_paths)
    return Middleware(
        AuthMiddleware,
        auth=parts.auth,
        open_paths=parts.open_paths | OPEN_PATHS,
        challenge=oauth.challenge,
        connectors=oauth.check,
    )
