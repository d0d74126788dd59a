"""How a note's text is shown in an answer: whole, condensed by the chat model, or cut at a sentence end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaultd.core.errors import ModelError
from vaultd.core.query import Mark
from vaultd.core.text import counted_cut, estimate_tokens, strip_wikilinks
from vaultd.index.passages import spans_of
from vaultd.index.tokens import normalise, query_words
from vaultd.llm.analyst import Analyst

log = logging.getLogger(__name__)

CONDENSE_FROM_TOKENS = 100  # INTERNALS §3.4
SHOWN_TOKENS = 400  # of a text that is not condensed; the rest is named and can be read whole
AT_ONCE = 4  # condensations under way together


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to show and its `tokens`; `full_tokens` is the whole text's size, `marks` say what was done to it."""

    text: str
    tokens: int
    full_tokens: int
    marks: frozenset[Mark] = frozenset()
    problem: str = ""


class Condensing:
    """Makes texts fit to be shown. With `strict` a failing model leaves an error in the text's place."""

    def __init__(self, analyst: Analyst, *, strict: bool = False) -> None:
        self._analyst = analyst
        self._strict = strict

    async def show(self, bodies: Sequence[str], *, focus: str = "") -> list[Shown]:
        """Each text, in order. Of a text too long to be shown whole, the part that `focus` asks about is shown."""
        wanted = [word.lstrip(".") for word in query_words(focus)] if focus else []
        if not self._analyst.available:
            return [cut(text, estimate_tokens(text), wanted) for text in map(_plain, bodies)]
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(body: str) -> Shown:
            async with gate:
                return await self._condensed(_plain(body), wanted)

        return list(await asyncio.gather(*(one(body) for body in bodies)))

    async def _condensed(self, text: str, wanted: Sequence[str]) -> Shown:
        tokens = estimate_tokens(text)
        if tokens < CONDENSE_FROM_TOKENS:
            return Shown(text, tokens, tokens)
        try:
            condensed = await self._analyst.condense(text)
            return Shown(condensed, estimate_tokens(condensed), tokens, frozenset({Mark.CONDENSED}))
        except ModelError as exc:
            log.warning("could not condense: %s", exc)
            if self._strict:
                return Shown("", 0, tokens, frozenset({Mark.NOT_CONDENSED}), str(exc))
            shown = cut(text, tokens, wanted)
            return replace(shown, marks=shown.marks | {Mark.NOT_CONDENSED}, problem=str(exc))


def _plain(body: str) -> str:
    return strip_wikilinks(body).strip()


def cut(text: str, tokens: int, wanted: Sequence[str] = (), limit: int = SHOWN_TOKENS) -> Shown:
    """The text, where it is longer than `limit` tokens cut at a sentence end: its beginning, or where `wanted` words are."""
    if tokens <= limit:
        return Shown(text, tokens, tokens)
    start = _start_of_most(text, wanted) if wanted else 0
    part, shown = counted_cut(text[start:].lstrip(), limit)
    return Shown(f"… {part}" if start else part, shown, tokens, frozenset({Mark.CUT}))


def _start_of_most(text: str, wanted: Sequence[str]) -> int:
    """Where the passage begins that has most of the wanted words; 0 where the beginning does as well."""
    whole = normalise(text)
    there = sum(word in whole for word in wanted)  # stems and pairs of characters, so that a look is enough
    best, most = 0, 0
    for start, end in spans_of(text) if there else ():
        part = normalise(text[start:end])
        found = sum(word in part for word in wanted)
        if found > most:
            best, most = start, found
            if most >= there:
                break
    return best
