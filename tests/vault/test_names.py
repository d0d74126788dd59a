"""File names that every system and every link can carry."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.vault.names import cut_to_bytes, safe_name

FAMILY = "👩\u200d👩\u200d👧"  # one picture, 18 bytes


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("实习 offer 获得", "实习 offer 获得"),
        ("AC/DC: live?", "AC DC live"),
        ("a|b#c^d[[e]]", "a b c d e"),
        ("line one\nline two\u2028three", "line one line two three"),
        ("../../etc/passwd", "etc passwd"),
        (".hidden", "hidden"),
        ("ends in dots. . .", "ends in dots"),
        ("a\x00b\x1bc\u202ed", "abcd"),
        ("con", "_con"),
        ("NUL.md", "_NUL.md"),
        ("com¹", "_com¹"),
        ("console", "console"),
        ("", "untitled"),
        ("///", "untitled"),
        ("e\u0301te", "éte"),
    ],
)
def test_name_is_made_safe(text, name):
    assert safe_name(text) == name


def test_emoji_of_several_code_points_is_kept_whole():
    assert safe_name(f"{FAMILY} at the beach") == f"{FAMILY} at the beach"


def test_cut_leaves_out_a_picture_that_does_not_fit_whole():
    assert cut_to_bytes("ab" + FAMILY + "c", 2 + 17) == "ab"
    assert cut_to_bytes("ab" + FAMILY + "c", 2 + 18) == "ab" + FAMILY


def test_cut_never_parts_a_flag():
    flags = "🇩🇪🇫🇷"  # two flags of 8 bytes

    assert cut_to_bytes(flags, 12) == "🇩🇪"
    assert cut_to_bytes(flags, 7) == ""


def test_cut_keeps_an_accent_with_its_letter():
    assert cut_to_bytes("ae\u0301", 2) == "a"


def test_chinese_is_cut_between_characters():
    assert safe_name("记" * 50, 107) == "记" * 35  # 35 · 3 = 105 bytes


@given(st.text(max_size=200), st.integers(min_value=12, max_value=120))
def test_any_text_becomes_a_safe_name(text, max_bytes):
    name = safe_name(text, max_bytes)

    assert 0 < len(name.encode()) <= max_bytes
    assert not set(name) & set('\\/:*?"<>|#^[]\n\r\t\0')
    assert name not in (".", "..")
    assert name[0] not in ". " and name[-1] not in ". "
    assert unicodedata.is_normalized("NFC", name)


@given(st.text(max_size=60))
def test_a_safe_name_stays_as_it_is(text):
    name = safe_name(text)

    assert safe_name(name) == name
