"""Set [[links]] in a new memory where it names something the vault knows. Off unless `wikilink.enabled`.

Off by default, against the seeds: a text is kept as it was told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vaultd.core.bucket import Role
from vaultd.index.mirror import Mirror
from vaultd.settings import WikilinkSettings

_LINKED = re.compile(r"!?\[\[[^\]]*\]\]|`[^`]*`|\]\([^)]*\)|https?://\S+")
_WORD = re.compile(r"\w")


def targets(
    settings: WikilinkSettings, text: str, *, domain: Iterable[str], tags: Iterable[str], mirror: Mirror
) -> tuple[str, ...]:
    """What is to become a link in a text: its domains, its tags, and names of notes that stand in it, longest first."""
    excluded = {word.casefold() for word in settings.exclude_keywords}
    words: list[str] = []
    if settings.use_domain:
        words += domain
    if settings.use_tags:
        words += tags
    if settings.use_auto_keywords:
        names = {row.name for row in mirror.rows() if row.role in (Role.OWN, Role.BUCKET) and row.name in text}
        words += sorted(names, key=lambda name: (-len(name), name))[: settings.auto_top_k]
    fit = [w for w in dict.fromkeys(words) if len(w) >= settings.min_keyword_len and w.casefold() not in excluded]
    return tuple(sorted((w for w in fit if not set(w) & set("[]|#^")), key=len, reverse=True))


def linked(text: str, words: Iterable[str]) -> str:
    """The text with the first occurrence of each word as a link; what is a link or code already is left alone."""
    for word in words:
        taken = [match.span() for match in _LINKED.finditer(text)]
        for match in re.finditer(re.escape(word), text):
            start, end = match.span()
            if any(low < end and start < high for low, high in taken) or _inside_a_word(text, start, end):
                continue
            text = f"{text[:start]}[[{word}]]{text[end:]}"
            break
    return text


def _inside_a_word(text: str, start: int, end: int) -> bool:
    """Whether a latin word would be cut: `art` in `party`."""
    before = start > 0 and text[start].isascii() and text[start - 1].isascii() and bool(_WORD.match(text[start - 1]))
    after = end < len(text) and text[end - 1].isascii() and text[end].isascii() and bool(_WORD.match(text[end]))
    return before or after
