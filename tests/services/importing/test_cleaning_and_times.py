"""Texts fit to keep, and times as exports write them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.services.importing.cleaning import one_line, speech
from vaultd.services.importing.times import moment_of

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    "value",
    [
        1714564800,
        1714564800.0,
        1714564800000,
        "1714564800",
        1714564800000000,
        "2024-05-01T12:00:00Z",
        "2024-05-01T12:00:00.000000+00:00",
        "2024-05-01T20:00:00+08:00",
        "2024-05-01 12:00:00 UTC",
    ],
)
def test_one_moment_in_many_spellings(value: object):
    assert moment_of(value, SHANGHAI) == NOON


@pytest.mark.parametrize("value", ["2024-05-01T20:00:00", "2024年5月1日 20:00", "2024/05/01 20:00:00"])
def test_times_without_a_zone_are_read_in_the_one_given(value: str):
    moment = moment_of(value, SHANGHAI)

    assert moment == NOON
    assert moment is not None
    assert moment.tzinfo is SHANGHAI


@pytest.mark.parametrize(
    "value", [None, "", 0, -5, True, float("nan"), float("inf"), 10**400, 1e300, "yesterday", "2024-13-45", [], {}]
)
def test_what_says_no_moment_is_none(value: object):
    assert moment_of(value) is None


@given(st.floats() | st.integers() | st.text(max_size=30))
def test_no_value_breaks_it(value: object):
    moment = moment_of(value)

    assert moment is None or moment.tzinfo is not None


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("Tom &amp; I &#39;ran&#39;", "Tom & I 'ran'"),
        ("write &lt;br&gt; or <br>", "write &lt;br&gt; or <br>"),
        ("a & b &lt; c", "a & b &lt; c"),
        ("a\x00b\x07c\ud800\r\nd", "abc?\nd"),
        ("Yes.\ue200cite\ue202turn0search1\ue201 No【12†source】.", "Yes. No."),
        ("keep <PRIVATE>this</private> out", "keep  out"),
        ("keep &lt;private&gt;this&lt;/private&gt; out", "keep  out"),
        ("keep <b> and &lt;private&gt;this", "keep <b> and"),
    ],
)
def test_speech_is_made_fit_to_keep(raw: str, kept: str):
    assert speech(raw)[0] == kept


def test_private_parts_are_told():
    assert speech("a <private>b</private>")[1] is True
    assert speech("a b ")[1] is False


@given(st.text(max_size=60))
def test_speech_can_always_be_stored(raw: str):
    kept, _ = speech(raw)

    assert kept.encode("utf-8").decode("utf-8") == kept
    assert "\0" not in kept


def test_titles_are_one_line_and_short():
    assert one_line("  a\n b <private>c</private>") == "a b"
    assert len(one_line("x" * 500)) == 120
    assert one_line(None) == ""
