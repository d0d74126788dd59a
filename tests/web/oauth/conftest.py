from __future__ import annotations

import pytest

from tests.web.asgi import MovedClock
from tests.web.oauth.connecting import Place, place


@pytest.fixture
def server(tmp_path) -> Place:
    return place(tmp_path, MovedClock())
