"""From a tool's arguments to a query: what is absent, what is clamped, what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.emotion import Emotion
from vaultd.core.errors import BadInput
from vaultd.core.query import Answer, Mode, Mood, Query, split_list, unit_number

SHANGHAI = ZoneInfo("Asia/Shanghai")


def test_no_argument_at_all_asks_what_surfaces():
    query = Query.parse()

    assert query == Query(text="", limit=20, token_budget=10_000, mode=Mode.SURFACE)


def test_a_text_asks_for_a_recall():
    query = Query.parse("  实习 ", domain="成长，求职", tags="#offer, 夏天,offer", max_results=5)

    assert query.mode is Mode.RECALL
    assert query.text == "实习"
    assert query.domains == ("成长", "求职")
    assert query.tags == ("offer", "夏天")
    assert query.limit == 5


@pytest.mark.parametrize("domain", ["feel", " FEEL ", ["feel"]])
def test_the_domain_feel_asks_for_the_feels_whatever_the_text(domain):
    assert Query.parse("rain", domain=domain).mode is Mode.FEEL


def test_feel_beside_another_domain_is_an_ordinary_filter():
    assert Query.parse("rain", domain="feel,日常").mode is Mode.RECALL


def test_importance_asks_for_the_important_ones_whatever_the_text():
    query = Query.parse("rain", importance_min=8)

    assert query.mode is Mode.IMPORTANCE
    assert query.importance_min == 8


@pytest.mark.parametrize(("given", "read"), [(-1, None), (0, None), (1, 1), (10, 10), (99, 10), (7.9, 7)])
def test_importance_is_absent_below_one_and_at_most_ten(given, read):
    assert Query.parse(importance_min=given).importance_min == read


@pytest.mark.parametrize(
    ("given", "read"),
    [(-1, None), (-7, None), (float("nan"), None), (-0.2, 0.0), (0.0, 0.0), (0.4, 0.4), (1.0, 1.0), (7, 1.0)],
)
def test_minus_one_is_absent_and_zero_is_a_value(given, read):
    """B-09 begins here: a valence of 0.0 was given, and is not taken for absent."""
    assert unit_number(given) == read
    assert Query.parse("x", valence=given).mood == (None if read is None else Mood(valence=read))


def test_mood_keeps_what_was_given():
    assert Query.parse("x", valence=0.7, arousal=0.5).mood == Mood.of(Emotion(0.7, 0.5))
    assert Query.parse("x", arousal=0.5).mood == Mood(None, 0.5)


@pytest.mark.parametrize(("given", "read"), [(0, 1), (-5, 1), (1, 1), (50, 50), (51, 50), (float("inf"), 50)])
def test_results_are_clamped_to_fifty(given, read):
    assert Query.parse("x", max_results=given).limit == read


@pytest.mark.parametrize(("given", "read"), [(0, 1), (20_000, 20_000), (20_001, 20_000), (float("nan"), 10_000)])
def test_tokens_are_clamped_to_twenty_thousand(given, read):
    assert Query.parse("x", max_tokens=given).token_budget == read


@pytest.mark.parametrize(
    ("date_from", "date_to", "start", "end"),
    [
        ("2026-05-17", "2026-05-17", (2026, 5, 17), (2026, 5, 18)),
        ("2026-05", "2026-05", (2026, 5, 1), (2026, 6, 1)),
        ("2026", "2026", (2026, 1, 1), (2027, 1, 1)),
        ("2025-12", "2025-12-31", (2025, 12, 1), (2026, 1, 1)),
        ("2026年5月2日", "2026年5月", (2026, 5, 2), (2026, 6, 1)),
        ("2026/5/2", "2026.12", (2026, 5, 2), (2027, 1, 1)),
        ("2024-02-29", "", (2024, 2, 29), None),
        ("", "2024", None, (2025, 1, 1)),
        ("20260517", "20260517", (2026, 5, 17), (2026, 5, 18)),
    ],
)
def test_dates_cover_the_whole_day_month_or_year_they_name(date_from, date_to, start, end):
    query = Query.parse("x", date_from=date_from, date_to=date_to, zone=SHANGHAI)

    assert query.date_from == (start and datetime(*start, tzinfo=SHANGHAI))
    assert query.date_to == (end and datetime(*end, tzinfo=SHANGHAI))


def test_a_moment_is_taken_to_the_second():
    query = Query.parse("x", date_from="2026-05-17T10:30:00+02:00", date_to="2026-05-17T12:00", zone=UTC)

    assert query.date_from == datetime(2026, 5, 17, 8, 30, tzinfo=UTC)
    assert query.date_to == datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2026-13", "0000", "9999", "yesterday", "2026-05-17T25:00", "20", "１２", "昨天", "-1"]
)
def test_an_impossible_date_is_refused_in_one_line_that_says_how_to_write_it(text):
    with pytest.raises(BadInput) as refused:
        Query.parse("x", date_to=text)

    message = str(refused.value)
    assert message.startswith("date_to: ")
    assert "2026-05-17" in message
    assert "\n" not in message


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(BadInput, match="date_to 2026-05-01 lies before date_from 2026-05-17"):
        Query.parse("x", date_from="2026-05-17", date_to="2026-05-01")


def test_text_that_cannot_be_stored_is_cleaned():
    assert Query.parse("a\0b\ud800 ").text == "ab?"


@pytest.mark.parametrize("wrong", [None, 7, ["x"], {"a": 1}])
def test_a_query_that_is_no_text_is_refused(wrong):
    with pytest.raises(BadInput, match="query: must be text"):
        Query.parse(wrong)


def test_a_list_with_something_else_than_text_is_refused():
    with pytest.raises(BadInput, match="domain: must be text"):
        Query.parse("x", domain=["a", 3])


def test_lists_keep_their_order_without_blanks_and_repeats():
    assert split_list("tags", " a, b ,,a；c、d") == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("text", "bucket_id"),
    [("76237984fa5d", "76237984fa5d"), ("76237984FA5D", None), ("76237984fa5", None), ("the 76237984fa5d", None)],
)
def test_a_query_that_is_an_id_asks_for_that_bucket(text, bucket_id):
    assert Query.parse(text).bucket_id == bucket_id


@given(
    st.text(max_size=30),
    st.floats(),
    st.floats(),
    st.floats(allow_nan=True),
    st.floats(),
    st.floats(),
)
def test_numbers_never_leave_their_range(text, tokens, results, valence, arousal, importance):
    query = Query.parse(
        text, max_tokens=tokens, max_results=results, valence=valence, arousal=arousal, importance_min=importance
    )

    assert 1 <= query.token_budget <= 20_000
    assert 1 <= query.limit <= 50
    assert query.importance_min is None or 1 <= query.importance_min <= 10
    for axis in (query.mood.valence, query.mood.arousal) if query.mood else ():
        assert axis is None or 0.0 <= axis <= 1.0


@given(st.text(max_size=12), st.text(alphabet="0123456789-/.年月日", max_size=12))
def test_any_date_is_read_or_refused(start, end):
    try:
        query = Query.parse("x", date_from=start, date_to=end)
    except BadInput as refused:
        assert "\n" not in str(refused)
    else:
        assert query.date_from is None or query.date_to is None or query.date_from < query.date_to


def test_an_answer_without_any_note_is_empty():
    assert Answer(Mode.RECALL).is_empty
