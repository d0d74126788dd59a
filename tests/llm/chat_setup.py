"""A chat analyst against a played endpoint, with time and chance in the test's hand."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import pytest

from tests.model_server import CHAT_MODEL, ModelServer
from vaultd.core.errors import ModelError
from vaultd.llm.budget import RequestBudget
from vaultd.llm.chat import ChatAnalyst
from vaultd.llm.condense_cache import CondenseCache
from vaultd.settings import ChatModelSettings

KEY = "sk-played-key"
TODAY = date(2026, 11, 30)
GOOD = {"name": "n", "domain": ["love"], "valence": 0.5, "arousal": 0.5, "tags": ["t"]}


class Waits:
    """Sleeps that take no time and are remembered; a monotonic clock that only the test moves."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def monotonic(self) -> float:
        return self.now


def settings_for(server: ModelServer, **changes) -> ChatModelSettings:
    return ChatModelSettings(**{"base_url": server.url, "api_key": KEY, "model": CHAT_MODEL, **changes})


def an_analyst(settings: ChatModelSettings, state: Path, waits: Waits | None = None, *, cap: int = 0) -> ChatAnalyst:
    waits = waits or Waits()
    return ChatAnalyst(
        settings,
        budget=RequestBudget(state / "requests.json", cap, today=lambda: TODAY),
        cache=CondenseCache(state / "condensed.sqlite"),
        rng=random.Random(7),
        sleep=waits.sleep,
        monotonic=waits.monotonic,
    )


async def failure(analyst: ChatAnalyst) -> ModelError:
    """What a question comes to that cannot be answered."""
    with pytest.raises(ModelError) as caught:
        await analyst.annotate("We met again at the lake.")
    return caught.value
