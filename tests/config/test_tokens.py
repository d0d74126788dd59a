"""Tokens that carry a scope."""

from __future__ import annotations

import stat

import pytest

from vaultd.config.tokens import FILE, scoped_tokens, token_of_scope
from vaultd.core.errors import SettingsError


def test_a_scope_has_one_token_that_stays(tmp_path):
    first = token_of_scope(tmp_path, "work")

    assert token_of_scope(tmp_path, " work ") == first
    assert token_of_scope(tmp_path, "home") != first
    assert scoped_tokens(tmp_path)["work"] == first
    assert len(first) >= 32


def test_the_file_is_for_its_owner_alone(tmp_path):
    token_of_scope(tmp_path, "work")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"work": ""}', '{"work": 1}'])
def test_a_file_that_makes_no_sense_lets_nobody_in(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(SettingsError):
        scoped_tokens(tmp_path)


def test_no_file_is_no_token_and_no_name_is_no_scope(tmp_path):
    assert scoped_tokens(tmp_path) == {}
    with pytest.raises(SettingsError):
        token_of_scope(tmp_path, "  ")
