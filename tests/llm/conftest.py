from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.llm.chat_setup import Waits, an_analyst, settings_for
from tests.model_server import ModelServer
from vaultd.llm.chat import ChatAnalyst


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """An endpoint that answers well unless a test scripts it."""
    with ModelServer() as played:
        yield played


@pytest.fixture
def waits() -> Waits:
    """The sleeps of the analyst."""
    return Waits()


@pytest.fixture
async def analyst(server: ModelServer, tmp_path: Path, waits: Waits) -> AsyncIterator[ChatAnalyst]:
    """An analyst that asks the server."""
    made = an_analyst(settings_for(server), tmp_path, waits)
    yield made
    await made.close()
