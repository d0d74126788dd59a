"""How a note's text is shown in an answer: whole, condensed by the chat model, or cut at a sentence end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from vaultd.core.errors import ModelError
from vaultd.core.query import Mark
from vaultd.core.text import cut_at_sentence, estimate_tokens, strip_wikilinks
from vaultd.index.passages import passages_of
from vaultd.index.tokens import normalise, query_words
from vaultd.llm.analyst import Analyst

log = logging.getLogger(__name__)

CONDENSE_FROM_TOKENS = 100  # INTERNALS §3.4
SHOWN_TOKENS = 400  # of a text that is not condensed; the rest is named and can be read whole
AT_ONCE = 4  # condensations under way together


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to show; `full_tokens` is the whole text's size, `marks` say what was done to it."""

    text: str
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
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(body: str) -> Shown:
            async with gate:
                return await self._one(body, focus)

        return list(await asyncio.gather(*(one(body) for body in bodies)))

    async def _one(self, body: str, focus: str) -> Shown:
        text = strip_wikilinks(body).strip()
        tokens = estimate_tokens(text)
        if tokens < CONDENSE_FROM_TOKENS:
            return Shown(text, tokens)
        if not self._analyst.available:
            return cut(text, tokens, focus)
        try:
            return Shown(await self._analyst.condense(text), tokens, frozenset({Mark.CONDENSED}))
        except ModelError as exc:
            log.warning("could not condense: %s", exc)
            if self._strict:
                return Shown("", tokens, frozenset({Mark.NOT_CONDENSED}), str(exc))
            shown = cut(text, tokens, focus)
            return Shown(shown.text, tokens, shown.marks | {Mark.NOT_CONDENSED}, str(exc))


def cut(text: str, tokens: int, focus: str = "", limit: int = SHOWN_TOKENS) -> Shown:
    """The text, where it is longer than `limit` tokens cut at a sentence end: its beginning, or what `focus` asks about."""
    if tokens <= limit:
        return Shown(text, tokens)
    start = _start_of_focus(text, focus) if focus else 0
    part = cut_at_sentence(text[start:].lstrip(), limit)
    return Shown(f"… {part}" if start else part, tokens, frozenset({Mark.CUT}))


def _start_of_focus(text: str, focus: str) -> int:
    """Where the passage begins that has most of the question's words; 0 where the beginning does as well."""
    wanted = [word.lstrip(".") for word in query_words(focus)]
    best, most = 0, 0
    for passage in passages_of(text):
        part = normalise(text[passage.start : passage.end])
        found = sum(word in part for word in wanted)  # stems and pairs of characters, so that a look is enough
        if found > most:
            best, most = passage.start, found
    return best
