"""File names that every system, every sync tool and every link can carry."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# forbidden by Windows, by Obsidian, or with a meaning inside a link
_FORBIDDEN: Final = re.compile(r'[\\/:*?"<>|#^\[\]]')
_BLANKS: Final = re.compile(r"\s+")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)
_JOINER: Final = "\u200d"
_EXTENDING: Final = re.compile(r"[\ufe00-\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_REGIONAL: Final = re.compile(r"[\U0001f1e6-\U0001f1ff]")
# joiners shape emoji and some scripts; every other invisible character only confuses
_KEPT_FORMATS: Final = frozenset("\u200c\u200d")
_DROPPED_CATEGORIES: Final = frozenset(("Cc", "Cs"))


def _is_invisible(character: str, category: str) -> bool:
    if category == "Cf":
        return character not in _KEPT_FORMATS and not _EXTENDING.match(character)
    return category in _DROPPED_CATEGORIES


def _clean(text: str) -> str:
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", text):
        category = unicodedata.category(character)
        if category in ("Zl", "Zp") or character in "\t\n\r\v\f":
            kept.append(" ")
        elif not _is_invisible(character, category):
            kept.append(character)
    return _BLANKS.sub(" ", _FORBIDDEN.sub(" ", "".join(kept)))


def _extends(character: str, before: str) -> bool:
    """Whether a character belongs to the one before it on the screen."""
    return (
        before == _JOINER
        or character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or _EXTENDING.match(character) is not None
    )


def cut_to_bytes(text: str, max_bytes: int) -> str:
    """The longest start of `text` within `max_bytes` of UTF-8 that ends between two characters as a reader sees them."""
    if len(text.encode()) <= max_bytes:
        return text
    used, end, cluster_start, flags = 0, 0, 0, 0
    for at, character in enumerate(text):
        flags = flags + 1 if _REGIONAL.match(character) else 0
        # two regional indicators make one flag
        if at and not _extends(character, text[at - 1]) and not (flags and flags % 2 == 0):
            cluster_start = at
        used += len(character.encode())
        if used > max_bytes:
            return text[:cluster_start]
        end = at + 1
    return text[:end]


def safe_name(text: str, max_bytes: int = 107) -> str:
    """`text` as one part of a path: NFC, at most `max_bytes` of UTF-8, never empty, never hidden, never a way out.

    Forbidden and control characters become one blank or vanish; dots and blanks at the ends go; names that Windows
    keeps for devices get a line in front.
    """
    name = _clean(text).strip(" ").lstrip(". ").rstrip(". ")
    name = unicodedata.normalize("NFC", cut_to_bytes(name, max_bytes)).rstrip(". \u200c\u200d")
    if _RESERVED.fullmatch(name.partition(".")[0].strip()):
        name = cut_to_bytes("_" + name, max_bytes).rstrip(". ")
    return name or "untitled"
