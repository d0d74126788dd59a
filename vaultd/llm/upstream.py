"""The endpoint that chats are passed on to: bytes out, bytes back, nothing read into them and nothing changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from vaultd.core.errors import ModelBadAnswer, ModelTimedOut, ModelUnavailable
from vaultd.settings import Settings

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S: Final = 10.0
Headers = Sequence[tuple[bytes, bytes]]

NOT_CONFIGURED: Final = (
    "the gateway has no upstream: set gateway.upstream (and gateway.api_key), or a chat model with llm.api_key"
)
# of one connection, or made anew by whoever sends; RFC 9110 §7.6.1
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS: Final = frozenset(
    {
        b"host",
        b"content-length",
        b"authorization",
        b"api-key",
        b"x-api-key",
        b"cookie",
        b"origin",
        b"referer",
        b"accept-encoding",
        b"forwarded",
        b"via",
    }
)
_OURS_BEGIN: Final = (b"x-vaultd-", b"x-forwarded-", b"sec-fetch-", b"sec-ch-", b"cf-", b"x-real-ip")
_NOT_BACK: Final = frozenset({b"content-length", b"content-encoding", b"set-cookie", b"server", b"date"})


@dataclass(frozen=True, slots=True)
class Target:
    """Where a chat goes: the address that ends in `/v1` or the like, the key ("" for none), the default model."""

    base_url: str
    api_key: str
    model: str


def target_of(settings: Settings) -> Target:
    """The upstream of these settings. Raises ModelUnavailable with what to set where there is none."""
    gateway, chat = settings.gateway, settings.llm
    own = gateway.upstream.strip()
    if not own and not chat.configured:
        raise ModelUnavailable(NOT_CONFIGURED)
    base = (own or chat.base_url).strip().rstrip("/")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelUnavailable(f"gateway.upstream {base!r} is no address: write it as https://host/v1")
    key = gateway.api_key.strip() if own else chat.api_key.strip()
    return Target(base, key, gateway.model.strip() or chat.model.strip())


class UpstreamAnswer:
    """An answer whose head is there; its body comes as `chunks`."""

    def __init__(self, response: httpx2.Response, host: str) -> None:
        self._response = response
        self._host = host
        self.status = response.status_code
        self.headers: Headers = [
            (name.lower(), value)
            for name, value in response.headers.raw
            if name.lower() not in _HOP_BY_HOP and name.lower() not in _NOT_BACK
        ]

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it comes. Raises ModelTimedOut, and ModelBadAnswer where it breaks off."""
        import httpx2

        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx2.TimeoutException as exc:
            raise ModelTimedOut(f"{self._host} went silent in the midst of its answer") from exc
        except httpx2.HTTPError as exc:
            raise ModelBadAnswer(f"{self._host} broke off in the midst of its answer") from exc


class Upstream:
    """Connections to the upstream, as many as there are chats."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def ask(
        self, target: Target, method: str, path: str, headers: Headers, body: bytes, *, timeout_s: float
    ) -> AsyncIterator[UpstreamAnswer]:
        """Send a request; leaving the context before its end cancels it upstream.

        Headers of ours and those of the connection stay behind. Raises ModelUnavailable, ModelTimedOut.
        """
        import httpx2

        client = await self._opened()
        parts = urlsplit(target.base_url)
        host = parts.hostname or "the upstream"
        sent = [(name, value) for name, value in headers if _goes_up(name.lower())]
        sent.append((b"accept-encoding", b"identity"))
        if target.api_key:
            sent.append((b"authorization", b"Bearer " + target.api_key.encode("utf-8", "replace")))
        timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s), pool=None)
        try:
            request = client.build_request(
                method, f"{target.base_url}{path}", headers=sent, content=body or None, timeout=timeout
            )
            response = await client.send(request, stream=True, follow_redirects=False)
        except httpx2.TimeoutException as exc:
            raise ModelTimedOut(f"{host} did not answer within {timeout_s:g} s") from exc
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise ModelUnavailable(f"{host} cannot be reached ({type(exc).__name__}); see gateway.upstream") from exc
        try:
            if response.has_redirect_location:
                raise ModelBadAnswer(
                    f"{host} sends elsewhere, which is not followed; set gateway.upstream to the place"
                )
            yield UpstreamAnswer(response, host)
        finally:
            await response.aclose()

    async def _opened(self) -> httpx2.AsyncClient:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_client)
            return self._client

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _client() -> httpx2.AsyncClient:
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=60.0)
    client = httpx2.AsyncClient(limits=limits)
    client.headers = httpx2.Headers()
    return client


def _goes_up(name: bytes) -> bool:
    return name not in _HOP_BY_HOP and name not in _OURS and not name.startswith(_OURS_BEGIN)
