"""The one form in which the web shell says no: `{"error": {"code", "message", "field"}}`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.responses import JSONResponse


def refusal(
    status: int, code: str, message: str, *, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A JSON error answer. `code` is for programs, `message` is one line for people, `field` names the wrong value."""
    body = {"error": {"code": code, "message": message, "field": field}}
    return JSONResponse(body, status_code=status, headers=dict(headers or {}))


def retry_after(seconds: float) -> dict[str, str]:
    """The header that asks the client to wait; whole seconds, at least one."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
