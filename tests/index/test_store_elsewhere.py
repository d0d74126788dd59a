"""An index that lies with a server: where it is looked for, and what happens while it does not answer."""

import pytest

from vaultd.core.errors import IndexUnavailable
from vaultd.index.store import Store


def test_a_database_server_is_looked_for_where_the_environment_says_and_its_silence_is_an_unavailable_index(
    monkeypatch,
):
    monkeypatch.setenv("LANCEDB_API_KEY", "none")
    monkeypatch.setenv("LANCEDB_HOST_OVERRIDE", "http://127.0.0.1:9")

    with pytest.raises(IndexUnavailable):
        Store("db://memories").open("model/1")


def test_a_database_server_needs_a_key(monkeypatch):
    monkeypatch.delenv("LANCEDB_API_KEY", raising=False)

    with pytest.raises(IndexUnavailable, match="api_key"):
        Store("db://memories").open("model/1")
