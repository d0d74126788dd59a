"""How the tools' arguments are taken: numbers as models send them, lists as lists or as one text with commas."""

from __future__ import annotations

import math
from typing import Annotated, Any

from mcp.types import CallToolResult, TextContent
from pydantic import BeforeValidator

from vaultd.core.errors import BadInput


def _number(value: Any) -> float:
    if isinstance(value, bool) or value is None or value == "":
        return -1.0 if not isinstance(value, bool) else float(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{str(value)[:40]!r} is not a number") from None
    if math.isnan(number):
        raise ValueError("NaN is not a number")
    return number


def _whole(value: Any) -> int:
    number = _number(value)
    return int(max(-(2**53), min(2**53, number)))


def _flag(value: Any) -> int:
    """1, 0, or −1 for "leave it"."""
    if isinstance(value, bool):
        return int(value)
    word = str(value).strip().lower()
    known = {"true": 1, "yes": 1, "1": 1, "1.0": 1, "false": 0, "no": 0, "0": 0, "0.0": 0, "": -1, "-1": -1, "none": -1}
    if word not in known:
        raise ValueError(f"{str(value)[:40]!r} is neither 1 nor 0")
    return known[word]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | list | dict):
        raise ValueError("must be text")  # noqa: TRY004 — pydantic turns only ValueError into a refusal
    return str(value)


def _words(value: Any) -> str | list[str]:
    if value is None:
        return ""
    if isinstance(value, list):
        if any(isinstance(word, dict | list | bool) or word is None for word in value):
            raise ValueError("must be text, or a list of texts")
        return [str(word) for word in value]
    return _text(value)


Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_whole)]
Flag = Annotated[int | bool, BeforeValidator(_flag)]
Text = Annotated[str, BeforeValidator(_text)]
Words = Annotated[str | list[str], BeforeValidator(_words)]


def flag(value: int | bool) -> bool | None:
    """A flag as the services take it: None is "leave it"."""
    return None if int(value) == -1 else bool(value)


def unit(name: str, value: float) -> float | None:
    """A valence or arousal: None for −1 and below, clamped to 0…1 otherwise."""
    if not math.isfinite(value):
        raise BadInput(f"{name}: must be a number from 0 to 1")
    return None if value <= -1 else min(max(value, 0.0), 1.0)


def both(text: str, data: dict[str, Any]) -> CallToolResult:
    """The whole answer as text and as structured content: some clients show the model one, some the other."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content={"answer": text, **data})
