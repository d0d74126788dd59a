"""What remote connectors were given: registered clients, and grants with their tokens.

Secrets and tokens are kept as hashes only. A grant lives as long as the token of the person who gave it: a changed
`server.token` ends all of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from vaultd.config.files import write_text
from vaultd.core.errors import SettingsError

log = logging.getLogger(__name__)

ACCESS_PREFIX: Final = "vat_"
REFRESH_PREFIX: Final = "vrt_"
ACCESS_LIFETIME_S: Final = 3600
REFRESH_LIFETIME_S: Final = 60 * 24 * 3600
"""Since its last use: each refresh gives a new one."""

MOST_CLIENTS: Final = 200
MOST_GRANTS: Final = 200
_MOST_SPENT: Final = 50
_MOST_ACCESS: Final = 4
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A program that may ask for access. Being registered allows nothing by itself."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str = "none"
    """none, client_secret_post or client_secret_basic."""

    secret_digest: str = ""
    registered_s: float = 0.0
    """Seconds since 1970."""


@dataclass(slots=True)
class Grant:
    """What one client may do, until it is revoked."""

    grant_id: str
    client_id: str
    client_name: str
    token_name: str
    token_mark: str
    """The token of the person who agreed; see `sessions.mark_of`."""

    given_s: float
    used_s: float
    access: dict[str, float] = field(default_factory=dict)
    """Digest of each live access token, with the time it ends."""

    refresh: str = ""
    refresh_until_s: float = 0.0
    spent: list[str] = field(default_factory=list)
    """Digests of refresh tokens that were exchanged already: whoever shows one again has stolen it, or was robbed."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new pair of tokens."""

    access: str
    refresh: str
    expires_in_s: int


class OAuthStore:
    """Clients and grants in one file (mode 0600). Methods that write block for the disk; call them in a thread."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._clients, self._grants = _read(path)

    def client(self, client_id: str) -> OAuthClient | None:
        return self._clients.get(client_id)

    def add_client(self, client: OAuthClient) -> None:
        """Keep a client; past MOST_CLIENTS the oldest that nobody has granted anything gives way."""
        with self._lock:
            granted = {grant.client_id for grant in self._grants.values()}
            while len(self._clients) >= MOST_CLIENTS:
                idle = next((key for key in self._clients if key not in granted), None)
                del self._clients[next(iter(self._clients)) if idle is None else idle]
            self._clients[client.client_id] = client
            self._write()

    def grants(self) -> list[Grant]:
        """All live grants."""
        now_s = self._now()
        return [grant for grant in self._grants.values() if grant.refresh_until_s > now_s]

    def give(self, client: OAuthClient, *, token_name: str, token_mark: str) -> tuple[str, Issued]:
        """A new grant and its first tokens."""
        now_s = self._now()
        grant = Grant(secrets.token_hex(8), client.client_id, client.name, token_name, token_mark, now_s, now_s)
        with self._lock:
            self._grants = {key: one for key, one in self._grants.items() if one.refresh_until_s > now_s}
            while len(self._grants) >= MOST_GRANTS:
                del self._grants[min(self._grants, key=lambda key: self._grants[key].used_s)]
            self._grants[grant.grant_id] = grant
            return grant.grant_id, self._issue(grant)

    def renew(self, refresh: str, client_id: str) -> Issued | None:
        """New tokens for a refresh token, which is spent by that; None: it is wrong, spent or too old.

        A spent one ends the whole grant, since somebody has a copy of it.
        """
        digest = digest_of(refresh)
        with self._lock:
            for grant in self._grants.values():
                if grant.client_id != client_id:
                    continue
                if digest in grant.spent:
                    log.warning("a spent refresh token of %s came again; its access ends", grant.client_name)
                    self._drop(grant.grant_id)
                    return None
                if grant.refresh == digest and grant.refresh_until_s > self._now():
                    grant.spent = [*grant.spent, digest][-_MOST_SPENT:]
                    return self._issue(grant)
        return None

    def grant_of_access(self, access: str) -> Grant | None:
        """The grant of a live access token."""
        digest, now_s = digest_of(access), self._now()
        for grant in list(self._grants.values()):
            if grant.access.get(digest, 0.0) > now_s:
                return grant
        return None

    def grant_of(self, token: str, client_id: str) -> Grant | None:
        """The grant of this client that an access or refresh token belongs to."""
        digest = digest_of(token)
        for grant in list(self._grants.values()):
            if grant.client_id == client_id and (digest == grant.refresh or digest in grant.access):
                return grant
        return None

    def revoke(self, grant_id: str) -> bool:
        """End a grant; whether there was one."""
        with self._lock:
            return self._drop(grant_id)

    def _issue(self, grant: Grant) -> Issued:
        now_s = self._now()
        access = ACCESS_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        refresh = REFRESH_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        # calls that are under way finish with the token they began with
        live = [(key, until_s) for key, until_s in grant.access.items() if until_s > now_s]
        grant.access = dict([*live[-_MOST_ACCESS + 1 :], (digest_of(access), now_s + ACCESS_LIFETIME_S)])
        grant.refresh = digest_of(refresh)
        grant.refresh_until_s = now_s + REFRESH_LIFETIME_S
        grant.used_s = now_s
        self._write()
        return Issued(access, refresh, ACCESS_LIFETIME_S)

    def _drop(self, grant_id: str) -> bool:
        found = self._grants.pop(grant_id, None) is not None
        if found:
            self._write()
        return found

    def _now(self) -> float:
        return self._clock().timestamp()

    def _write(self) -> None:
        whole = {
            "clients": [asdict(client) for client in self._clients.values()],
            "grants": [asdict(grant) for grant in self._grants.values()],
        }
        try:
            write_text(self._path, json.dumps(whole), private=True)
        except SettingsError as exc:
            log.warning("connectors are not kept across restarts: %s", exc)


def digest_of(secret: str) -> str:
    """The form in which a secret is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(path: Path) -> tuple[dict[str, OAuthClient], dict[str, Grant]]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        clients = [OAuthClient(**{**one, "redirect_uris": tuple(one["redirect_uris"])}) for one in stored["clients"]]
        grants = [Grant(**one) for one in stored["grants"]]
    except FileNotFoundError:
        return {}, {}
    except (OSError, ValueError, TypeError, KeyError) as exc:
        log.warning("%s cannot be read (%s); connectors have to be connected again", path, exc)
        return {}, {}
    return {one.client_id: one for one in clients}, {one.grant_id: one for one in grants}
