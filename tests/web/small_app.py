"""A small application behind the real shell: an MCP server, an API, a page and live events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    Elicit,
    Resolve,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import EmptyResult, SubscribeRequestParams
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from vaultd.settings import ServerSettings
from vaultd.tools.closing import end_sessions
from vaultd.web.auth import PRINCIPAL, Auth, Token
from vaultd.web.drain import Closing
from vaultd.web.events import EventHub
from vaultd.web.guards import BodyLimits, ServerNames
from vaultd.web.login import login_routes
from vaultd.web.shell import shell

STRONG = "owner-token-that-is-long-enough-to-be-safe"
SCOPED = "second-token-that-is-long-enough-to-be-safe"
STATIC = Path(__file__).parents[2] / "vaultd" / "web" / "static"


class Confirm(BaseModel):
    ok: bool


def really(text: str) -> Elicit[Confirm]:
    return Elicit(f"Keep {text}?", Confirm)


Answer = AcceptedElicitation[Confirm] | DeclinedElicitation | CancelledElicitation


@dataclass
class Memory:
    """What the tools did, for tests that run in the same process or read the file."""

    kept_in: Path | None = None
    kept: list[str] = field(default_factory=list)
    cancelled: int = 0
    running: int = 0

    def keep(self, text: str) -> int:
        self.kept.append(text)
        if self.kept_in is not None:
            with self.kept_in.open("a", encoding="utf-8") as file:
                file.write(text + "\n")
        return len(self.kept)


def mcp_server(memory: Memory) -> MCPServer:  # noqa: C901 - a list of tools, one after the other
    bus = InMemorySubscriptionBus()
    mcp = MCPServer("small", version="1", subscriptions=bus, log_level="ERROR")
    sessions: dict[str, list] = {}

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @mcp.tool()
    def echo(text: str) -> str:
        return text

    @mcp.tool()
    def keep(text: str) -> int:
        return memory.keep(text)

    @mcp.tool()
    async def slow(ctx: Context, seconds: float, steps: int = 10) -> str:
        memory.running += 1
        try:
            for step in range(steps):
                await ctx.report_progress(step + 1, steps, f"step {step + 1}")
                await asyncio.sleep(seconds / steps)
        except asyncio.CancelledError:
            memory.cancelled += 1
            raise
        finally:
            memory.running -= 1
        return "done"

    @mcp.tool()
    async def keep_if_sure(text: str, answer: Annotated[Answer, Resolve(really)]) -> str:
        match answer:
            case AcceptedElicitation(data=Confirm(ok=True)):
                memory.keep(text)
                return "kept"
            case _:
                return "not kept"

    @mcp.tool()
    async def touch(path: str) -> str:
        await bus.publish(ResourceUpdated(uri=f"note://{path}"))
        for session in sessions.get(f"note://{path}", []):
            await session.send_resource_updated(f"note://{path}")
        return "touched"

    @mcp.tool()
    def fail() -> str:
        raise ToolError("this always fails")

    @mcp.tool()
    def state() -> dict[str, int]:
        return {"running": memory.running, "cancelled": memory.cancelled, "kept": len(memory.kept)}

    @mcp.resource("note://{+path}", mime_type="text/markdown")
    def note(path: str) -> str:
        return f"# {path}"

    @mcp.prompt()
    def review(week: str) -> str:
        return f"Review week {week}"

    async def subscribe(ctx, params: SubscribeRequestParams) -> EmptyResult:
        sessions.setdefault(str(params.uri), []).append(ctx.session)
        return EmptyResult()

    mcp._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    return mcp


@dataclass
class SmallApp:
    app: ASGIApp
    inner: Starlette
    auth: Auth
    hub: EventHub
    memory: Memory
    names: ServerNames
    closing: Closing
    session_manager: StreamableHTTPSessionManager


def small_app(
    *,
    tokens: tuple[Token, ...] = (Token("owner", STRONG), Token("second", SCOPED, scope="claude")),
    server: ServerSettings | None = None,
    clock: Callable[[], datetime] | None = None,
    sessions_path: Path | None = None,
    memory: Memory | None = None,
    grace_s: float = 1.0,
    body_limit: int = 4 * 1024 * 1024,
    pid: int | None = None,
) -> SmallApp:
    settings = server or ServerSettings(host="127.0.0.1", port=0)
    memory = memory or Memory()
    closing = Closing()
    hub = EventHub(closing=closing)
    auth = Auth(tokens, clock=clock or (lambda: datetime.now(UTC)), sessions_path=sessions_path)
    names = ServerNames.of(settings)
    mcp = mcp_server(memory)
    mcp_app = mcp.streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=64 * 1024 * 1024,
    )

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "pid": pid})

    async def dashboard(request: Request) -> Response:
        return HTMLResponse("<!doctype html><title>dashboard</title>")

    async def who(request: Request) -> Response:
        principal = request.scope[PRINCIPAL]
        return JSONResponse({"name": principal.name, "scope": principal.scope, "via": principal.via})

    async def change(request: Request) -> Response:
        return JSONResponse({"length": len(await request.body())})

    async def stuck(request: Request) -> Response:
        await asyncio.sleep(100)
        return PlainTextResponse("never")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield
            await end_sessions(mcp.session_manager)

    inner = Starlette(
        routes=[
            *login_routes(auth, names),
            Route("/health", health),
            Route("/dashboard", dashboard),
            Route("/api/who", who),
            Route("/api/buckets", change, methods=["POST", "PATCH", "DELETE"]),
            Route("/api/stuck", stuck),
            Route("/api/events", hub.endpoint),
            Mount("/static", StaticFiles(directory=STATIC)),
            Mount("/", mcp_app),
        ],
        lifespan=lifespan,
    )
    app = shell(
        inner,
        names=names,
        auth=auth,
        closing=closing,
        grace_s=grace_s,
        limits=BodyLimits(default=body_limit, by_prefix={"/mcp": 64 * 1024 * 1024}),
    )
    return SmallApp(app, inner, auth, hub, memory, names, closing, mcp.session_manager)
