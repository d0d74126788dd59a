"""Answers are compressed on their way to other machines; programs of this machine get them as they are, at less cost."""

from __future__ import annotations

from typing import Final

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultd.web.auth import address_of
from vaultd.web.guards import is_loopback

_FROM_AFAR: Final = frozenset({b"x-forwarded-for", b"forwarded"})
_LEAST_BYTES: Final = 1_024
_LEVEL: Final = 5


class Compression:
    """gzip for clients that take it, unless they are on this machine and no proxy says that it speaks for others."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressing = GZipMiddleware(app, minimum_size=_LEAST_BYTES, compresslevel=_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._plain if _is_near(scope) else self._compressing)(scope, receive, send)


def _is_near(scope: Scope) -> bool:
    address = address_of(scope)
    return address is not None and is_loopback(address) and not any(name in _FROM_AFAR for name, _ in scope["headers"])
