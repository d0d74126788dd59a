"""What chat models cost whoever asks them: requests and tokens, apart from what others ask at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Spend:
    """Requests that were sent, and tokens as the endpoint counted them; estimated where it does not say."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def take(self) -> dict[str, int]:
        """What has come together since the last time, without zeros."""
        counts = {"requests": self.requests, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out}
        self.requests = self.tokens_in = self.tokens_out = 0
        return {name: count for name, count in counts.items() if count}


_counting: ContextVar[Spend | None] = ContextVar("spend", default=None)


@contextmanager
def counted() -> Iterator[Spend]:
    """Count what this task, and the tasks that it starts inside, ask of chat models."""
    spend = Spend()
    token = _counting.set(spend)
    try:
        yield spend
    finally:
        _counting.reset(token)


def note(*, requests: int = 0, tokens_in: int = 0, tokens_out: int = 0) -> None:
    """Add to what is being counted, if anybody counts."""
    spend = _counting.get()
    if spend is not None:
        spend.requests += requests
        spend.tokens_in += tokens_in
        spend.tokens_out += tokens_out
