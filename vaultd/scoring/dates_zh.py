"""Chinese phrases for dates: 去年五月, 上周三, 三天前, 2023年5月2日, 前天, 上个月底, 今年夏天, 国庆."""

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
    likeliest,
    month_of,
    months_of,
    nearest,
    recent,
    season_of,
    third_of,
    week_of,
    weekday_term,
    weekend_of,
    year_of,
)

_DIGITS: Final = {
    digit: value
    for value, digits in enumerate(("零〇", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
    for digit in digits
}
_NUMERALS = "零〇一二两三四五六七八九十百"
_SEASONS: Final = {"春": 1, "夏": 2, "秋": 3, "冬": 4}
_UNITS: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_WEEKS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_YEARS: Final = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_DAYS: Final = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2}
_WEEKDAYS: Final = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "日": 7, "天": 7}
_THIRDS: Final = {"初": 0, "上旬": 0, "中": 1, "中旬": 1, "底": 2, "末": 2, "下旬": 2}
_YEAR_PARTS: Final = {"初": (1, 2), "中": (6, 7), "底": (11, 12), "末": (11, 12), "上半年": (1, 6), "下半年": (7, 12)}
_FEASTS: Final[Mapping[str, tuple[int, int, int]]] = {  # month, first and last day of feasts with a fixed date
    "元旦": (1, 1, 1),
    "情人节": (2, 14, 14),
    "妇女节": (3, 8, 8),
    "五一": (5, 1, 5),
    "劳动节": (5, 1, 5),
    "六一": (6, 1, 1),
    "儿童节": (6, 1, 1),
    "教师节": (9, 10, 10),
    "国庆": (10, 1, 7),
    "十一假期": (10, 1, 7),
    "万圣节": (10, 31, 31),
    "双十一": (11, 11, 11),
    "平安夜": (12, 24, 24),
    "圣诞": (12, 25, 25),
    "跨年": (12, 31, 31),
}

_YEAR = r"(?:(?<!\d)(?P<y>\d{4}|\d{2}|[零〇一二三四五六七八九]{4})\s*年|(?P<ry>大前年|去年|今年|本年|明年|(?<![以之然])[前后]年))的?\s*"
_NUMBER = rf"(?:\d{{1,3}}|[{_NUMERALS}]{{1,4}})"
_SMALL = r"(?:\d{1,2}|二十[一二三四五六七八九]?|三十一?|十[一二三四五六七八九]?|[一二三四五六七八九])"
_NO_NUMBER_BEFORE = rf"(?<![\d{_NUMERALS}])"
_THIRD = r"(?:的?(?P<third>上旬|中旬|下旬|初(?![中恋次始一二三])|底|末|中(?![国午间文秋])))?"
_DAYS_OF_MONTH = (
    rf"(?:\s*(?P<d>{_SMALL})(?:\s*[日号]|(?=\s*[到至\-~]))(?:\s*[到至\-~]\s*(?P<until>{_SMALL})\s*[日号])?)?"
)
_DAY_NUMBER = rf"(?:的?\s*(?P<d>{_SMALL})\s*[日号])?"
_UNIT = r"(?P<u>天|日|周|星期|礼拜|(?<=个)月|年)"
_WEEKDAY = r"(?P<wd>一(?![直起样个些定次共边般])|[二三四五六日天末])"


def number_of(text: str) -> int:
    """A number up to 9,999 in Arabic or Chinese numerals. Raises ValueError for anything else."""
    if text.isdecimal():
        return int(text)
    if len(text) > 1 and all(digit in _DIGITS for digit in text):
        return int("".join(str(_DIGITS[digit]) for digit in text))
    total, digit = 0, 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        elif character in _DIGITS:
            digit = _DIGITS[character]
        else:
            raise ValueError(text)
    return total + digit


def _year(match: re.Match[str], today: date) -> int | None:
    if match["ry"]:
        return today.year + _YEARS[match["ry"]]
    if not match["y"]:
        return None
    year = number_of(match["y"])
    return year if year >= 100 else 2000 + year


def _date(match: re.Match[str], today: date) -> AskedDates | None:
    year, month = _year(match, today), number_of(match["m"])
    if match["until"]:
        return asked_days(today, year=year, month=month, first=number_of(match["d"]), last=number_of(match["until"]))
    if match["d"]:
        return asked_date(today, year=year, month=month, day=number_of(match["d"]))
    return _with_third(asked_date(today, year=year, month=month), match["third"])


def _with_third(month: AskedDates | None, third: str | None) -> AskedDates | None:
    if month is None or third is None:
        return month
    return asked([third_of(span, _THIRDS[third]) for span in month.ranges], *month.terms)


def _season(match: re.Match[str], today: date) -> AskedDates | None:
    season = _SEASONS[match["s"]]
    return asked_season(season, today, year=_year(match, today))


def _near_season(match: re.Match[str], today: date) -> AskedDates | None:
    """这个夏天, 上个夏天: the season of this year, or the last one that is over."""
    season = _SEASONS[match["s"]]
    shift = -1 if match["near"] == "上" else 0
    return asked(nearest(shift, lambda year: season_of(year, season), today)[:1], f"s{season}")


def _year_part(match: re.Match[str], today: date) -> AskedDates | None:
    year = _year(match, today)
    if year is None or (match["y"] and len(match["y"]) == 2):
        return None
    return asked([months_of(year, *_YEAR_PARTS[match["part"]])], f"y{year}")


def _near_year_part(match: re.Match[str], today: date) -> AskedDates | None:
    return asked(recent(lambda year: months_of(year, *_YEAR_PARTS[match["part"]]), today)[:1])


def _whole_year(match: re.Match[str], today: date) -> AskedDates | None:
    year = _year(match, today)
    if year is None or not 1900 <= year < 2200 or (match["y"] and len(match["y"]) == 2):
        return None
    return asked([year_of(year)])


def _feast(match: re.Match[str], today: date) -> AskedDates | None:
    month, first, last = _FEASTS[match["feast"]]
    year = _year(match, today)

    def feast_of(year: int) -> DateRange:
        return DateRange(date(year, month, first), date(year, month, last))

    spans = recent(feast_of, today) if year is None else (feast_of(year),)
    yearly = (f"m{month:02}d{day:02}" for day in range(first, last + 1))
    return asked(spans, *yearly)


def _day(match: re.Match[str], today: date) -> AskedDates | None:
    return asked_day([today + timedelta(days=_DAYS[match["rd"]])])


def _ago(match: re.Match[str], today: date) -> AskedDates | None:
    sign = 1 if match["side"] == "前" else -1
    unit, count = _UNITS[match["u"]], match["n"]
    if count == "半":
        return asked_ago(6 * sign, "month", today) if unit == "year" else asked_ago(15 * sign, "day", today)
    if "几" in count:
        return asked_few_ago(unit, today, ahead=sign < 0)
    return asked_ago(sign * number_of(count), unit, today)


def _past(match: re.Match[str], today: date) -> AskedDates | None:
    unit, count = _UNITS[match["u"]], match["n"]
    if count == "半":
        return asked_past(6, "month", today) if unit == "year" else asked_past(15, "day", today)
    if "几" in count and match["near"] == "前":
        return asked_few_ago(unit, today)
    return asked_past(FEW_PAST if "几" in count else number_of(count), unit, today)


def _week(match: re.Match[str], today: date) -> AskedDates | None:
    week, weekday = _WEEKS[match["w"]], match["wd"]
    if weekday is None:
        return asked([week_of(today, week)])
    if weekday == "末":
        return asked([weekend_of(today, week)])
    return asked_weekday(_WEEKDAYS[weekday], today, weeks=[week])


def _weekday(match: re.Match[str], today: date) -> AskedDates | None:
    if match["wd"] == "末":
        return asked(likeliest([weekend_of(today), weekend_of(today, -1)], today)[:1])
    weekday = _WEEKDAYS[match["wd"]]
    if match["every"]:
        return AskedDates((weekday_term(weekday),))
    return asked_weekday(weekday, today, weeks=None)


def _month(match: re.Match[str], today: date) -> AskedDates | None:
    span = month_of(today.year, today.month + _WEEKS[match["w"]])
    if match["d"]:
        return asked_day([span.first.replace(day=number_of(match["d"]))])
    return _with_third(asked([span]), match["third"])


def _day_of_month(match: re.Match[str], today: date) -> AskedDates | None:
    """15号: the latest month in which that day has come."""
    return asked_day_of_month(number_of(match["d"]), today)


PHRASES: Final[tuple[Phrase, ...]] = tuple(
    (re.compile(pattern), meaning_of)
    for pattern, meaning_of in (
        (rf"(?:{_YEAR})?{_NO_NUMBER_BEFORE}(?P<m>{_SMALL})\s*月份?{_DAYS_OF_MONTH}{_THIRD}", _date),
        (rf"{_YEAR}(?P<s>[春夏秋冬])(?![节令运晚])[天季]?", _season),
        (r"(?:(?P<near>这|上|今)一?个?)(?P<s>[春夏秋冬])[天季]", _near_season),
        (r"(?P<s>[春夏秋冬])[天季](?P<y>)(?P<ry>)", _season),
        (rf"{_YEAR}年?(?P<part>初(?![中恋次始一二三])|中(?![国秋间])|[底末]|[上下]半年)", _year_part),
        (r"(?<![\d年])年(?P<part>[初底末])", _near_year_part),
        (r"(?P<part>[上下]半年)", _near_year_part),
        (_YEAR, _whole_year),
        (rf"(?:{_YEAR})?(?P<feast>{'|'.join(sorted(_FEASTS, key=len, reverse=True))})", _feast),
        (r"(?P<rd>大前|昨|今|明|(?<![以之然最])[前后])(?:天|日|儿|晚|夜|早)", _day),
        (
            (
                rf"{_NO_NUMBER_BEFORE}(?P<n>{_NUMBER}|好?几|半)\s*(?:个\s*)?{_UNIT}"
                r"多?左?右?(?:以|之)?(?P<side>前|后)(?!天|年)"
            ),
            _ago,
        ),
        (
            rf"(?P<near>最近|过去|近|这|前)的?(?P<n>{_NUMBER}|好?几|半)\s*个?\s*{_UNIT}(?!前|后|级|以|之)",
            _past,
        ),
        (rf"(?P<w>上上|上|这|本|下下|下)一?个?(?:周|星期|礼拜){_WEEKDAY}?", _week),
        (
            rf"(?:(?P<every>每个?)|(?<![上下这本整个几半\d{_NUMERALS}]))(?:周|星期|礼拜){_WEEKDAY}",
            _weekday,
        ),
        (rf"(?P<w>上上|上|这|本|下下|下)一?个?月份?{_DAY_NUMBER}{_THIRD}", _month),
        (rf"{_NO_NUMBER_BEFORE}(?<![a-z第月年])(?P<d>{_SMALL})号(?![线楼门院店机馆房位选码桌床车])", _day_of_month),
    )
)
