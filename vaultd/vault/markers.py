"""Conflict markers that git and its kin leave in a note."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_START = re.compile(r"(<{7,})(?: .*)?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)")
_SMALLEST: Final = "<" * 7


def has_conflict_markers(text: str) -> bool:
    """Whether a conflict stands in the text, outside code fences: its three markers, in their order."""
    return conflict_line(text) is not None


def conflict_line(text: str, head_lines: int = 0) -> int | None:
    """The line, counted from 1, of the first conflict's first marker. The first `head_lines` lines open no code fence."""
    if _SMALLEST not in text:
        return None
    lines = [line.rstrip("\r") for line in text.split("\n")]
    fence = ""
    for number, line in enumerate(lines):
        if not fence and (match := _START.fullmatch(line)) and _goes_on(lines, number + 1, len(match[1])):
            return number + 1
        if number >= head_lines:
            fence = _fence_after(line, fence)
    return None


def _fence_after(line: str, fence: str) -> str:
    """The open code fence behind this line; "" for none."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip()
    return "" if closes else fence


def _goes_on(lines: Sequence[str], first: int, size: int) -> bool:
    """Whether the middle marker, then the last one, follow."""
    wanted = ["=" * size, ">" * size]
    for line in lines[first:]:
        if line == wanted[0] or line.startswith(wanted[0] + " "):
            wanted.pop(0)
            if not wanted:
                return True
    return False
