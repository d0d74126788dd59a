"""Times as exports write them: seconds or milliseconds since 1970, ISO 8601 with and without zone, or nothing."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from vaultd.core.properties import parse_moment

_MILLISECONDS_FROM: Final = 1e11  # as seconds this would be the year 5138
_MICROSECONDS_FROM: Final = 1e14
_LATEST_S: Final = 253_000_000_000  # the year 9987
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_NAMED_UTC: Final = re.compile(r"\s*(?:UTC|GMT|Z)$", re.IGNORECASE)
_CHINESE: Final = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日\s*(?:(\d{1,2})[:：](\d{2})(?:[:：](\d{2}))?)?")
_SLASHES: Final = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")


def moment_of(value: object, zone: tzinfo = UTC) -> datetime | None:
    """An aware moment, or None where the value says none: absent, zero, before 1970, impossible.

    Numbers are seconds, milliseconds or microseconds by their size, and are given in `zone`. Text keeps the offset it
    has; text without one is read in `zone`.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _of_number(value, zone)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text) and len(text.split(".")[0]) > 8:  # shorter ones are dates such as 20240501
        return _of_number(float(text), zone)
    return _of_text(text, zone)


def _of_number(number: float, zone: tzinfo) -> datetime | None:
    try:
        seconds = float(number)
    except OverflowError:
        return None
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    if seconds >= _MICROSECONDS_FROM:
        seconds /= 1e6
    elif seconds >= _MILLISECONDS_FROM:
        seconds /= 1e3
    return datetime.fromtimestamp(seconds, zone) if seconds < _LATEST_S else None


def _of_text(text: str, zone: tzinfo) -> datetime | None:
    moment = parse_moment(text, zone)
    if moment is not None:
        return moment
    bare = _NAMED_UTC.sub("", text)
    if bare != text:
        return parse_moment(bare, UTC)
    match = _CHINESE.fullmatch(text) or _SLASHES.fullmatch(text)
    if match is None:
        return None
    parts = [int(part) for part in match.groups() if part is not None]
    try:
        return datetime(*parts, tzinfo=zone)  # type: ignore[arg-type,misc]
    except ValueError:
        return None
