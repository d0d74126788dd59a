"""A clock that a test moves, and a client for the small application."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.testclient import TestClient

from tests.web.small_app import SmallApp

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class MovedClock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def browser(small: SmallApp, *, base_url: str = "http://127.0.0.1:8000", address: str = "127.0.0.1") -> TestClient:
    """A client that keeps cookies and follows no redirect."""
    return TestClient(small.app, base_url=base_url, follow_redirects=False, client=(address, 50000))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
