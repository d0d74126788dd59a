"""What is known about a setting besides its type and default."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RULE: Final = "rule"  # where a field's Rule lies in its metadata


class Shape(StrEnum):
    """What a setting's value looks like in the file."""

    TEXT = "text"
    LIST = "list of text"
    NUMBER = "number"
    WHOLE = "whole number"
    SWITCH = "true or false"
    CHOICE = "one of"
    FOLDER = "folder"
    URL = "http(s) address"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Rule:
    """One setting's meaning and bounds. `low` and `high` are inclusive; `env` lists variables by precedence."""

    about: str
    shape: Shape | None = None  # None: told by the field's type
    low: float | None = None
    high: float | None = None
    hot: bool = False  # may change while the daemon runs
    secret: bool = False  # never written to a file, masked wherever it is shown
    name: str = ""  # the key in the file where it is not the attribute's name
    env: tuple[str, ...] = ()


def rule(
    about: str,
    *,
    shape: Shape | None = None,
    low: float | None = None,
    high: float | None = None,
    hot: bool = False,
    secret: bool = False,
    name: str = "",
    env: tuple[str, ...] = (),
) -> dict[str, Rule]:
    """The metadata of one field; see `Rule` for the arguments."""
    return {RULE: Rule(about, shape=shape, low=low, high=high, hot=hot, secret=secret, name=name, env=env)}
