"""Calendar arithmetic for dates in questions: ranges of days, and the terms under which notes of a time are filed."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

MONTHS_A_YEAR: Final = 12
DAYS_A_WEEK: Final = 7
DAYS_AS_TERMS: Final = 7  # days; a range up to this long is asked for day by day; ours
MONTHS_AS_TERMS: Final = 7  # months; a longer range is asked for year by year; ours
FEW: Final = (2, 7)  # the least and the most that "a few" means; ours
FEW_PAST: Final = 5  # "the past few days" reach back so far; ours
SEASON_STARTS: Final = {
    1: 3,
    2: 6,
    3: 9,
    4: 12,
}  # first month of spring, summer, autumn, winter; northern, meteorological

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class DateRange:
    """Days from `first` to `last`, both inclusive."""

    first: date
    last: date

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """First moment of the range, and the first one after it, in `zone`."""
        return (
            datetime.combine(self.first, time(), tzinfo=zone),
            datetime.combine(self.last + _DAY, time(), tzinfo=zone),
        )

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class AskedDates:
    """What a question says of time: the terms to look for, and candidate ranges, the likeliest reading first."""

    terms: tuple[str, ...] = ()
    ranges: tuple[DateRange, ...] = ()


Phrase = tuple[re.Pattern[str], Callable[[re.Match[str], date], AskedDates | None]]
"""A pattern and what its match means on a given day; None where it means no date after all."""


# Ranges


def one_day(day: date) -> DateRange:
    """That day alone."""
    return DateRange(day, day)


def days_around(day: date, spread: int) -> DateRange:
    """A day and `spread` days on either side."""
    return DateRange(day - spread * _DAY, day + spread * _DAY)


def last_days(today: date, count: int) -> DateRange:
    """The `count` days before today, and today."""
    return DateRange(today - count * _DAY, today)


def week_of(today: date, shift: int = 0) -> DateRange:
    """Monday to Sunday of the week that lies `shift` weeks from today's."""
    monday = today + (DAYS_A_WEEK * shift - today.weekday()) * _DAY
    return DateRange(monday, monday + 6 * _DAY)


def weekend_of(today: date, shift: int = 0) -> DateRange:
    """Saturday and Sunday of the week that lies `shift` weeks from today's."""
    sunday = week_of(today, shift).last
    return DateRange(sunday - _DAY, sunday)


def month_of(year: int, month: int) -> DateRange:
    """A whole month; months outside 1…12 count on into other years."""
    years, place = divmod(month - 1, MONTHS_A_YEAR)
    year, month = year + years, place + 1
    return DateRange(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def months_of(year: int, first: int, last: int) -> DateRange:
    """Whole months from `first` to `last` of a year; a `last` beyond 12 reaches into the next."""
    return DateRange(month_of(year, first).first, month_of(year, last).last)


def year_of(year: int) -> DateRange:
    """A whole year."""
    return DateRange(date(year, 1, 1), date(year, MONTHS_A_YEAR, 31))


def season_of(year: int, season: int) -> DateRange:
    """A whole season (1 spring … 4 winter); the winter of a year begins in its December."""
    return months_of(year, SEASON_STARTS[season], SEASON_STARTS[season] + 2)


def season_at(day: date) -> tuple[int, int]:
    """Year and number of the season a day lies in; January belongs to the winter of the year before."""
    season = (day.month - 3) % MONTHS_A_YEAR // 3 + 1
    return day.year - (day.month < 3), season


def third_of(month: DateRange, third: int) -> DateRange:
    """The first, second or last third of a month: days 1–10, 11–20, 21 to its end."""
    first = month.first + 10 * third * _DAY
    return DateRange(first, month.last if third == 2 else first + 9 * _DAY)


def likeliest(ranges: Iterable[DateRange], today: date) -> tuple[DateRange, ...]:
    """Memories lie behind us: ranges that have begun, latest first, then those to come, nearest first."""
    known = set(ranges)
    begun = sorted((span for span in known if span.first <= today), reverse=True)
    return (*begun, *sorted(span for span in known if span.first > today))


def recent(make: Callable[[int], DateRange], today: date) -> tuple[DateRange, ...]:
    """The latest range of its kind that has begun, then the one a year before; `make` gives that of a year."""
    begun = [span for span in (make(today.year - back) for back in (0, 1, 2)) if span.first <= today]
    return tuple(begun[:2])


def nearest(shift: int, make: Callable[[int], DateRange], today: date) -> tuple[DateRange, ...]:
    """The last one of a yearly kind (−1), this one (0), or the next one (1); `make` gives that of a year.

    "Last May" said in August may be the one in this year or in the last: both are candidates, the later first.
    """
    spans = [make(today.year + year) for year in (-2, -1, 0, 1)]
    if shift > 0:
        return tuple(span for span in spans if span.first > today)[:1]
    if shift == 0:
        near = [span for span in spans if today in span]
        return tuple(near or (span for span in spans if span.first.year == today.year))[:1]
    return tuple(span for span in reversed(spans) if span.last < today and span.last.year >= today.year - 1)


# Terms


def day_term(day: date) -> str:
    """A day with its year: y2023m05d02."""
    return f"y{day.year}m{day.month:02}d{day.day:02}"


def month_term(day: date) -> str:
    """A month with its year: y2023m05."""
    return f"y{day.year}m{day.month:02}"


def yearly_day_term(day: date) -> str:
    """A day of any year: m05d02."""
    return f"m{day.month:02}d{day.day:02}"


def weekday_term(weekday: int) -> str:
    """A day of the week, 1 Monday … 7 Sunday: w2."""
    return f"w{weekday}"


def span_terms(span: DateRange) -> tuple[str, ...]:
    """The coarsest terms that cover a range: a season, a year, single days, months or years."""
    year, season = season_at(span.first)
    if span == season_of(year, season):
        return (f"y{year}s{season}",)
    if span == year_of(span.first.year):
        return (f"y{span.first.year}",)
    length = (span.last - span.first).days + 1
    if length <= DAYS_AS_TERMS:
        return tuple(day_term(span.first + at * _DAY) for at in range(length))
    months = (span.last.year - span.first.year) * MONTHS_A_YEAR + span.last.month - span.first.month + 1
    if months <= MONTHS_AS_TERMS:
        starts = (month_of(span.first.year, span.first.month + at).first for at in range(months))
        return tuple(month_term(start) for start in starts)
    return tuple(f"y{year}" for year in range(span.first.year, span.last.year + 1))


def asked(ranges: Sequence[DateRange], *extra: str) -> AskedDates:
    """Candidate ranges with the terms that cover them, and extra terms."""
    terms = dict.fromkeys(term for span in ranges for term in span_terms(span))
    return AskedDates(tuple(dict.fromkeys((*terms, *extra))), tuple(ranges))


def asked_day(days: Sequence[date], *extra: str) -> AskedDates:
    """Candidate days; the day of any year is a term as well, in case the year is remembered wrongly."""
    return asked([one_day(day) for day in days], *dict.fromkeys(yearly_day_term(day) for day in days), *extra)


def asked_date(today: date, *, year: int | None, month: int, day: int | None = None) -> AskedDates | None:
    """A month, or a day of it; with no year the latest one that has begun, and the one before. None if none exists."""
    if not 1 <= month <= MONTHS_A_YEAR:
        return None
    years = [year] if year is not None else [today.year - back for back in range(9)]
    stated = (f"m{month:02}",) if year is None else (f"y{year}m{month:02}", f"m{month:02}", f"y{year}")
    if day is None:
        months = [month_of(year, month)] if year is not None else recent(lambda at: month_of(at, month), today)
        return asked(months, *stated)
    days = [date(at, month, day) for at in years if 1 <= day <= calendar.monthrange(at, month)[1]]
    past = [at for at in days if at <= today or year is not None]
    return asked_day(past[:2], *stated) if past else None


def asked_days(today: date, *, year: int | None, month: int, first: int, last: int) -> AskedDates | None:
    """From one day of a month to another; with no year in the latest one that has begun, and the one before."""
    begin = asked_date(today, year=year, month=month, day=first)
    if begin is None or last <= first:
        return begin
    spans = [DateRange(span.first, span.first.replace(day=last)) for span in begin.ranges]
    yearly = (f"m{month:02}d{day:02}" for day in range(first, last + 1))
    return asked(spans, *yearly, f"m{month:02}")


def asked_day_of_month(day: int, today: date) -> AskedDates:
    """A day with no month: that of the latest month in which it has come; no month has a 32nd."""
    spans = (month_of(today.year, today.month - back) for back in range(4))
    days = [span.first.replace(day=day) for span in spans if 1 <= day <= span.last.day]
    return asked_day([found for found in days if found <= today][:1])


def asked_season(season: int, today: date, *, year: int | None) -> AskedDates:
    """A season; of a year's two winters the one that has begun, later first."""
    if year is None:
        return asked(recent(lambda at: season_of(at, season), today), f"s{season}")
    spans = [season_of(year, season)]
    if season == 4:
        spans.append(season_of(year - 1, season))
    return asked(likeliest(spans, today), f"s{season}", f"y{year}")


def asked_ago(count: int, unit: str, today: date) -> AskedDates:
    """So many days, weeks, months or years ago (negative: ahead): the further, the less to the day."""
    if unit == "day":
        day = today - count * _DAY
        return asked_day([day]) if abs(count) < 10 else asked([days_around(day, abs(count) // 10)])
    if unit == "week":
        return asked([days_around(today - DAYS_A_WEEK * count * _DAY, 3)])
    if unit == "month":
        return asked([month_of(today.year, today.month - count)])
    return asked([year_of(today.year - count)])


def asked_few_ago(unit: str, today: date, *, ahead: bool = False) -> AskedDates:
    """A few days, weeks, months or years ago, or ahead: from two to seven of them."""
    sign = -1 if ahead else 1
    ends = [asked_ago(sign * count, unit, today).ranges[0] for count in FEW]
    return asked([DateRange(min(span.first for span in ends), max(span.last for span in ends))])


def asked_past(count: int, unit: str, today: date) -> AskedDates:
    """The past so many days, weeks, months or years up to today."""
    lengths = {"day": 1, "week": DAYS_A_WEEK, "month": 30, "year": 365}
    return asked([last_days(today, count * lengths[unit])])


def asked_weekday(weekday: int, today: date, *, weeks: Sequence[int] | None) -> AskedDates:
    """A weekday (1…7) of the weeks that lie so many weeks from today's; None: the latest one up to today."""
    if weeks is None:
        day = today - (today.isoweekday() - weekday) % DAYS_A_WEEK * _DAY
        return asked([one_day(day)], weekday_term(weekday))
    days = [week_of(today, week).first + (weekday - 1) * _DAY for week in weeks]
    return asked([one_day(day) for day in days], weekday_term(weekday))
