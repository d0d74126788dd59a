"""How cues for intents are written down: tables of patterns, and the build of a message in one language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from vaultd.core.card import Intent

Cues = tuple[tuple[Intent, float, re.Pattern[str]], ...]
"""Intent, weight, and the pattern of all cues of that weight."""


def cues(table: Mapping[Intent, Mapping[float, str]]) -> Cues:
    """A table of cues, compiled; in a block of cues each line is one pattern."""
    return tuple(
        (intent, weight, re.compile("|".join(line.strip() for line in block.strip().splitlines())))
        for intent, blocks in table.items()
        for weight, block in blocks.items()
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """Patterns for the build of a message.

    `addressed`: speaks to the reader, without asking for a service; `oneself`: speaks of its author; `past`: of what
    was; `abstract`: of ideas; `inner`: of feelings; `everyday`: of small things.
    """

    question: re.Pattern[str]
    addressed: re.Pattern[str]
    oneself: re.Pattern[str]
    past: re.Pattern[str]
    abstract: re.Pattern[str]
    inner: re.Pattern[str]
    everyday: re.Pattern[str]
