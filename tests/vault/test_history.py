"""Versions kept before a change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.vault.vault_setup import ID, NOW
from vaultd.core.errors import VaultError
from vaultd.vault.history import History, history_key


def test_versions_come_newest_first_and_read_back_byte_for_byte(tmp_path):
    history = History(tmp_path)
    texts = [b"one\r\n", b"\xef\xbb\xbftwo", b"\xff\x00three"]

    for days, text in enumerate(texts):
        history.keep(ID, text, at=NOW + timedelta(days=days))

    versions = history.versions(ID)
    assert [history.read(version) for version in versions] == texts[::-1]
    assert [version.at for version in versions] == [NOW + timedelta(days=days) for days in (2, 1, 0)]
    assert [version.size for version in versions] == [7, 6, 5]


def test_only_the_newest_are_kept(tmp_path):
    history = History(tmp_path)

    for number in range(5):
        history.keep(ID, b"%d" % number, at=NOW + timedelta(days=number), limit=2)

    assert [history.read(version) for version in history.versions(ID)] == [b"4", b"3"]


def test_equal_bytes_are_kept_once(tmp_path):
    history = History(tmp_path)

    first = history.keep(ID, b"same", at=NOW)
    second = history.keep(ID, b"same", at=NOW + timedelta(days=1))

    assert first is not None
    assert second is None
    assert len(history.versions(ID)) == 1


def test_a_limit_of_nothing_keeps_nothing(tmp_path):
    history = History(tmp_path, limit=0)

    assert history.keep(ID, b"x", at=NOW) is None
    assert history.versions(ID) == ()


def test_versions_kept_in_one_moment_or_under_a_clock_set_back_stay_in_order(tmp_path):
    history = History(tmp_path)

    for number, at in enumerate([NOW, NOW, NOW - timedelta(hours=1)]):
        history.keep(ID, b"%d" % number, at=at)

    assert [history.read(version) for version in history.versions(ID)] == [b"2", b"1", b"0"]


def test_a_version_is_found_by_id_and_by_number(tmp_path):
    history = History(tmp_path)
    history.keep(ID, b"old", at=NOW)
    history.keep(ID, b"new", at=NOW + timedelta(days=1))
    newest, oldest = history.versions(ID)

    assert history.find(ID, oldest.id) == oldest
    assert history.find(ID, "1") == newest
    assert history.find(ID, "2") == oldest
    assert history.find(ID, "3") is None
    assert history.find("ffffffffffff", "1") is None


def test_diff_shows_what_changed_since(tmp_path):
    history = History(tmp_path)
    history.keep(ID, "走路\nold line".encode(), at=NOW)
    (version,) = history.versions(ID)

    diff = history.diff(version, "走路\nnew line\n".encode())

    assert diff == "--- 2026-05-17T12:00:00+00:00\n+++ now\n@@ -1,2 +1,2 @@\n 走路\n-old line\n+new line\n"


def test_forgotten_versions_are_gone(tmp_path):
    history = History(tmp_path)
    history.keep(ID, b"old", at=NOW)

    assert history.forget(ID) == 1
    assert history.forget(ID) == 0
    assert history.versions(ID) == ()


def test_a_version_that_vanished_is_told(tmp_path):
    history = History(tmp_path)
    history.keep(ID, b"old", at=NOW)
    (version,) = history.versions(ID)
    history.forget(ID)

    with pytest.raises(VaultError):
        history.read(version)


@pytest.mark.parametrize("note_id", ["../../etc", "", "a/b", ".", "x" * 65, "con:", "日记"])
def test_key_is_one_safe_folder_name_whatever_the_id(note_id):
    key = history_key(note_id, "x/a.md")

    assert key.startswith("path-")
    assert key.isascii()
    assert "/" not in key


def test_keys_of_ids_are_the_ids(tmp_path):
    assert history_key(ID, "x.md") == ID
    assert history_key("20260517-001", "x.md") == "20260517-001"
