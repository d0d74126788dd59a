"""English phrases for dates: last spring, in May, May 2nd 2023, two weeks ago, last Friday, yesterday, at Christmas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from vaultd.scoring.days import (
    FEW_PAST,
    AskedDates,
    DateRange,
    Phrase,
    asked,
    asked_ago,
    asked_date,
    asked_day,
    asked_day_of_month,
    asked_days,
    asked_few_ago,
    asked_past,
    asked_season,
    asked_weekday,
    last_days,
    month_of,
    months_of,
    nearest,
    one_day,
    recent,
    season_of,
    third_of,
    week_of,
    weekday_term,
    weekend_of,
    year_of,
)

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
_ALSO_WORDS: Final = frozenset(
    {"may", "march", "mar", "jan", "dec", "sat", "sun", "wed", "mon", "fri", "spring", "fall"}
)
_WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tues", "tue"),
            ("wednesday", "wed"),
            ("thursday", "thurs", "thur", "thu"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        ),
        start=1,
    )
    for name in names
}
_SEASONS: Final = {"spring": 1, "summer": 2, "autumn": 3, "fall": 3, "winter": 4}
_COUNTS: Final = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "a": 1,
    "an": 1,
    "couple": 2,
}
_SHIFTS: Final = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}
_YEAR_PARTS: Final = {
    "early": (1, 4),
    "beginning": (1, 2),
    "start": (1, 2),
    "mid": (5, 8),
    "middle": (5, 8),
    "late": (9, 12),
    "end": (11, 12),
}
_THIRDS: Final = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_FEASTS: Final[Mapping[str, tuple[int, int]]] = {
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "independence day": (7, 4),
    "fourth of july": (7, 4),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
}

_MONTH = rf"(?P<mon>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAY = rf"(?P<wd>{'|'.join(sorted(_WEEKDAYS, key=len, reverse=True))})"
_DAY = r"(?P<d>\d{1,2})(?P<nth>st|nd|rd|th)?(?!\d)"
_UNTIL = r"(?:\s*(?:-|–|to|and|until|till|through)\s*(?:the\s+)?(?P<until>\d{1,2})(?:st|nd|rd|th)?(?!\d))?"
_YEAR = r"(?P<y>(?:19|20)\d\d)(?!\d)"
_SHIFT = r"(?P<shift>last|past|previous|this|next)"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?(?:{_YEAR}|(?P<ry>last|this|next)\s+year))?"
_PART = r"(?:(?:the\s+)?(?P<part>early|beginning|start|mid|middle|late|end)(?:\s+of)?(?:\s+|-))?"
_LEAD = r"(?:(?P<lead>in|on|of|during|since|by|until|till|around|from|before|after|through|for|back in)\s+)?(?:the\s+)?"
_SEASON = r"(?P<s>spring|summer|autumn|fall|winter)"
_FEAST = rf"(?P<feast>{'|'.join(sorted(_FEASTS, key=len, reverse=True))})"
_UNIT = r"(?P<u>day|week|month|year)"
_COUNT = rf"(?:(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})(?:\s+of)?|(?P<few>few|several|some)|(?P<half>half))"


def _year(match: re.Match[str], today: date) -> int | None:
    if match["y"]:
        return int(match["y"])
    return today.year + _SHIFTS[match["ry"]] if match["ry"] else None


def _date(match: re.Match[str], today: date) -> AskedDates | None:
    """May 2nd 2023, in May, last May, early May, May of last year."""
    name, month = match["mon"], _MONTHS[match["mon"]]
    year = _year(match, today)
    plain = not (match["d"] or year or match["shift"] or match["lead"] or match["part"])
    if plain and name in _ALSO_WORDS:
        return None
    if match["until"]:
        return asked_days(today, year=year, month=month, first=int(match["d"]), last=int(match["until"]))
    if match["d"]:
        return asked_date(today, year=year, month=month, day=int(match["d"]))
    if match["shift"] and year is None:
        return asked(nearest(_SHIFTS[match["shift"]], lambda at: month_of(at, month), today), f"m{month:02}")
    whole = asked_date(today, year=year, month=month)
    if whole is None or not match["part"]:
        return whole
    return asked([third_of(span, _THIRDS[match["part"]]) for span in whole.ranges], *whole.terms)


def _day_first(match: re.Match[str], today: date) -> AskedDates | None:
    """2 May 2023, the 2nd of May."""
    year = _year(match, today)
    if match["mon"] in _ALSO_WORDS and not (match["nth"] or match["of"] or year):
        return None
    return asked_date(today, year=year, month=_MONTHS[match["mon"]], day=int(match["d"]))


def _season(match: re.Match[str], today: date) -> AskedDates | None:
    season, year = _SEASONS[match["s"]], _year(match, today)
    if match["shift"] and year is None:
        spans = nearest(_SHIFTS[match["shift"]], lambda at: season_of(at, season), today)
        return asked(spans[:1], f"s{season}")
    if match["s"] in _ALSO_WORDS and not (match["lead"] or year):
        return None
    return asked_season(season, today, year=year)


def _year_part(match: re.Match[str], today: date) -> AskedDates | None:
    year = _year(match, today)
    if year is None:
        return None
    if match["part"] is None:
        return asked([year_of(year)])
    return asked([months_of(year, *_YEAR_PARTS[match["part"]])], f"y{year}")


def _weekday(match: re.Match[str], today: date) -> AskedDates | None:
    """Last Friday: the latest one before today, or that of last week. Friday: the latest one up to today."""
    name, weekday, shift = match["wd"], _WEEKDAYS[match["wd"]], match["shift"]
    if match["week"] or match["weeks"]:
        return asked_weekday(weekday, today, weeks=[_SHIFTS[match["week"] or match["weeks"]]])
    if match["every"] or match["plural"]:
        return AskedDates((weekday_term(weekday),))
    if shift is None:
        known = len(name) > len("thurs") or match["on"]
        return asked_weekday(weekday, today, weeks=None) if known else None
    if shift != "last":
        return asked_weekday(weekday, today, weeks=[0 if shift in ("this", "past") else _SHIFTS[shift]])
    over = [week_of(today, week).first + timedelta(days=weekday - 1) for week in (0, -1)]
    return asked([DateRange(day, day) for day in over if day < today], weekday_term(weekday))


def _near_unit(match: re.Match[str], today: date) -> AskedDates | None:
    shift, unit = _SHIFTS[match["shift"]], match["near"]
    if unit == "night":
        return asked_day([today + timedelta(days=shift)])
    if unit == "weekend":
        over = [weekend_of(today, week) for week in (0, -1, -2)]
        if shift < 0:
            return asked([span for span in over if span.last < today][:1])
        return asked([weekend_of(today, shift)])
    if unit == "week":
        return asked([week_of(today, shift)])
    if unit == "month":
        return asked([month_of(today.year, today.month + shift)])
    return asked([year_of(today.year + shift)])


def _before_last(match: re.Match[str], today: date) -> AskedDates | None:
    if match["u"] == "week":
        return asked([week_of(today, -2)])
    return asked_ago(2, match["u"], today)


def _day(match: re.Match[str], today: date) -> AskedDates | None:
    words = match[0]
    if "other day" in words:
        return asked_few_ago("day", today)
    away = 1 if "tomorrow" in words else -1 if "yesterday" in words or "last night" in words else 0
    return asked_day([today + timedelta(days=2 * away if "day" in words.split() else away)])


def _ago(match: re.Match[str], today: date) -> AskedDates | None:
    unit = match["u"]
    if match["half"]:
        return asked_ago(6, "month", today) if unit == "year" else asked_ago(15, "day", today)
    if match["few"]:
        return asked_few_ago(unit, today)
    return asked_ago(_count(match["n"]), unit, today)


def _past(match: re.Match[str], today: date) -> AskedDates | None:
    if match["half"]:
        return asked([last_days(today, 182)]) if match["u"] == "year" else None
    return asked_past(FEW_PAST if match["few"] else _count(match["n"]), match["u"], today)


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else _COUNTS[text]


def _feast(match: re.Match[str], today: date) -> AskedDates | None:
    month, day = _FEASTS[match["feast"]]
    year, shift, yearly = _year(match, today), match["shift"], f"m{month:02}d{day:02}"

    def feast_of(year: int) -> DateRange:
        return one_day(date(year, month, day))

    if year is not None:
        return asked([feast_of(year)], yearly)
    return asked(nearest(_SHIFTS[shift], feast_of, today) if shift else recent(feast_of, today), yearly)


def _numbers(match: re.Match[str], today: date) -> AskedDates | None:
    """2023-05-02, 2023/5, 20230502."""
    return asked_date(today, year=int(match["y"]), month=int(match["m"]), day=int(match["d"]) if match["d"] else None)


def _slashes(match: re.Match[str], today: date) -> AskedDates | None:
    """5/2/2023: the 2nd of May, or the 5th of February."""
    year, one, other = int(match["y"]), int(match["one"]), int(match["other"])
    days = [date(year, month, day) for month, day in ((one, other), (other, one)) if month <= 12]
    return asked_day(list(dict.fromkeys(days)))


def _day_of_month(match: re.Match[str], today: date) -> AskedDates | None:
    """On the 15th: the latest month in which that day has come."""
    return asked_day_of_month(int(match["d"]), today)


PHRASES: Final[tuple[Phrase, ...]] = tuple(
    (re.compile(pattern), meaning_of)
    for pattern, meaning_of in (
        (rf"\b{_LEAD}{_PART}(?:{_SHIFT}\s+)?{_MONTH}(?:\s+(?:the\s+)?{_DAY}{_UNTIL})?{_OF_YEAR}", _date),
        (rf"\b{_DAY}\s+(?P<of>of\s+)?{_MONTH}{_OF_YEAR}", _day_first),
        (rf"\b{_LEAD}(?:{_SHIFT}\s+)?{_SEASON}\b{_OF_YEAR}", _season),
        (
            rf"\b(?P<y>)(?P<shift>)(?P<lead>)(?P<ry>last|this|next)\s+year's\s+{_SEASON}\b",
            _season,
        ),
        (rf"\b{_PART}(?:{_YEAR}|(?P<ry>last|this|next)\s+year\b)(?!-)", _year_part),
        (
            (
                r"\b(?:(?P<weeks>last|this|next)\s+week(?:'s)?\s+)?(?:on\s+)?"
                rf"(?:{_SHIFT}\s+|(?P<on>on)\s+|(?P<every>every|each)\s+)?"
                rf"{_WEEKDAY}(?P<plural>s)?\b(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week\b)?"
            ),
            _weekday,
        ),
        (rf"\b{_SHIFT}\s+(?P<near>week|weekend|month|year|night)\b(?!'s)", _near_unit),
        (rf"\b{_UNIT}\s+before\s+last\b", _before_last),
        (
            (
                r"\b(?:(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|tomorrow|today|tonight"
                r"|last\s+night|this\s+(?:morning|afternoon|evening)|the\s+other\s+day)\b"
            ),
            _day,
        ),
        (rf"\b(?:a\s+)?{_COUNT}\s+(?:an?\s+)?{_UNIT}s?\s+(?:ago|back|earlier)\b", _ago),
        (rf"\b(?:last|past|previous)\s+{_COUNT}\s+(?:an?\s+)?{_UNIT}s?\b", _past),
        (
            rf"\b(?:(?P<shift>last|this|next)\s+)?{_FEAST}\b{_OF_YEAR}",
            _feast,
        ),
        (r"(?<![\d.])(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?:(?P=sep)(?P<d>\d{1,2}))?(?![\d])", _numbers),
        (r"(?<![\d.])(?P<y>20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)(?!\d)", _numbers),
        (r"(?<![\d./])(?P<one>\d{1,2})[/.](?P<other>\d{1,2})[/.](?P<y>(?:19|20)\d\d)(?!\d)", _slashes),
        (r"\bon\s+the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:of|floor|day|time|page|try))", _day_of_month),
    )
)
