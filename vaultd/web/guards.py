"""What every request must pass before anything looks at it, whatever its path.

- The Host header must name this server. A page on the internet can point its own name at 127.0.0.1 (DNS rebinding)
  and read the answers; it cannot change the name that the browser sends.
- A browser's request from another origin is refused, unless it carries a bearer token, which no page has by accident.
- A body has a size limit.
- Every answer gets the security headers.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaultd.core.errors import SettingsError
from vaultd.settings import ServerSettings
from vaultd.web.refusal import refusal

SAME_ORIGIN: Final = "vaultd.same_origin"
"""Key in the scope: true when the browser shows that one of our own pages sent the request."""

SHORTEST_EXPOSED_TOKEN_BYTES: Final = 32
"""A token that others than this machine may try must be at least this long."""

BODY_LIMIT_BYTES: Final = 4 * 1024 * 1024

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "private, no-cache",
}
"""Put on every answer that has not set the header itself."""

_RAW_HEADERS: Final = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})
_HOST: Final = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[^\[\]:/@\\\s]+))(?::\d{1,5})?")
_WANTED: Final = frozenset(
    {
        b"host",
        b"origin",
        b"authorization",
        b"sec-fetch-site",
        b"sec-fetch-mode",
        b"content-length",
        b"transfer-encoding",
    }
)


def is_loopback(host: str) -> bool:
    """Whether a bind address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(server: ServerSettings, tokens: Sequence[str]) -> None:
    """Refuse to start where others could guess their way in: raises SettingsError.

    A server that is reachable from other machines, by its address or by `server.public_url`, needs a token, and each
    of its tokens must have at least 32 bytes.
    """
    if is_loopback(server.host) and not server.public_url:
        return
    key = "server.public_url" if is_loopback(server.host) else "server.host"
    value = server.public_url if is_loopback(server.host) else server.host
    shortest = min((len(token.encode()) for token in tokens), default=0)
    if shortest < SHORTEST_EXPOSED_TOKEN_BYTES:
        raise SettingsError(
            f"{key}: {value!r} lets other machines in, which needs a server.token of at least "
            f"{SHORTEST_EXPOSED_TOKEN_BYTES} bytes (this one has {shortest}); leave it empty to have one made"
        )


@dataclass(frozen=True, slots=True)
class ServerNames:
    """The names under which this server may be addressed."""

    hosts: frozenset[str]
    """Lower case, without port and brackets."""

    any_address: bool
    """Whether a literal IP address is a good name too: it cannot be pointed elsewhere as a host name can."""

    public_origin: str | None
    """Scheme, host and port of `server.public_url`."""

    @classmethod
    def of(cls, server: ServerSettings) -> ServerNames:
        hosts = {*_LOOPBACK_NAMES, *(name.lower() for name in server.allowed_hosts)}
        near = is_loopback(server.host)
        if server.host not in _WILDCARDS:
            hosts.add(server.host.lower())
        if not near:
            own = socket.gethostname().lower()
            hosts |= {own, f"{own}.local"}
        public = urlsplit(server.public_url)
        if public.hostname:
            hosts.add(public.hostname)
        origin = f"{public.scheme}://{public.netloc}".lower() if public.hostname else None
        return cls(hosts=frozenset(hosts), any_address=not near, public_origin=origin)

    def include(self, host: str) -> bool:
        """Whether a Host header's value (with or without port) names this server."""
        parts = _HOST.fullmatch(host.lower())
        if parts is None:
            return False
        name = parts["v6"] or parts["name"]
        return name in self.hosts or (self.any_address and _is_address(name))

    def own(self, origin: str, *, scheme: str, host: str) -> bool:
        """Whether an Origin header's value is this server itself, addressed as in this request."""
        lowered = origin.lower()
        return lowered == f"{scheme}://{host.lower()}" or lowered == self.public_origin


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The longest request body, in bytes, by the beginning of the path; the first that fits counts."""

    default: int = BODY_LIMIT_BYTES
    by_prefix: Mapping[str, int] = field(default_factory=dict)

    def of(self, path: str) -> int:
        for prefix, limit in self.by_prefix.items():
            if path.startswith(prefix):
                return limit
        return self.default


class GuardMiddleware:
    """Host, Origin and size checks before the application; security headers after it."""

    def __init__(self, app: ASGIApp, *, names: ServerNames, limits: BodyLimits | None = None) -> None:
        self._app = app
        self._names = names
        self._limits = limits or BodyLimits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _WANTED}
        send = _with_security_headers(send)
        host = headers.get(b"host", "")
        if not self._names.include(host):
            message = (
                f"this server does not answer for {host[:80]!r}; add the name to server.allowed_hosts if it should"
            )
            await refusal(421, "wrong_host", message)(scope, receive, send)
            return
        own = self._from_own_page(headers, scheme=scope["scheme"], host=host)
        if own is False and headers.get(b"authorization", "")[:7].lower() != "bearer ":
            message = "a page of another origin may not call this server"
            await refusal(403, "foreign_origin", message)(scope, receive, send)
            return
        limit = self._limits.of(scope["path"])
        if _declared_length(headers) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        scope[SAME_ORIGIN] = own is True
        if b"transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        await _with_counted_body(self._app, limit, scope, receive, send)

    def _from_own_page(self, headers: Mapping[bytes, str], *, scheme: str, host: str) -> bool | None:
        """True: one of our pages; False: somebody else's; None: not a browser, or a person who typed the address."""
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if origin is not None and origin != "null":
            return self._names.own(origin, scheme=scheme, host=host)
        if site == "same-origin":
            return True  # a form's Origin is "null" under a strict referrer policy
        if origin == "null":
            return False
        if site in ("cross-site", "same-site") and headers.get(b"sec-fetch-mode") != "navigate":
            return False
        return None


def _declared_length(headers: Mapping[bytes, str]) -> int:
    text = headers.get(b"content-length", "0")
    return int(text) if text.isdecimal() else 0


def _too_large(limit: int) -> ASGIApp:
    return refusal(413, "too_large", f"the request is longer than {limit} bytes")


async def _with_counted_body(app: ASGIApp, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
    """Run `app` on a body whose length was not declared; past the limit the application sees the client leave."""
    received = 0
    answered = False
    exceeded = False

    async def counted() -> Message:
        nonlocal received, exceeded
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            exceeded = True
            return {"type": "http.disconnect"}
        return message

    async def watched(message: Message) -> None:
        nonlocal answered
        if exceeded and not answered:
            return
        answered = True
        await send(message)

    try:
        await app(scope, counted, watched)
    except ClientDisconnect:
        if not exceeded:
            raise
    if exceeded and not answered:
        await _too_large(limit)(scope, receive, send)


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            present = {name for name, _ in headers}
            headers += [header for header in _RAW_HEADERS if header[0] not in present]
            message = {**message, "headers": headers}
        await send(message)

    return sending
