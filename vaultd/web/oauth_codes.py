"""What is open between a connector's question and its first token: questions asked, codes given. In memory only."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from vaultd.web.oauth_store import digest_of

QUESTION_LIFETIME_S: Final = 600.0
CODE_LIFETIME_S: Final = 60.0
USED_CODE_KEPT_S: Final = 600.0
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Question:
    """A request for access that a person has been shown."""

    client_id: str
    client_name: str
    redirect_uri: str
    challenge: str
    state: str | None
    token_name: str
    token_mark: str
    """Of the person who was shown it: nobody else can answer."""


_Kind = TypeVar("_Kind")


class _Open(Generic[_Kind]):
    """Values under secret keys, each taken out once, for a limited time; past the limit the oldest go."""

    def __init__(self, lifetime_s: float, clock: Callable[[], datetime]) -> None:
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._kept: dict[str, tuple[_Kind, float]] = {}

    def put(self, secret: str, value: _Kind) -> None:
        now_s = self._clock().timestamp()
        self._kept = {key: entry for key, entry in self._kept.items() if entry[1] > now_s}
        while len(self._kept) >= _MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[digest_of(secret)] = (value, now_s + self._lifetime_s)

    def take(self, secret: str) -> _Kind | None:
        entry = self._kept.pop(digest_of(secret), None)
        return None if entry is None or entry[1] <= self._clock().timestamp() else entry[0]


class Codes:
    """Questions by the secret in their form, and authorization codes."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._questions: _Open[Question] = _Open(QUESTION_LIFETIME_S, clock)
        self._codes: _Open[Question] = _Open(CODE_LIFETIME_S, clock)
        self._used: _Open[str] = _Open(USED_CODE_KEPT_S, clock)

    def ask(self, question: Question) -> str:
        """Keep a question; returns the secret that its answer must carry."""
        secret = secrets.token_urlsafe(32)
        self._questions.put(secret, question)
        return secret

    def answered(self, secret: str) -> Question | None:
        """The question that this answer belongs to, once."""
        return self._questions.take(secret)

    def issue(self, question: Question) -> str:
        """A code for a question that was answered with yes; good for a minute, once."""
        code = secrets.token_urlsafe(32)
        self._codes.put(code, question)
        return code

    def redeem(self, code: str) -> Question | None:
        """What was agreed to under this code, once."""
        return self._codes.take(code)

    def used(self, code: str, grant_id: str) -> None:
        """Remember what came of a code, in case it is shown again."""
        self._used.put(code, grant_id)

    def grant_of_used(self, code: str) -> str | None:
        """The grant that this code has given already."""
        return self._used.take(code)
