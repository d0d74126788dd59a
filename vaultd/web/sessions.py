"""Browser sessions and one-use login codes. Secrets are kept as hashes only: a read file logs nobody in."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from vaultd.wholefile import write_whole

log = logging.getLogger(__name__)

SESSION_LIFETIME_S: Final = 30 * 24 * 3600
CODE_LIFETIME_S: Final = 5 * 60
MOST_SESSIONS: Final = 200
MOST_CODES: Final = 50
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has shown a token once."""

    token_name: str
    token_mark: str
    """Tells whether the token is still the one that was shown; see `mark_of`."""

    expires_s: float
    """Seconds since 1970."""


def mark_of(token: str) -> str:
    """A short fingerprint of a token; another hash than the one that tokens are compared by."""
    return hashlib.blake2b(token.encode(), digest_size=12, person=b"vaultd-session").hexdigest()


class SessionTable:
    """Sessions by the hash of their cookie's value, kept in `path` (mode 0600) across restarts; None: in memory only."""

    def __init__(self, path: Path | None, *, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {} if path is None else _read(path)

    def open(self, *, token_name: str, token_mark: str) -> str:
        """Start a session and return its secret, the cookie's value. The oldest ones end past MOST_SESSIONS."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        now_s = self._clock().timestamp()
        with self._lock:
            self._sessions = {key: one for key, one in self._sessions.items() if one.expires_s > now_s}
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[_digest(secret)] = Session(token_name, token_mark, now_s + SESSION_LIFETIME_S)
            self._write()
        return secret

    def find(self, secret: str) -> Session | None:
        """The live session with this secret."""
        session = self._sessions.get(_digest(secret))
        if session is None or session.expires_s <= self._clock().timestamp():
            return None
        return session

    def close(self, secret: str) -> None:
        """End the session with this secret, if there is one."""
        with self._lock:
            if self._sessions.pop(_digest(secret), None) is not None:
                self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        text = json.dumps({key: asdict(one) for key, one in self._sessions.items()})
        try:
            write_whole(self._path, text.encode(), mode=0o600)
        except OSError as exc:
            log.warning("sessions are not kept across restarts: %s", exc)


class LoginCodes:
    """Codes of login links: one use, five minutes, in memory."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._codes: dict[str, tuple[str, float]] = {}

    def issue(self, token_name: str) -> str:
        """A new code that logs in with the named token."""
        now_s = self._clock().timestamp()
        self._codes = {key: entry for key, entry in self._codes.items() if entry[1] > now_s}
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(_SECRET_BYTES)
        self._codes[_digest(code)] = (token_name, now_s + CODE_LIFETIME_S)
        return code

    def redeem(self, code: str) -> str | None:
        """The token's name, once; None for a code that is used, too old or wrong."""
        entry = self._codes.pop(_digest(code), None)
        if entry is None or entry[1] <= self._clock().timestamp():
            return None
        return entry[0]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(path: Path) -> dict[str, Session]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {str(key): Session(**fields) for key, fields in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as exc:
        log.warning("%s cannot be read (%s); browsers have to log in again", path, exc)
        return {}
