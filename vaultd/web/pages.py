"""The dashboard's pages: one document for all of them; the rest is done by `static/app.js` in the browser."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from vaultd.web.login import preferred_language

_TEMPLATE: Final = Path(__file__).parent / "templates" / "dashboard.html"
PATHS: Final = (
    "/dashboard",
    "/dashboard/{page:path}",
    "/memory",
    "/memory/new",
    "/memory/edit",
    "/chat",
)


@cache
def _template() -> Template:
    return Template(_TEMPLATE.read_text(encoding="utf-8"))


def page_routes(version: str) -> list[BaseRoute]:
    """The routes of all pages."""

    async def page(request: Request) -> Response:
        language = preferred_language(request.headers.get("accept-language", ""))
        values = {"lang": "zh-CN" if language == "zh" else "en", "version": html.escape(version)}
        return HTMLResponse(_template().substitute(values), headers={"Vary": "Accept-Language, Cookie"})

    return [Route(path, page) for path in PATHS]
