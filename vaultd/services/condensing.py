"""How a note's text is shown in an answer: whole, condensed by the chat model, or cut at a sentence end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from vaultd.core.errors import ModelError
from vaultd.core.query import Mark
from vaultd.core.text import cut_at_sentence, estimate_tokens, strip_wikilinks
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

    async def show(self, bodies: Sequence[str]) -> list[Shown]:
        """Each text, in order."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(body: str) -> Shown:
            async with gate:
                return await self._one(body)

        return list(await asyncio.gather(*(one(body) for body in bodies)))

    async def _one(self, body: str) -> Shown:
        text = strip_wikilinks(body).strip()
        tokens = estimate_tokens(text)
        if tokens < CONDENSE_FROM_TOKENS:
            return Shown(text, tokens)
        if not self._analyst.available:
            return self.cut(text, tokens)
        try:
            return Shown(await self._analyst.condense(text), tokens, frozenset({Mark.CONDENSED}))
        except ModelError as exc:
            log.warning("could not condense: %s", exc)
            if self._strict:
                return Shown("", tokens, frozenset({Mark.NOT_CONDENSED}), str(exc))
            shown = self.cut(text, tokens)
            return Shown(shown.text, tokens, shown.marks | {Mark.NOT_CONDENSED}, str(exc))

    @staticmethod
    def cut(text: str, tokens: int, limit: int = SHOWN_TOKENS) -> Shown:
        """The text, cut at a sentence end where it is longer than `limit` tokens."""
        if tokens <= limit:
            return Shown(text, tokens)
        return Shown(cut_at_sentence(text, limit), tokens, frozenset({Mark.CUT}))
