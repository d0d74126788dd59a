"""One setting's value: from the file or a variable to Python, and back to text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from vaultd.core.errors import SettingsError
from vaultd.settings import Key, Shape, Value

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_UNITS_S: Final[Mapping[str, float]] = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)")
_INDEX_SCHEMES: Final = ("s3://", "gs://", "az://", "db://")


def refusal(key: Key, raw: object, allowed: str = "", where: str = "") -> SettingsError:
    """The error for a wrong value; a secret's value is not repeated."""
    shown = "the value" if key.secret else json.dumps(raw, ensure_ascii=False, default=str)
    place = f" ({where})" if where else ""
    return SettingsError(f"{key.name}: {shown} is not allowed; use {allowed or key.allowed}{place}")


def parse(key: Key, raw: object, *, folder: Path, where: str = "") -> Value:
    """The value of `key` as written in a file, a variable or an option; `folder` is what relative folders start from.

    None stands for "not set" and gives the default. Raises SettingsError.
    """
    if raw is None:
        return key.default
    value = _PARSERS[key.shape](key, raw, folder)
    if isinstance(value, _Wrong):
        raise refusal(key, raw, where=where)
    demand = _demand(key.name, value)
    if demand:
        raise refusal(key, raw, demand, where)
    if key.name == "memory.root" and isinstance(value, str):
        return value.replace("\\", "/").strip("/")
    return value


class _Wrong:
    """Marks a value that its parser does not take."""


_WRONG: Final = _Wrong()
_Parsed: TypeAlias = Value | _Wrong


def _text(key: Key, raw: object, folder: Path) -> _Parsed:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return _WRONG
    return str(raw).strip()


def _list(key: Key, raw: object, folder: Path) -> _Parsed:
    parts = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str | int | float) for part in parts):
        return _WRONG
    return tuple(text for part in parts if (text := str(part).strip()))


def _number(key: Key, raw: object, folder: Path) -> _Parsed:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return _WRONG
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        return _WRONG
    return number if math.isfinite(number) and _within(key, number) else _WRONG


def _whole(key: Key, raw: object, folder: Path) -> _Parsed:
    if key.optional and isinstance(raw, str) and not raw.strip():
        return None
    number = _number(key, raw, folder)
    return int(number) if isinstance(number, float) and number.is_integer() else _WRONG


def _switch(key: Key, raw: object, folder: Path) -> _Parsed:
    word = str(raw).strip().casefold()
    if word in _TRUE:
        return True
    return False if word in _FALSE else _WRONG


def _choice(key: Key, raw: object, folder: Path) -> _Parsed:
    word = raw.strip().casefold() if isinstance(raw, str) else raw
    return next((choice for choice in key.choices if choice.casefold() == word), _WRONG)


def _folder(key: Key, raw: object, folder: Path) -> _Parsed:
    if isinstance(raw, Path):
        raw = str(raw)
    if not isinstance(raw, str):
        return _WRONG
    if not raw.strip():
        return None
    try:
        return (folder / Path(raw.strip()).expanduser()).absolute()
    except RuntimeError:  # a home folder that does not exist
        return _WRONG


def _url(key: Key, raw: object, folder: Path) -> _Parsed:
    if not isinstance(raw, str):
        return _WRONG
    if not raw.strip():
        return "" if key.default == "" else _WRONG
    try:
        parts = urlsplit(raw.strip())
        parts.port  # noqa: B018  # raises where the port is none
    except ValueError:
        return _WRONG
    return raw.strip().rstrip("/") if parts.scheme in ("http", "https") and parts.hostname else _WRONG


def _duration(key: Key, raw: object, folder: Path) -> _Parsed:
    word = "" if isinstance(raw, bool) else str(raw).strip().casefold()
    if word == "auto":
        return None
    if word in ("0", "0.0"):
        return 0.0
    found = _DURATION.fullmatch(word)
    if not found:
        return _WRONG
    seconds = float(found[1]) * _UNITS_S[found[2]]
    return seconds if _within(key, seconds) else _WRONG


def _within(key: Key, number: float) -> bool:
    return (key.low is None or number >= key.low) and (key.high is None or number <= key.high)


_PARSERS: Final[Mapping[Shape, Callable[[Key, object, Path], _Parsed]]] = {
    Shape.TEXT: _text,
    Shape.LIST: _list,
    Shape.NUMBER: _number,
    Shape.WHOLE: _whole,
    Shape.SWITCH: _switch,
    Shape.CHOICE: _choice,
    Shape.FOLDER: _folder,
    Shape.URL: _url,
    Shape.DURATION: _duration,
}


def _demand(name: str, value: object) -> str:
    """What a key asks of its value beyond its shape, where the value does not have it; else ""."""
    if not isinstance(value, str) or not value:
        return "an address such as 127.0.0.1" if (name, value) == ("server.host", "") else ""
    match name:
        case "timezone":
            return "" if _is_zone(value) else "a zone's name such as Asia/Shanghai or Europe/Berlin"
        case "memory.root":
            return "" if _is_subfolder(value) else "a folder inside the vault, such as Memories"
        case "index.uri":
            return (
                "" if value.startswith(_INDEX_SCHEMES) else "an address that starts with s3://, gs://, az:// or db://"
            )
        case "server.token":
            return "" if value.isascii() and value.isprintable() and " " not in value else "letters, digits and signs"
        case "server.host":
            return "" if "/" not in value and " " not in value else "an address such as 127.0.0.1"
    return ""


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo  # few set a zone, and every command would wait for it

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown name, a path, a folder of the zone tree
        return False
    return True


def _is_subfolder(text: str) -> bool:
    parts = text.replace("\\", "/").strip("/").split("/")
    return not Path(text).is_absolute() and ":" not in text and all(part and not part.startswith(".") for part in parts)


def duration_text(seconds: float | None) -> str:
    """A duration as a person writes it: auto, 0, 10min, 24h."""
    if seconds is None:
        return "auto"
    if seconds == 0:
        return "0"
    for unit in ("h", "min"):
        if seconds % _UNITS_S[unit] == 0:
            return f"{seconds / _UNITS_S[unit]:.0f}{unit}"
    return f"{Decimal(repr(seconds)):f}s"


def as_text(key: Key, value: Value) -> str:
    """A value as a variable or an option would give it."""
    if key.shape is Shape.DURATION:
        return duration_text(value if isinstance(value, float) else None)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)
