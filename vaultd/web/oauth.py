"""OAuth 2.1 for remote connectors: this server is both the resource and its authorization server.

A connector finds the metadata, registers (or names a document about itself), sends the person's browser to the consent
page, and exchanges the code that comes back for tokens. Those open `/mcp` and nothing else. All of it exists only when
`server.public_url` is set.

Sources: draft-ietf-oauth-v2-1 (code flow with PKCE), RFC 7591 (registration), RFC 7009 (revocation), RFC 8414 and
RFC 9728 (metadata), RFC 8707 (resource), RFC 9207 (`iss` in the answer).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from vaultd.core.errors import SettingsError
from vaultd.web.auth import Auth, Denied, Principal, address_of
from vaultd.web.oauth_clients import (
    AUTH_METHODS,
    ClientRefused,
    Documents,
    Fetch,
    fetch_document,
    is_document_id,
    register,
    secret_fits,
)
from vaultd.web.oauth_codes import Codes
from vaultd.web.oauth_store import ACCESS_PREFIX, Issued, OAuthClient, OAuthStore
from vaultd.web.refusal import retry_after
from vaultd.web.sessions import mark_of
from vaultd.web.throttle import Meter

SCOPE: Final = "memory"
"""The one thing that can be granted: the tools of the MCP server."""

RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
OPENED: Final = ("/mcp", "/mcp/")
OPEN_PATHS: Final = frozenset(
    {
        RESOURCE_METADATA,
        f"{RESOURCE_METADATA}/mcp",
        SERVER_METADATA,
        "/authorize",
        "/register",
        "/token",
        "/revoke",
    }
)
"""Paths that ask for no token. Clients of the revision 2025-03-26, and those that have kept tokens but not the metadata,
look for the endpoints under just these names. The consent page looks at the session itself."""

REGISTRATIONS_AN_HOUR: Final = 20
TOKEN_CALLS_A_MINUTE: Final = 60
LONGEST_FORM_BYTES: Final = 16 * 1024
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}


def issuer_of(public_url: str) -> str:
    """`server.public_url` as an issuer: scheme and host alone. Raises SettingsError where it cannot be one."""
    parts = urlsplit(public_url)
    near = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not near:
        raise SettingsError(f"server.public_url: {public_url!r} must begin with https://, or connectors refuse it")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise SettingsError(f"server.public_url: {public_url!r} must be an address without a path")
    return f"{parts.scheme}://{parts.netloc}".lower()


class OAuth:
    """The authorization server, and the check of its tokens."""

    def __init__(
        self,
        public_url: str,
        auth: Auth,
        path: Path,
        *,
        clock: Callable[[], datetime],
        fetch: Fetch = fetch_document,
    ) -> None:
        """`path`: the file of clients and grants. Raises SettingsError for an address that cannot be an issuer."""
        self.issuer = issuer_of(public_url)
        self.resource = f"{self.issuer}/mcp"
        self.store = OAuthStore(path, clock=clock)
        self.codes = Codes(clock=clock)
        self.challenge = f'Bearer resource_metadata="{self.issuer}{RESOURCE_METADATA}/mcp", scope="{SCOPE}"'
        self._auth = auth
        self._clock = clock
        self._documents = Documents(fetch=fetch, clock=clock)
        self._registrations = Meter(REGISTRATIONS_AN_HOUR, 3600.0, clock=clock)
        self._calls = Meter(TOKEN_CALLS_A_MINUTE, 60.0, clock=clock)

    def routes(self) -> list[BaseRoute]:
        """Everything but the consent page."""
        return [
            Route(RESOURCE_METADATA, self._resource_metadata),
            Route(f"{RESOURCE_METADATA}/mcp", self._resource_metadata),
            Route(SERVER_METADATA, self._server_metadata),
            Route("/register", self._register, methods=["POST"]),
            Route("/token", self._token, methods=["POST"]),
            Route("/revoke", self._revoke, methods=["POST"]),
        ]

    def check(self, presented: bytes, path: str) -> Principal | Denied | None:
        """Who presents an access token of ours on this path; None: it is no such token, but perhaps another."""
        if not presented.startswith(ACCESS_PREFIX.encode()):
            return None
        grant = self.store.grant_of_access(presented.decode("ascii", "replace"))
        token = None if grant is None else self._auth.token_named(grant.token_name)
        if grant is None or token is None or mark_of(token.value) != grant.token_mark:
            return Denied("this access token has ended; refresh it, or connect again")
        if path not in OPENED:
            return Denied("a connector's token opens /mcp and nothing else")
        return Principal(f"connector {grant.client_name}", token.scope)

    async def find_client(self, client_id: str, address: str | None) -> OAuthClient:
        """A registered client, or one with a document. Raises ClientRefused."""
        known = self.store.client(client_id)
        if known is not None:
            return known
        if not is_document_id(client_id):
            raise ClientRefused("invalid_client", "this client is not registered here; it has to register again")
        if self._calls.wait_s(address) > 0.0:
            raise ClientRefused("temporarily_unavailable", "too many requests; try again in a minute")
        self._calls.count(address)
        return await self._documents.client(client_id)

    def own_resource(self, resource: str | None) -> bool:
        """Whether a client means this server (RFC 8707); one that does not say means it too."""
        return resource is None or resource.rstrip("/").lower() in (self.issuer, self.resource)

    # -- metadata -----------------------------------------------------------------------------------------------------

    async def _resource_metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "resource": self.resource,
                "authorization_servers": [self.issuer],
                "scopes_supported": [SCOPE],
                "bearer_methods_supported": ["header"],
                "resource_name": "vaultd memory",
            },
            headers={"Access-Control-Allow-Origin": "*"},
        )

    async def _server_metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "registration_endpoint": f"{self.issuer}/register",
                "revocation_endpoint": f"{self.issuer}/revoke",
                "scopes_supported": [SCOPE],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
                "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
            },
            headers={"Access-Control-Allow-Origin": "*"},
        )

    # -- endpoints of clients -----------------------------------------------------------------------------------------

    async def _register(self, request: Request) -> Response:
        address = address_of(request.scope)
        if (wait_s := self._registrations.wait_s(address)) > 0.0:
            return _said(429, "temporarily_unavailable", "too many registrations from this address", wait_s)
        self._registrations.count(address)
        raw = await request.body()
        try:
            stated = json.loads(raw) if len(raw) <= LONGEST_FORM_BYTES else None
        except ValueError:
            stated = None
        if not isinstance(stated, dict):
            return _said(400, "invalid_client_metadata", "a JSON object is wanted, of at most 16 KiB")
        try:
            told = await asyncio.to_thread(register, self.store, stated, now_s=self._clock().timestamp())
        except ClientRefused as exc:
            return _said(400, exc.code, str(exc))
        return JSONResponse(told, status_code=201, headers=_NO_STORE)

    async def _token(self, request: Request) -> Response:
        checked = await self._from_client(request)
        if isinstance(checked, Response):
            return checked
        client, form = checked
        if not self.own_resource(form.get("resource")):
            return _said(400, "invalid_target", f"tokens are given for {self.resource} only")
        match form.get("grant_type"):
            case "authorization_code":
                return await self._exchange(client, form)
            case "refresh_token":
                issued = await asyncio.to_thread(self.store.renew, form.get("refresh_token", ""), client.client_id)
                if issued is None:
                    return _said(400, "invalid_grant", "this refresh token is not good any more; connect again")
                return _issued(issued)
            case other:
                return _said(400, "unsupported_grant_type", f"grant_type {str(other)[:40]!r} is not known here")

    async def _exchange(self, client: OAuthClient, form: Mapping[str, str]) -> Response:
        code = form.get("code", "")
        if (stolen := self.codes.grant_of_used(code)) is not None:
            await asyncio.to_thread(self.store.revoke, stolen)
            return _said(400, "invalid_grant", "this code was used before; what it gave has ended")
        agreed = self.codes.redeem(code)
        if agreed is None or agreed.client_id != client.client_id or agreed.redirect_uri != form.get("redirect_uri"):
            return _said(400, "invalid_grant", "this code is wrong, too old, or another client's")
        if not _verified(form.get("code_verifier", ""), agreed.challenge):
            return _said(400, "invalid_grant", "code_verifier does not fit code_challenge")
        grant_id, issued = await asyncio.to_thread(
            self.store.give, client, token_name=agreed.token_name, token_mark=agreed.token_mark
        )
        self.codes.used(code, grant_id)
        return _issued(issued)

    async def _revoke(self, request: Request) -> Response:
        checked = await self._from_client(request)
        if isinstance(checked, Response):
            return checked
        client, form = checked
        grant = self.store.grant_of(form.get("token", ""), client.client_id)
        if grant is not None:
            await asyncio.to_thread(self.store.revoke, grant.grant_id)
        return Response(status_code=200, headers=_NO_STORE)  # also where there was nothing (RFC 7009, 2.2)

    async def _from_client(self, request: Request) -> tuple[OAuthClient, dict[str, str]] | Response:
        """The client that sends a form, checked, or the answer that it gets instead."""
        address = address_of(request.scope)
        if (wait_s := self._calls.wait_s(address)) > 0.0:
            return _said(429, "temporarily_unavailable", "too many requests from this address", wait_s)
        self._calls.count(address)
        raw = await request.body()
        pairs = parse_qsl(raw[:LONGEST_FORM_BYTES].decode("utf-8", "replace"), keep_blank_values=True)
        form = dict(pairs)
        if len(form) != len(pairs):
            return _said(400, "invalid_request", "a parameter came twice")
        basic = _basic(request.headers.get("authorization", ""))
        client_id, secret = basic or (form.get("client_id", ""), form.get("client_secret", ""))
        try:
            client = await self.find_client(client_id, address)
        except ClientRefused as exc:
            return _said(401, "invalid_client", str(exc), basic=basic is not None)
        if not secret_fits(client, secret):
            return _said(401, "invalid_client", "the client's secret is wrong", basic=basic is not None)
        return client, form


def _verified(verifier: str, challenge: str) -> bool:
    if not 43 <= len(verifier) <= 128:
        return False
    digest = hashlib.sha256(verifier.encode()).digest()
    return hmac.compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"="), challenge.encode())


def _basic(authorization: str) -> tuple[str, str] | None:
    if authorization[:6].lower() != "basic ":
        return None
    try:
        name, _, secret = base64.b64decode(authorization[6:], validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return unquote(name), unquote(secret)


def _issued(issued: Issued) -> Response:
    whole = {
        "access_token": issued.access,
        "token_type": "Bearer",
        "expires_in": issued.expires_in_s,
        "refresh_token": issued.refresh,
        "scope": SCOPE,
    }
    return JSONResponse(whole, headers=_NO_STORE)


def _said(status: int, error: str, text: str, wait_s: float = 0.0, *, basic: bool = False) -> Response:
    """OAuth's own form of an error."""
    headers = {**_NO_STORE, **(retry_after(wait_s) if wait_s > 0.0 else {})}
    if basic:
        headers["WWW-Authenticate"] = "Basic"
    return JSONResponse({"error": error, "error_description": text}, status_code=status, headers=headers)
