"""Dates in questions, asked at noon of Sunday, the 17th of May 2026."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultd.scoring.dates import date_terms, dates_in
from vaultd.scoring.dates_zh import PHRASES as CHINESE
from vaultd.scoring.dates_zh import number_of
from vaultd.scoring.days import DateRange

SUNDAY = datetime(2026, 5, 17, 12, 0, tzinfo=timezone(timedelta(hours=8)))


def spans(text: str, now: datetime = SUNDAY) -> list[str]:
    """Candidate ranges as they are written in the tables: one day, or first..last."""
    return [
        str(span.first) if span.first == span.last else f"{span.first}..{span.last}"
        for span in dates_in(text, now).ranges
    ]


ONE_READING = [
    # days
    ("今天", "2026-05-17"),
    ("今早我说了什么", "2026-05-17"),
    ("昨天", "2026-05-16"),
    ("昨晚的梦", "2026-05-16"),
    ("前天", "2026-05-15"),
    ("大前天", "2026-05-14"),
    ("明天", "2026-05-18"),
    ("后天", "2026-05-19"),
    ("today", "2026-05-17"),
    ("this morning", "2026-05-17"),
    ("tonight", "2026-05-17"),
    ("yesterday evening", "2026-05-16"),
    ("last night", "2026-05-16"),
    ("the day before yesterday", "2026-05-15"),
    ("the day after tomorrow", "2026-05-19"),
    # so long ago
    ("三天前", "2026-05-14"),
    ("3 天以前", "2026-05-14"),
    ("两周前", "2026-04-30..2026-05-06"),
    ("三个星期前", "2026-04-23..2026-04-29"),
    ("三个月前", "2026-02-01..2026-02-28"),
    ("半年前", "2025-11-01..2025-11-30"),
    ("两年前", "2024-01-01..2024-12-31"),
    ("一百天前", "2026-01-27..2026-02-16"),
    ("几天前", "2026-05-10..2026-05-15"),
    ("前几天", "2026-05-10..2026-05-15"),
    ("最近三天", "2026-05-14..2026-05-17"),
    ("过去两个月", "2026-03-18..2026-05-17"),
    ("a week ago", "2026-05-07..2026-05-13"),
    ("two weeks ago", "2026-04-30..2026-05-06"),
    ("a couple of days ago", "2026-05-15"),
    ("a few days ago", "2026-05-10..2026-05-15"),
    ("five months ago", "2025-12-01..2025-12-31"),
    ("half a year ago", "2025-11-01..2025-11-30"),
    ("3 years ago", "2023-01-01..2023-12-31"),
    ("the other day", "2026-05-10..2026-05-15"),
    ("in the past two weeks", "2026-05-03..2026-05-17"),
    # weeks and weekdays
    ("上周", "2026-05-04..2026-05-10"),
    ("上上周", "2026-04-27..2026-05-03"),
    ("这周", "2026-05-11..2026-05-17"),
    ("上周三", "2026-05-06"),
    ("上个星期三晚上", "2026-05-06"),
    ("上礼拜天", "2026-05-10"),
    ("下周五", "2026-05-22"),
    ("周五", "2026-05-15"),
    ("星期天", "2026-05-17"),
    ("上周末", "2026-05-09..2026-05-10"),
    ("上周一直在下雨", "2026-05-04..2026-05-10"),
    ("last week", "2026-05-04..2026-05-10"),
    ("the week before last", "2026-04-27..2026-05-03"),
    ("Friday last week", "2026-05-08"),
    ("last week's Friday", "2026-05-08"),
    ("on Friday", "2026-05-15"),
    ("next Friday", "2026-05-22"),
    ("last weekend", "2026-05-09..2026-05-10"),
    ("this weekend", "2026-05-16..2026-05-17"),
    # months
    ("上个月", "2026-04-01..2026-04-30"),
    ("上个月15号", "2026-04-15"),
    ("上个月底", "2026-04-21..2026-04-30"),
    ("下个月", "2026-06-01..2026-06-30"),
    ("last month", "2026-04-01..2026-04-30"),
    ("去年五月", "2025-05-01..2025-05-31"),
    ("去年5月我们去了哪里", "2025-05-01..2025-05-31"),
    ("明年三月", "2027-03-01..2027-03-31"),
    ("二〇二三年五月", "2023-05-01..2023-05-31"),
    ("23年5月", "2023-05-01..2023-05-31"),
    ("2023年5月底", "2023-05-21..2023-05-31"),
    ("last May", "2025-05-01..2025-05-31"),
    ("next May", "2027-05-01..2027-05-31"),
    ("this May", "2026-05-01..2026-05-31"),
    ("May of last year", "2025-05-01..2025-05-31"),
    ("in May 2023", "2023-05-01..2023-05-31"),
    ("early March 2023", "2023-03-01..2023-03-10"),
    ("2023-05", "2023-05-01..2023-05-31"),
    # dates
    ("2023年5月2日", "2023-05-02"),
    ("二零二三年五月二号", "2023-05-02"),
    ("去年十一月二十三日", "2025-11-23"),
    ("2023-05-02", "2023-05-02"),
    ("2023/5/2", "2023-05-02"),
    ("20230502", "2023-05-02"),
    ("２０２３年５月２日", "2023-05-02"),
    ("May 2nd 2023", "2023-05-02"),
    ("May 2, 2023", "2023-05-02"),
    ("2 May 2023", "2023-05-02"),
    ("the 2nd of May, 2023", "2023-05-02"),
    ("Sept. 30 2024", "2024-09-30"),
    ("15号", "2026-05-15"),
    ("20号", "2026-04-20"),
    ("on the 15th", "2026-05-15"),
    # seasons, years and their parts
    ("last spring", "2025-03-01..2025-05-31"),
    ("last summer", "2025-06-01..2025-08-31"),
    ("last winter", "2025-12-01..2026-02-28"),
    ("this summer", "2026-06-01..2026-08-31"),
    ("spring of 2023", "2023-03-01..2023-05-31"),
    ("今年夏天", "2026-06-01..2026-08-31"),
    ("这个夏天", "2026-06-01..2026-08-31"),
    ("上个夏天", "2025-06-01..2025-08-31"),
    ("前年春天", "2024-03-01..2024-05-31"),
    ("去年", "2025-01-01..2025-12-31"),
    ("大前年", "2023-01-01..2023-12-31"),
    ("2022年", "2022-01-01..2022-12-31"),
    ("去年年底", "2025-11-01..2025-12-31"),
    ("2023年下半年", "2023-07-01..2023-12-31"),
    ("年初", "2026-01-01..2026-02-28"),
    ("last year", "2025-01-01..2025-12-31"),
    ("in 2022", "2022-01-01..2022-12-31"),
    ("late 2023", "2023-09-01..2023-12-31"),
    ("end of last year", "2025-11-01..2025-12-31"),
    # feasts with a fixed date; of lunar ones the year at least
    ("去年国庆", "2025-10-01..2025-10-07"),
    ("去年春节", "2025-01-01..2025-12-31"),
    ("last Christmas", "2025-12-25"),
    ("New Year's Eve 2024", "2024-12-31"),
    # from … to …
    ("2023年5月到8月", "2023-05-01..2023-08-31"),
    ("2024年11月到2月", "2024-11-01..2025-02-28"),
    ("from May to July 2023", "2023-05-01..2023-07-31"),
    ("between March 3, 2025 and March 10, 2025", "2025-03-03..2025-03-10"),
    ("Feb 11-13, 2024", "2024-02-11..2024-02-13"),
    ("2025年1月9日至11日", "2025-01-09..2025-01-11"),
]


@pytest.mark.parametrize(("text", "span"), ONE_READING)
def test_phrase_with_one_reading(text, span):
    assert spans(text) == [span]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("5月2号", "2026-05-02", "2025-05-02"),
        ("5月20号", "2025-05-20", "2024-05-20"),
        ("十二月", "2025-12-01..2025-12-31", "2024-12-01..2024-12-31"),
        ("in May", "2026-05-01..2026-05-31", "2025-05-01..2025-05-31"),
        ("the 2nd of May", "2026-05-02", "2025-05-02"),
        ("January 9th to 11th", "2026-01-09..2026-01-11", "2025-01-09..2025-01-11"),
        ("last Friday", "2026-05-15", "2026-05-08"),
        ("去年冬天", "2025-12-01..2026-02-28", "2024-12-01..2025-02-28"),
        ("今年冬天", "2025-12-01..2026-02-28", "2026-12-01..2027-02-28"),
        ("国庆", "2025-10-01..2025-10-07", "2024-10-01..2024-10-07"),
        ("5/2/2023", "2023-05-02", "2023-02-05"),
        ("2月29日", "2024-02-29", "2020-02-29"),
    ],
)
def test_ambiguous_phrase_has_its_likeliest_reading_first(text, first, second):
    assert spans(text) == [first, second]


def test_last_may_is_this_years_once_it_is_over():
    assert spans("last May", datetime(2026, 8, 1, tzinfo=UTC)) == ["2026-05-01..2026-05-31", "2025-05-01..2025-05-31"]


def test_winter_still_going_on_is_not_the_last_one():
    in_january = datetime(2026, 1, 10, tzinfo=UTC)

    assert spans("last winter", in_january) == ["2024-12-01..2025-02-28"]
    assert spans("这个冬天", in_january) == ["2025-12-01..2026-02-28"]


def test_several_dates_in_one_question_are_all_found():
    assert spans("昨天说的和去年五月的一样吗") == ["2026-05-16", "2025-05-01..2025-05-31"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "May I ask you something",
        "the march to the sea",
        "she may come on her own",
        "water from a spring, and a fall down the stairs",
        "the sun sat low",
        "坐3号线去",
        "以前年轻的时候",
        "以后天天跑步",
        "春节",
        "一周三次",
        "买了 5 个月饼",
        "2023-02-30",
        "13月45日",
        "10000 years ago",
        "version 1.2.3 and 99/99/2023",
        "room 2023123",
    ],
)
def test_what_is_no_date_is_not_taken_for_one(text):
    assert dates_in(text, SUNDAY) == dates_in("", SUNDAY)


# Terms


def test_a_note_is_filed_under_the_terms_of_its_own_time():
    assert date_terms(datetime(2023, 5, 2, 23, 30, tzinfo=ZoneInfo("Asia/Shanghai"))) == (
        "y2023",
        "m05",
        "y2023m05",
        "m05d02",
        "y2023m05d02",
        "w2",
        "s1",
        "y2023s1",
    )


def test_january_belongs_to_the_winter_of_the_year_before():
    assert date_terms(datetime(2024, 1, 31, tzinfo=UTC))[-2:] == ("s4", "y2023s4")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("去年五月", {"y2025m05", "m05", "y2025"}),
        ("in May", {"y2026m05", "y2025m05", "m05"}),
        ("2023-05-02", {"y2023m05d02", "m05d02", "y2023m05", "m05", "y2023"}),
        ("昨天", {"y2026m05d16", "m05d16"}),
        ("上周三", {"y2026m05d06", "w3"}),
        ("每周三", {"w3"}),
        ("on Tuesdays", {"w2"}),
        ("spring of 2023", {"y2023s1", "s1", "y2023"}),
        ("in 2022", {"y2022"}),
        ("past two weeks", {"y2026m05"}),
        ("过去三年", {"y2023", "y2024", "y2025", "y2026"}),
    ],
)
def test_a_question_asks_for_the_terms_of_what_it_names(text, terms):
    assert set(dates_in(text, SUNDAY).terms) == terms


moments = st.integers(0, 100 * 365 * 24 * 3600).map(lambda at: datetime(1990, 1, 1, tzinfo=UTC) + timedelta(seconds=at))


@given(moments, st.integers(0, 3_000))
def test_a_day_asked_for_in_words_finds_the_note_of_that_day(now, back):
    then = now - timedelta(days=back)
    written = (f"{then.year}年{then.month}月{then.day}日", f"{then:%B} {then.day}, {then.year}", f"{then:%Y-%m-%d}")

    for text in written:
        asked = dates_in(text, now)
        assert asked.ranges == (DateRange(then.date(), then.date()),)
        assert set(asked.terms) <= set(date_terms(then))


@given(moments, st.integers(1, 9))
def test_so_many_days_ago_finds_the_note_of_that_day(now, back):
    then = now - timedelta(days=back)

    for text in (f"{back}天前", f"{back} days ago"):
        assert set(dates_in(text, now).terms) == set(date_terms(then)) & set(dates_in(text, now).terms)
        assert then.date() in dates_in(text, now).ranges[0]


pieces = st.sampled_from(
    [phrase for phrase, _ in ONE_READING] + ["到", "to", " ", "的", "-", "and", "31", "月", "last "]
)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(pieces, max_size=6).map("".join)), moments)
def test_any_text_is_read_without_failing_and_ranges_are_in_order(text, now):
    for span in dates_in(text, now).ranges:
        assert span.first <= span.last


@pytest.mark.parametrize(
    "piece", ["last ", "1", "一", " ", "the ", "a few ", "may ", "2023 ", "on the ", "前", "1月", "到"]
)
def test_a_long_odd_text_takes_no_time(piece):
    began = time.process_time()

    dates_in("may" + piece * 100_000, SUNDAY)

    assert time.process_time() - began < 1.0


def test_bounds_of_a_range_are_midnights_in_the_zone():
    first, after = DateRange(date(2026, 3, 29), date(2026, 3, 29)).bounds(ZoneInfo("Europe/Berlin"))

    # the day on which summer time begins has 23 hours
    assert after.astimezone(UTC) - first.astimezone(UTC) == timedelta(hours=23)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("三", 3),
        ("十", 10),
        ("十五", 15),
        ("二十", 20),
        ("二十三", 23),
        ("一百", 100),
        ("一百零五", 105),
        ("两百三十", 230),
        ("二〇二三", 2023),
        ("二零二三", 2023),
        ("17", 17),
    ],
)
def test_chinese_numerals(text, number):
    assert number_of(text) == number


def test_what_is_no_numeral_is_refused():
    with pytest.raises(ValueError, match="几"):
        number_of("几")


@given(st.text(alphabet="0123456789-/.: adlmnouvy", max_size=30))
def test_no_chinese_phrase_is_made_of_plain_letters(text):
    assert not [pattern.pattern for pattern, _ in CHINESE if pattern.search(text)]
