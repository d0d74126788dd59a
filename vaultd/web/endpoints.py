"""What REST endpoints have in common: their description, how they read requests, how they answer and refuse."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from vaultd.core import errors
from vaultd.core.errors import VaultdError
from vaultd.web.refusal import refusal, retry_after

log = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]

_STATUS: Final[tuple[tuple[type[VaultdError], int, str], ...]] = (
    (errors.BadInput, 400, "bad_input"),
    (errors.SettingsError, 400, "bad_setting"),
    (errors.NoSuchMemory, 404, "no_such_memory"),
    (errors.LostRace, 409, "conflict"),
    (errors.UnwritableNote, 409, "not_writable"),
    (errors.UnreadableNote, 422, "not_readable"),
    (errors.OutsideVault, 400, "outside_vault"),
    (errors.StorageFull, 507, "storage_full"),
    (errors.VaultUnavailable, 503, "vault_unavailable"),
    (errors.IndexUnavailable, 503, "index_unavailable"),
    (errors.CapReached, 429, "cap_reached"),
    (errors.ModelBusy, 503, "model_busy"),
    (errors.ModelTimedOut, 504, "model_timed_out"),
    (errors.ModelError, 502, "model_failed"),
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an endpoint: in the query unless `place` says path or header."""

    name: str
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint: what it does, and how it is described in `/openapi.json`."""

    method: str
    path: str
    handler: Handler
    summary: str
    about: str = ""
    parameters: Sequence[Parameter] = ()
    body: Mapping[str, Any] | None = None
    body_type: str = "application/json"
    answer: Mapping[str, Any] | None = None
    answer_type: str = "application/json"
    status: int = 200
    open: bool = False


def routes_of(endpoints: Sequence[Endpoint]) -> list[BaseRoute]:
    """The routes of these endpoints; each refuses in the one form."""
    return [Route(one.path, _guarded(one.handler), methods=[one.method]) for one in endpoints]


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except VaultdError as exc:
            return refused(exc)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            return refusal(500, "internal", "something went wrong inside vaultd; its log says what")

    return guarded


def refused(exc: VaultdError) -> JSONResponse:
    """An error as an answer. The field is what stands before the first colon, where the message names one."""
    status, code = next(((s, c) for kind, s, c in _STATUS if isinstance(exc, kind)), (500, "failed"))
    message = str(exc)
    head, colon, _ = message.partition(": ")
    names_field = bool(colon) and status == 400 and all(part.isidentifier() for part in head.split("."))
    headers: dict[str, str] = {}
    if isinstance(exc, errors.ModelBusy) and exc.retry_after_s is not None:
        headers = retry_after(exc.retry_after_s)
    return refusal(status, code, message, field=head if names_field else None, headers=headers)


async def json_body(request: Request) -> dict[str, Any]:
    """The request's JSON object. Raises BadInput."""
    raw = await request.body()
    try:
        value = json.loads(raw or b"{}")
    except (ValueError, RecursionError) as exc:
        raise errors.BadInput(f"the body is not JSON ({exc})") from exc
    if not isinstance(value, dict):
        raise errors.BadInput("the body must be a JSON object")
    return value


def known_fields(raw: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Raises BadInput for a field that the endpoint does not have."""
    for name in raw:
        if name not in allowed:
            raise errors.BadInput(f"{name}: there is no such field; use {', '.join(allowed)}")


def text_field(raw: Mapping[str, Any], name: str, default: str | None = None) -> str | None:
    """A text of the body, `default` where it is absent. Raises BadInput."""
    value = raw.get(name, default)
    if value is not None and not isinstance(value, str):
        raise errors.BadInput(f"{name}: must be text")
    return value


def flag_field(raw: Mapping[str, Any], name: str) -> bool | None:
    """True or false of the body, None where it is absent. Raises BadInput."""
    value = raw.get(name)
    if value is not None and not isinstance(value, bool):
        raise errors.BadInput(f"{name}: must be true or false")
    return value


def number_field(raw: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    """A number of the body within its range, None where it is absent. Raises BadInput."""
    value = raw.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise errors.BadInput(f"{name}: must be a number from {low:g} to {high:g}")
    return float(value)


def rounded_field(raw: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
    """A number of the body within its range, as the nearest whole one; None where it is absent. Raises BadInput."""
    value = number_field(raw, name, low, high)
    return None if value is None else round(value)


def number_parameter(request: Request, name: str, default: float) -> float:
    """A number of the query. Raises BadInput."""
    text = request.query_params.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise errors.BadInput(f"{name}: must be a number")
    return value


def whole_parameter(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query. Raises BadInput for what is none, or out of range."""
    number = number_parameter(request, name, default)
    if not low <= number <= high or number != int(number):
        raise errors.BadInput(f"{name}: must be a whole number from {low} to {high}")
    return int(number)


def whole(name: str, text: str, default: int, low: int, high: int) -> int:
    """A whole number parameter, clamped. Raises BadInput for what is none."""
    if not text.strip():
        return default
    try:
        return min(max(int(text), low), high)
    except ValueError as exc:
        raise errors.BadInput(f"{name}: must be a whole number from {low} to {high}") from exc


def flag_parameter(request: Request, name: str) -> bool:
    """A switch of the query: 1 and true are on."""
    return request.query_params.get(name, "").strip().casefold() in ("1", "true", "yes")


def stated_etag(request: Request) -> str:
    """The ETag of `If-Match`, without its quotes: `*` is any, empty is none stated."""
    return request.headers.get("if-match", "").strip().removeprefix("W/").strip('"')


def answered(request: Request, data: Any, *, status: int = 200, etag: str = "") -> Response:
    """`data` as JSON with an ETag; 304 where the caller has it already."""
    raw = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    tag = etag or f'W/"{hashlib.blake2b(raw, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag}
    if request.method == "GET" and status == 200 and not etag and _has(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(raw, status_code=status, media_type="application/json", headers=headers)


def _has(request: Request, tag: str) -> bool:
    known = request.headers.get("if-none-match", "")
    return any(one.strip() == tag for one in known.split(","))
