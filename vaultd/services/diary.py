"""Split a long text into memories: by its teller, by the chat model, or later when a model is back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vaultd.core.errors import BadInput, ModelError, VaultdError
from vaultd.llm.analyst import Analyst
from vaultd.services.newmemory import Care, NewMemory, of_piece
from vaultd.services.remember import Kept, Outcome, Remember
from vaultd.services.waiting import Waiting
from vaultd.services.wording import checked_text, name_of

log = logging.getLogger(__name__)

SHORT_CHARACTERS = 30  # below, a text is one memory; INTERNALS §3.8


@dataclass(frozen=True, slots=True)
class Failed:
    """A memory that could not be kept, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Grown:
    """What became of a diary. `waits_at` is where the text waits if it could not be split, with the reason."""

    kept: tuple[Kept, ...] = ()
    failed: tuple[Failed, ...] = field(default=())
    waits_at: str = ""
    reason: str = ""

    @property
    def new(self) -> int:
        """How many became memories of their own."""
        return sum(1 for kept in self.kept if kept.outcome is not Outcome.MERGED and kept.outcome is not Outcome.SAME)

    @property
    def merged(self) -> int:
        """How many joined a memory that was there."""
        return len(self.kept) - self.new


class Diary:
    """Keeps long texts."""

    def __init__(self, remember: Remember, analyst: Analyst, waiting: Waiting, clock: Callable[[], datetime]) -> None:
        self._remember = remember
        self._analyst = analyst
        self._waiting = waiting
        self._clock = clock

    async def __call__(self, content: str, items: Sequence[NewMemory] | None = None) -> Grown:
        """Keep a text, split. Raises BadInput; a text that can't be split waits in the inbox."""
        if items is not None:
            if not items:
                raise BadInput("items: is empty; give a list of memories, or leave it out")
            return await self._keep_all(items)
        text = checked_text(content)
        if len(text) < SHORT_CHARACTERS:
            return Grown((await self._remember(NewMemory(text)),))
        try:
            return await self.split(text)
        except ModelError as exc:
            path = await self._waiting.keep(text, str(exc))
            return Grown(waits_at=path, reason=str(exc))

    async def split(self, text: str) -> Grown:
        """Split by the chat model, and keep each piece. Raises ModelError before anything is kept."""
        pieces = await self._analyst.split(text, self._clock())
        return await self._keep_all([of_piece(piece, Care.JOIN) for piece in pieces])

    async def _keep_all(self, memories: Sequence[NewMemory]) -> Grown:
        kept: list[Kept] = []
        failed: list[Failed] = []
        for memory in memories:
            try:
                kept.append(await self._remember(memory))
            except VaultdError as exc:
                name = memory.name or name_of(memory.content)
                log.warning("could not keep %s: %s", name, exc)
                failed.append(Failed(name, str(exc)))
        return Grown(tuple(kept), tuple(failed))
