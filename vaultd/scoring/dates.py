"""Dates in questions against the time of notes: terms of a note's own time, and what a question asks for (zh, en)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from vaultd.scoring.dates_en import PHRASES as ENGLISH
from vaultd.scoring.dates_zh import PHRASES as CHINESE
from vaultd.scoring.days import (
    AskedDates,
    DateRange,
    asked,
    day_term,
    month_term,
    season_at,
    weekday_term,
    yearly_day_term,
)

READ_CHARACTERS: Final = 2_000  # characters of a question that are searched for dates; ours
_JOIN = re.compile(r"\s*(?:到|至|-|~|–|—|to|and|until|till|through)\s*")


def date_terms(moment: datetime) -> tuple[str, ...]:
    """The terms under which a note of this moment is found, by the calendar of the moment's own offset.

    y2023, m05, y2023m05, m05d02, y2023m05d02, w2 (Tuesday), s1 (spring), y2023s1.
    """
    day = moment.date()
    year, season = season_at(day)
    return (
        f"y{day.year}",
        f"m{day.month:02}",
        month_term(day),
        yearly_day_term(day),
        day_term(day),
        weekday_term(day.isoweekday()),
        f"s{season}",
        f"y{year}s{season}",
    )


def dates_in(text: str, now: datetime) -> AskedDates:
    """What a question says of time, asked at `now`: absolute and relative dates in Chinese and English.

    Where a phrase can mean several days (last Friday, May without a year), all readings are candidates, the likeliest
    first. Two dates joined by "to" or 到 are one range. Lunar dates are not read.
    """
    today = now.date()
    folded = unicodedata.normalize("NFKC", text[:READ_CHARACTERS]).casefold().replace("’", "'")
    found = _phrases_in(folded, today)
    joined: list[AskedDates] = []
    after = -1
    for start, end, meaning in found:
        span = _joined(joined[-1], meaning) if joined and _JOIN.fullmatch(folded, after, start) else None
        if span is None:
            joined.append(meaning)
        else:
            joined[-1] = span
        after = end
    terms = dict.fromkeys(term for meaning in joined for term in meaning.terms)
    ranges = dict.fromkeys(span for meaning in joined for span in meaning.ranges)
    return AskedDates(tuple(terms), tuple(ranges))


def _phrases_in(folded: str, today: date) -> Sequence[tuple[int, int, AskedDates]]:
    """Phrases that mean a date, in order: of overlapping ones the first, and of those the longest."""
    matches: list[tuple[int, int, AskedDates]] = []
    for pattern, meaning_of in ENGLISH if folded.isascii() else (*CHINESE, *ENGLISH):
        for match in pattern.finditer(folded):
            try:
                meaning = meaning_of(match, today)
            except (ValueError, OverflowError):
                continue  # a day that no calendar has
            if meaning is not None:
                matches.append((match.start(), match.end(), meaning))
    matches.sort(key=lambda found: (found[0], -found[1]))
    chosen: list[tuple[int, int, AskedDates]] = []
    for found in matches:
        if not chosen or found[0] >= chosen[-1][1]:
            chosen.append(found)
    return chosen


def _joined(begin: AskedDates, end: AskedDates) -> AskedDates | None:
    """From the first date to the second, in the likeliest reading; a year that one of them lacks is the other's."""
    for first in begin.ranges:
        for last in end.ranges:
            pair = _in_order(first, last, begin_fixed=_names_year(begin), end_fixed=_names_year(end))
            if pair is not None:
                yearly = (term for term in (*begin.terms, *end.terms) if not term.startswith("y"))
                return asked([DateRange(pair[0].first, pair[1].last)], *yearly)
    return None


def _names_year(meaning: AskedDates) -> bool:
    return any(term[1:].isdecimal() and term.startswith("y") for term in meaning.terms)


def _in_order(
    first: DateRange, last: DateRange, *, begin_fixed: bool, end_fixed: bool
) -> tuple[DateRange, DateRange] | None:
    if begin_fixed and not end_fixed:
        last = _moved(last, first.first.year - last.first.year)
        last = last if first.first <= last.last else _moved(last, 1)
    elif end_fixed and not begin_fixed:
        first = _moved(first, last.first.year - first.first.year)
        first = first if first.first <= last.last else _moved(first, -1)
    return (first, last) if first.first <= last.last else None


def _moved(span: DateRange, years: int) -> DateRange:
    return DateRange(
        *(
            day.replace(year=day.year + years, day=min(day.day, 28) if day.month == 2 else day.day)
            for day in (span.first, span.last)
        )
    )
