"""Who asks: registration of clients, client-id metadata documents, and where answers may be sent.

A client is a program, known by what it says of itself. It gets nothing before a person has agreed; what has to be
checked here is that the answer can only go to a place the client named beforehand, and that nobody makes this server
fetch an address inside its own network.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
import secrets
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import SplitResult, urlsplit

from vaultd.web.oauth_store import OAuthClient, OAuthStore, digest_of

LONGEST_DOCUMENT_BYTES: Final = 5 * 1024
FETCH_TIMEOUT_S: Final = 5.0
DOCUMENT_LIFETIME_S: Final = 3600.0
LONGEST_URL: Final = 2048
LONGEST_NAME: Final = 80
MOST_REDIRECTS: Final = 10
AUTH_METHODS: Final = ("none", "client_secret_post", "client_secret_basic")

_MOST_DOCUMENTS: Final = 100
_HOST: Final = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_UNSAFE_SCHEMES: Final = frozenset(
    {
        "javascript",
        "data",
        "vbscript",
        "file",
        "blob",
        "about",
        "view-source",
        "filesystem",
        "ftp",
        "ws",
        "wss",
        "mailto",
    }
)

Fetch = Callable[[str], Awaitable[bytes]]


class ClientRefused(Exception):
    """`code` is OAuth's word for it, the text one line for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def check_redirect(uri: str) -> None:
    """Refuse an address to which no answer may go: raises ClientRefused.

    Good are https, http to this machine, and an app's own scheme; with no fragment and no user name.
    """
    parts = _split(uri)
    if parts is None or not parts.scheme or parts.fragment or "#" in uri or len(uri) > LONGEST_URL:
        raise ClientRefused("invalid_redirect_uri", f"{uri[:80]!r} is not an absolute address without a fragment")
    if parts.username is not None or parts.password is not None:
        raise ClientRefused("invalid_redirect_uri", f"{uri[:80]!r} carries a user name")
    if parts.scheme in _UNSAFE_SCHEMES:
        raise ClientRefused("invalid_redirect_uri", f"answers are not sent to {parts.scheme}: addresses")
    if parts.scheme in ("http", "https") and not _HOST.fullmatch(parts.netloc):
        raise ClientRefused("invalid_redirect_uri", f"{uri[:80]!r} names no host")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ClientRefused("invalid_redirect_uri", "http is for this machine only; use https")


def redirect_allowed(client: OAuthClient, uri: str) -> bool:
    """Whether the client named this address; of a loopback address the port may differ (RFC 8252, 7.3)."""
    if uri in client.redirect_uris:
        return True
    asked = _split(uri)
    if asked is None or asked.scheme != "http" or asked.hostname not in _LOOPBACK or asked.username is not None:
        return False
    wanted = ("http", asked.hostname, asked.path, asked.query, asked.fragment)
    named = [urlsplit(known) for known in client.redirect_uris]
    return any((one.scheme, one.hostname, one.path, one.query, "") == wanted for one in named)


def _split(uri: str) -> SplitResult | None:
    if any(ord(character) <= 0x20 or ord(character) == 0x7F or character == "\\" for character in uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port, parts.hostname
    except ValueError:
        return None
    return parts


def _redirects(stated: Mapping[str, object]) -> tuple[str, ...]:
    uris = stated.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MOST_REDIRECTS or not all(isinstance(u, str) for u in uris):
        raise ClientRefused("invalid_redirect_uri", f"redirect_uris must be a list of 1 to {MOST_REDIRECTS} addresses")
    for uri in uris:
        check_redirect(uri)
    return tuple(uris)


def _name(stated: Mapping[str, object], otherwise: str) -> str:
    name = stated.get("client_name")
    if not isinstance(name, str):
        return otherwise
    plain = "".join(character for character in name if character.isprintable())
    return " ".join(plain.split())[:LONGEST_NAME] or otherwise


def _listed(stated: Mapping[str, object], key: str, wanted: str) -> None:
    values = stated.get(key)
    if values is not None and (not isinstance(values, list) or wanted not in values):
        raise ClientRefused("invalid_client_metadata", f"{key} must include {wanted!r}")


def register(store: OAuthStore, stated: Mapping[str, object], *, now_s: float) -> dict[str, object]:
    """Dynamic registration (RFC 7591): keep the client and return what it is told. Raises ClientRefused.

    Blocks for the disk.
    """
    method = stated.get("token_endpoint_auth_method") or "client_secret_basic"
    if method not in AUTH_METHODS:
        raise ClientRefused(
            "invalid_client_metadata", f"token_endpoint_auth_method must be of {', '.join(AUTH_METHODS)}"
        )
    _listed(stated, "grant_types", "authorization_code")
    _listed(stated, "response_types", "code")
    redirects = _redirects(stated)
    secret = "" if method == "none" else secrets.token_urlsafe(32)
    client = OAuthClient(
        client_id=secrets.token_urlsafe(16),
        name=_name(stated, "unnamed program"),
        redirect_uris=redirects,
        auth_method=str(method),
        secret_digest=digest_of(secret) if secret else "",
        registered_s=now_s,
    )
    store.add_client(client)
    told: dict[str, object] = {
        "client_id": client.client_id,
        "client_id_issued_at": int(now_s),
        "client_name": client.name,
        "redirect_uris": list(redirects),
        "token_endpoint_auth_method": client.auth_method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    return told | ({"client_secret": secret, "client_secret_expires_at": 0} if secret else {})


def secret_fits(client: OAuthClient, secret: str) -> bool:
    """Whether the client may speak for itself at the token endpoint."""
    if client.auth_method == "none":
        return True
    return hmac.compare_digest(client.secret_digest, digest_of(secret))


# -- clients that are known by the address of a document about them ----------------------------------------------------


def is_document_id(client_id: str) -> bool:
    """Whether a client id is an https address with a path, hence a document to fetch."""
    parts = _split(client_id)
    if parts is None or len(client_id) > LONGEST_URL:
        return False
    dotted = any(segment in (".", "..") for segment in parts.path.split("/"))
    plain = not parts.fragment and "#" not in client_id and parts.username is None and not dotted
    return parts.scheme == "https" and bool(parts.hostname) and parts.path not in ("", "/") and plain


@dataclass(frozen=True, slots=True)
class _Kept:
    client: OAuthClient
    until_s: float


class Documents:
    """Client-id metadata documents, fetched when first asked for and kept for an hour."""

    def __init__(self, *, fetch: Fetch, clock: Callable[[], datetime]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def client(self, client_id: str) -> OAuthClient:
        """The client that the document describes. Raises ClientRefused."""
        now_s = self._clock().timestamp()
        kept = self._kept.get(client_id)
        if kept is not None and kept.until_s > now_s:
            return kept.client
        client = _from_document(client_id, await self._fetch(client_id))
        self._kept[client_id] = _Kept(client, now_s + DOCUMENT_LIFETIME_S)
        if len(self._kept) > _MOST_DOCUMENTS:
            self._kept.popitem(last=False)
        return client


def _from_document(client_id: str, raw: bytes) -> OAuthClient:
    try:
        stated = json.loads(raw)
    except ValueError as exc:
        raise ClientRefused("invalid_client", "the client's document is not JSON") from exc
    if not isinstance(stated, dict) or stated.get("client_id") != client_id:
        raise ClientRefused("invalid_client", "the client's document does not name its own address as client_id")
    if stated.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in stated:
        raise ClientRefused("invalid_client", "a client with a document has no secret: it must use 'none'")
    host = urlsplit(client_id).hostname or ""
    return OAuthClient(client_id, _name(stated, host), _redirects(stated))


async def fetch_document(url: str) -> bytes:
    """The document behind a client id, from a public address only. Raises ClientRefused.

    The name is looked up once and the connection goes to the address that was checked: it cannot change in between.
    """
    import httpx2

    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    address = await _public_address(host, port)
    where = parts._replace(netloc=f"[{address}]:{port}" if ":" in address else f"{address}:{port}").geturl()
    headers = {"Host": parts.netloc, "Accept": "application/json"}
    try:
        async with (
            asyncio.timeout(FETCH_TIMEOUT_S),  # for all of it: a host that drips must not hold us
            httpx2.AsyncClient(timeout=FETCH_TIMEOUT_S, trust_env=False, follow_redirects=False) as http,
            http.stream("GET", where, headers=headers, extensions={"sni_hostname": host}) as answer,
        ):
            if answer.status_code != 200:
                raise ClientRefused("invalid_client", f"the client's document answers {answer.status_code}")
            raw = b""
            async for piece in answer.aiter_bytes():
                raw += piece
                if len(raw) > LONGEST_DOCUMENT_BYTES:
                    raise ClientRefused(
                        "invalid_client", f"the client's document exceeds {LONGEST_DOCUMENT_BYTES} bytes"
                    )
    except (httpx2.HTTPError, TimeoutError) as exc:
        raise ClientRefused(
            "invalid_client", f"the client's document cannot be fetched ({type(exc).__name__})"
        ) from exc
    return raw


async def _public_address(host: str, port: int) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise ClientRefused("invalid_client", f"the client's host {host!r} is not known") from exc
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(_is_public(address) for address in addresses):
        raise ClientRefused("invalid_client", f"the client's host {host!r} is not on the public internet")
    return addresses[0]


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = parsed if mapped is None else mapped
    return parsed.is_global and not parsed.is_multicast
