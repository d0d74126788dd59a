"""Who may come in: a bearer token, or the session of a browser that has shown one.

The middleware names the caller in the scope (`vaultd.principal`) and refuses everybody else, on every path but the
open ones. It has no list of protected paths: a new route is protected before anybody thinks of it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from vaultd.web.guards import SAME_ORIGIN, SHORTEST_EXPOSED_TOKEN_BYTES
from vaultd.web.refusal import refusal, retry_after
from vaultd.web.sessions import LoginCodes, SessionTable, mark_of
from vaultd.web.throttle import Throttle

PRINCIPAL: Final = "vaultd.principal"
"""Key in the scope: the `Principal` of the request."""

OPEN_PATHS: Final = frozenset({"/health", "/login"})
OPEN_PREFIXES: Final = ("/static/",)

_PROGRAM_PREFIXES: Final = ("/api/", "/mcp", "/v1/")
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_WANTED: Final = frozenset({b"authorization", b"cookie", b"accept"})


@dataclass(frozen=True, slots=True)
class Token:
    """A token that opens the door."""

    name: str
    value: str = field(repr=False)
    scope: str | None = None
    """The `ai_scope` of cards that its bearer sees and writes; None: all."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one request."""

    name: str
    scope: str | None = None
    via: Literal["token", "session"] = "token"


@dataclass(frozen=True, slots=True)
class Denied:
    """Why a caller is not let in. `wait_s` is set when it has to wait before the next try."""

    message: str
    wait_s: float = 0.0


Connectors = Callable[[bytes, str], Principal | Denied | None]
"""Who presents a bearer token on a path; None: nobody it knows."""


class Auth:
    """Tokens, sessions and login codes of one daemon. Used on the event loop."""

    def __init__(
        self, tokens: Sequence[Token], *, clock: Callable[[], datetime], sessions_path: Path | None = None
    ) -> None:
        """`tokens` must not be empty; the first is the owner's. Sessions outlive a restart when they have a path."""
        self.sessions = SessionTable(sessions_path, clock=clock)
        self.codes = LoginCodes(clock=clock)
        self.throttle = Throttle(clock=clock)
        self._tokens: tuple[Token, ...] = ()
        self._digests: list[tuple[bytes, Token]] = []
        self.use_tokens(tokens)

    def use_tokens(self, tokens: Sequence[Token]) -> None:
        """Take these tokens from now on; sessions of a token that is gone or changed end with it."""
        if not tokens or any(not token.value for token in tokens):
            raise ValueError("at least one token is needed, and none may be empty")
        self._tokens = tuple(tokens)
        self._digests = [(hashlib.sha256(token.value.encode()).digest(), token) for token in tokens]

    def check_token(self, presented: bytes, address: str | None) -> Token | Denied:
        """The token that was presented, or why not.

        A wrong one counts against its address. While an address has to wait, a token that is too short to be safe
        from guessing is not looked at; a strong one always is, or any broken client could lock the others out.
        """
        digest = hashlib.sha256(presented).digest()
        found: Token | None = None
        for known, token in self._digests:  # all of them, each time: the time taken tells nothing
            if hmac.compare_digest(known, digest):
                found = token
        wait_s = self.throttle.wait_s(address)
        if found is not None and (wait_s == 0.0 or len(found.value.encode()) >= SHORTEST_EXPOSED_TOKEN_BYTES):
            return found
        if wait_s > 0.0:
            return Denied("too many wrong tokens; wait before the next try", wait_s)
        return Denied("the token is wrong", self.throttle.failed(address))

    def open_session(self, token: Token) -> str:
        """Start a browser session with this token; returns the cookie's value."""
        return self.sessions.open(token_name=token.name, token_mark=mark_of(token.value))

    def token_of_session(self, secret: str) -> Token | None:
        session = self.sessions.find(secret)
        if session is None:
            return None
        token = self.token_named(session.token_name)
        return token if token is not None and mark_of(token.value) == session.token_mark else None

    def token_named(self, name: str) -> Token | None:
        return next((token for token in self._tokens if token.name == name), None)

    def login_url(self, base_url: str, *, token_name: str | None = None) -> str:
        """A link that logs a browser in: one use, within five minutes. `base_url` has no slash at the end."""
        code = self.codes.issue(self._tokens[0].name if token_name is None else token_name)
        return f"{base_url}/login?{urlencode({'code': code})}"


class AuthMiddleware:
    """Lets a request through with its principal, or answers 401, 403 or 429; HTML pages lead to the login page."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        auth: Auth,
        open_paths: Collection[str] = (),
        open_prefixes: Iterable[str] = (),
        challenge: str = "Bearer",
        connectors: Connectors | None = None,
    ) -> None:
        """`open_paths` and `open_prefixes` add to the built-in ones; `challenge` is the WWW-Authenticate header.

        `connectors` is asked first about every bearer token: it knows those that OAuth gave.
        """
        self._app = app
        self._auth = auth
        self._open_paths = OPEN_PATHS | frozenset(open_paths)
        self._open_prefixes = (*OPEN_PREFIXES, *open_prefixes)
        self._challenge = challenge
        self._connectors = connectors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _WANTED}
        caller = self._identify(scope, headers)
        if isinstance(caller, Denied):
            await self._refuse(scope, headers, caller)(scope, receive, send)
            return
        if caller.via == "session" and scope["method"] not in _READS and not scope.get(SAME_ORIGIN, False):
            message = "a change needs a bearer token, or must come from one of this server's own pages"
            await refusal(403, "not_same_origin", message)(scope, receive, send)
            return
        scope[PRINCIPAL] = caller
        await self._app(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path in self._open_paths or path.startswith(self._open_prefixes)

    def _identify(self, scope: Scope, headers: Mapping[bytes, str]) -> Principal | Denied:
        presented = bearer(headers.get(b"authorization"))
        if presented is not None:
            if self._connectors is not None and (known := self._connectors(presented, scope["path"])) is not None:
                return known
            token = self._auth.check_token(presented, address_of(scope))
            return token if isinstance(token, Denied) else Principal(token.name, token.scope)
        secret = session_secret(headers.get(b"cookie"), port_of(scope))
        if secret is not None:
            token_of_session = self._auth.token_of_session(secret)
            if token_of_session is not None:
                return Principal(token_of_session.name, token_of_session.scope, via="session")
        return Denied("a token is needed: send it as 'Authorization: Bearer …', or log in")

    def _refuse(self, scope: Scope, headers: Mapping[bytes, str], denied: Denied) -> ASGIApp:
        if _wants_page(scope, headers):
            return RedirectResponse(f"/login?next={quote(_here(scope), safe='')}", status_code=303)
        if denied.wait_s > 0.0:
            return refusal(429, "too_many_tries", denied.message, headers=retry_after(denied.wait_s))
        return refusal(401, "unauthorized", denied.message, headers={"WWW-Authenticate": self._challenge})


def bearer(authorization: str | None) -> bytes | None:
    """The token in an Authorization header (decoded as latin-1), as it was sent; None when it has none."""
    if authorization is None or authorization[:7].lower() != "bearer ":
        return None
    return authorization[7:].strip().encode("latin-1")


def cookie_name(port: int) -> str:
    """Cookies do not tell ports apart; two daemons on one machine would log each other's browsers out."""
    return f"vaultd-session-{port}"


def session_secret(cookies: str | None, port: int) -> str | None:
    """The session's secret in a Cookie header."""
    wanted = cookie_name(port)
    for pair in (cookies or "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted and value:
            return value
    return None


def port_of(scope: Scope) -> int:
    """The port this server listens on; behind a proxy that is not the one the browser sees, and just as good."""
    server = scope.get("server")
    return int(server[1]) if server and server[1] is not None else 0


def address_of(scope: Scope) -> str | None:
    client = scope.get("client")
    return str(client[0]) if client else None


def _wants_page(scope: Scope, headers: Mapping[bytes, str]) -> bool:
    if scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(_PROGRAM_PREFIXES):
        return False
    return "text/html" in headers.get(b"accept", "")


def _here(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    path = quote(scope["path"])
    return f"{path}?{query}" if query else path
