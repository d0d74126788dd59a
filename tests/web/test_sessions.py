from __future__ import annotations

import json
import stat
import sys

import pytest

from tests.web.asgi import MovedClock
from vaultd.web.sessions import MOST_CODES, MOST_SESSIONS, LoginCodes, SessionTable, mark_of


def test_the_file_has_no_secret_in_it(tmp_path):
    path = tmp_path / "sessions.json"
    table = SessionTable(path, clock=MovedClock())

    secret = table.open(token_name="owner", token_mark=mark_of("the token"))

    text = path.read_text()
    assert secret not in text
    assert "the token" not in text
    assert len(json.loads(text)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes there")
def test_the_file_is_the_owners_alone(tmp_path):
    path = tmp_path / "sessions.json"

    SessionTable(path, clock=MovedClock()).open(token_name="owner", token_mark="m")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["sessions.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"a": {"x": 1}}', b'{"a": 5}', b'{"a": null}'])
def test_a_damaged_file_means_logging_in_again(tmp_path, content):
    path = tmp_path / "sessions.json"
    path.write_bytes(content)

    table = SessionTable(path, clock=MovedClock())

    assert table.find("anything") is None
    assert table.find(table.open(token_name="owner", token_mark="m")) is not None


def test_a_folder_that_cannot_be_written_keeps_sessions_in_memory(tmp_path):
    (tmp_path / "file").write_text("")
    table = SessionTable(tmp_path / "file" / "sessions.json", clock=MovedClock())

    secret = table.open(token_name="owner", token_mark="m")

    assert table.find(secret) is not None


def test_sessions_are_bounded_and_the_oldest_end_first(tmp_path):
    table = SessionTable(None, clock=MovedClock())

    secrets = [table.open(token_name="owner", token_mark="m") for _ in range(MOST_SESSIONS + 1)]

    assert table.find(secrets[0]) is None
    assert table.find(secrets[1]) is not None
    assert len(set(secrets)) == len(secrets)


def test_codes_are_bounded():
    codes = LoginCodes(clock=MovedClock())

    issued = [codes.issue("owner") for _ in range(MOST_CODES + 1)]

    assert codes.redeem(issued[0]) is None
    assert codes.redeem(issued[-1]) == "owner"
    assert codes.redeem(issued[-1]) is None
