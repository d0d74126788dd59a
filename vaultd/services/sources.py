"""Where a memory comes from, in one property: its own source, and those of the texts that were joined to it."""

from __future__ import annotations

from typing import Final

MOST_SOURCES: Final = 20  # that a memory names, the newest
_BETWEEN: Final = "; "


def joined(sources: str, more: str) -> str:
    """The sources with one more at their end; the oldest go where there are too many."""
    if not more or names(sources, more):
        return sources
    return _BETWEEN.join([*filter(None, sources.split(_BETWEEN)), more][-MOST_SOURCES:])


def names(sources: str, source: str) -> bool:
    """Whether a source is one of them."""
    return f"{_BETWEEN}{source}{_BETWEEN}" in f"{_BETWEEN}{sources}{_BETWEEN}"
