"""How a note's text is shown in an answer: whole, condensed by the chat model, or cut at a sentence end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

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
KEPT_LOOKS = 1_024  # texts that were shown last, with what was found out about them: …
KEPT_CHARACTERS = 4_000  # … of at most so many characters, hence twenty megabytes at most


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
            return [cut(body, wanted) for body in bodies]
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(body: str) -> Shown:
            async with gate:
                return await self._condensed(body, wanted)

        return list(await asyncio.gather(*(one(body) for body in bodies)))

    async def _condensed(self, body: str, wanted: Sequence[str]) -> Shown:
        look = _look_at(body)
        if look.tokens < CONDENSE_FROM_TOKENS:
            return Shown(look.text, look.tokens, look.tokens)
        try:
            condensed = await self._analyst.condense(look.text)
            return Shown(condensed, estimate_tokens(condensed), look.tokens, frozenset({Mark.CONDENSED}))
        except ModelError as exc:
            log.warning("could not condense: %s", exc)
            if self._strict:
                return Shown("", 0, look.tokens, frozenset({Mark.NOT_CONDENSED}), str(exc))
            shown = cut(body, wanted)
            return replace(shown, marks=shown.marks | {Mark.NOT_CONDENSED}, problem=str(exc))


class _Look:
    """A body as it is shown, and what was found out about it so far: the next question need not find it out again."""

    def __init__(self, body: str) -> None:
        self.text = strip_wikilinks(body).strip()
        self._shown: dict[tuple[int, int], tuple[str, int]] = {}

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the whole text."""
        return estimate_tokens(self.text)

    @cached_property
    def parts(self) -> Sequence[tuple[int, str]]:
        """Where each passage begins, and its text as words are compared."""
        return [(start, normalise(self.text[start:end])) for start, end in spans_of(self.text)]

    def shown(self, start: int, limit: int) -> tuple[str, int]:
        """Whole sentences from `start` on, as far as `limit` tokens go, and their tokens."""
        known = self._shown.get((start, limit))
        if known is None:
            known = self._shown[start, limit] = counted_cut(self.text[start:].lstrip(), limit)
        return known


def _look_at(body: str) -> _Look:
    return _looked_at(body) if len(body) <= KEPT_CHARACTERS else _Look(body)


_looked_at = lru_cache(maxsize=KEPT_LOOKS)(_Look)


def cut(body: str, wanted: Sequence[str] = (), limit: int = SHOWN_TOKENS) -> Shown:
    """A body's text, where it is longer than `limit` tokens cut at a sentence end: its beginning, or where `wanted` words are.

    Call it in the event loop alone.
    """
    look = _look_at(body)
    if look.tokens <= limit:
        return Shown(look.text, look.tokens, look.tokens)
    start = _start_of_most(look, wanted) if wanted else 0
    part, shown = look.shown(start, limit)
    return Shown(f"… {part}" if start else part, shown, look.tokens, frozenset({Mark.CUT}))


def _start_of_most(look: _Look, wanted: Sequence[str]) -> int:
    """Where the passage begins that has most of the wanted words, the first of several; 0 where none has any."""
    best, most = 0, 0
    for start, part in look.parts:
        found = sum(word in part for word in wanted)  # stems and pairs of characters, so that a look is enough
        if found > most:
            best, most = start, found
    return best
