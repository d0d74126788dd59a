"""All routes in one list, behind the guards: Host and Origin, closing, token."""

from __future__ import annotations

import contextlib
import html
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from vaultd.services import Services
from vaultd.web.auth import Auth, AuthMiddleware
from vaultd.web.drain import Closing, DrainMiddleware
from vaultd.web.events import EventHub
from vaultd.web.guards import GuardMiddleware, ServerNames
from vaultd.web.login import login_routes

log = logging.getLogger(__name__)


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
    more_routes: Sequence[BaseRoute] = ()


def build_app(parts: WebParts) -> Starlette:
    """The whole HTTP side of a daemon."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "name": "vaultd", "version": parts.version})

    async def status(_: Request) -> Response:
        return JSONResponse(parts.status())

    async def home(_: Request) -> Response:
        return RedirectResponse("/dashboard", status_code=303)

    async def dashboard(_: Request) -> Response:
        return HTMLResponse(_status_page(parts.status()))

    async def confirm(_: Request) -> Response:
        return JSONResponse({"confirmed": parts.confirm_deletions()})

    async def decay(request: Request) -> Response:
        dry_run = request.query_params.get("dry_run", "") in ("1", "true")
        result = await parts.services.forget(dry_run=dry_run)
        return JSONResponse(
            {
                "checked": result.checked,
                "archived": result.archived,
                "auto_resolved": result.auto_resolved,
                "lowest_score": result.lowest_score,
                "failed": result.failed,
                "dry_run": result.dry_run,
                "to_archive": list(result.to_archive),
                "to_resolve": list(result.to_resolve),
                "reason": result.reason,
            }
        )

    async def reconcile(_: Request) -> Response:
        parts.reconcile()
        return JSONResponse({"started": True}, status_code=202)

    routes: list[BaseRoute] = [
        Route("/", home),
        Route("/health", health),
        Route("/dashboard", dashboard),
        Route("/api/status", status),
        Route("/api/events", parts.events.endpoint),
        Route("/api/decay/run", decay, methods=["POST"]),
        Route("/api/confirm-deletions", confirm, methods=["POST"]),
        Route("/api/reconcile", reconcile, methods=["POST"]),
        *login_routes(parts.auth, parts.names),
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
            Middleware(GuardMiddleware, names=parts.names),
            Middleware(DrainMiddleware, closing=parts.closing),
            Middleware(AuthMiddleware, auth=parts.auth),
            Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5),
        ],
    )


def _status_page(status: dict[str, object]) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(json.dumps(value, ensure_ascii=False))}</td></tr>"
        for key, value in status.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>vaultd</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/login.css"></head>'
        f"<body><main><h1>vaultd</h1><table>{rows}</table></main></body></html>"
    )
