"""One line of the settings file, as the parser found it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of the file, by its dotted name; `line` counts from 1."""

    name: str
    value: object
    line: int
