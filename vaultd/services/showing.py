"""Put texts to hits and keep to the token budget: a note that does not fit is left out whole, and said so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from vaultd.core.bucket import Bucket
from vaultd.core.errors import NoSuchMemory
from vaultd.core.note import NotePath
from vaultd.core.query import Hit, Noted, Notice
from vaultd.core.text import estimate_tokens
from vaultd.index.mirror import Mirror
from vaultd.scoring.decay import decay_scores
from vaultd.services.condensing import Condensing
from vaultd.services.texts import Texts
from vaultd.settings import Settings

TOKENS_AROUND_A_HIT = 18  # id, marks and fence
LOOKED_AT_AT_ONCE = 32  # files whose status is asked for in less time than it takes to wake a thread


Bodies = dict[str, str | None]
"""By path, None where a note is gone."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index is: notes indexed of all, passages that wait for an embedding."""

    done: int
    total: int
    pending: int
    failed: int
    vault_available: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """Groups of hits with their texts, and what there is to say about those left out."""

    groups: tuple[tuple[Hit, ...], ...]
    notices: tuple[Noted, ...]


class Showing:
    """Turns ids into hits with texts."""

    def __init__(
        self,
        mirror: Mirror,
        texts: Texts,
        condensing: Condensing,
        settings: Callable[[], Settings],
        state: Callable[[], IndexState],
    ) -> None:
        self._mirror = mirror
        self._texts = texts
        self._condensing = condensing
        self._settings = settings
        self._state = state

    def bucket(self, note_id: str) -> Bucket:
        """The memory with its counters as they are now. Raises NoSuchMemory."""
        row = self._mirror.get(note_id)
        if row is None:
            raise NoSuchMemory(note_id)
        return row.bucket(self._mirror.activation_count(note_id), self._mirror.last_active(note_id))

    def decay_scores(self, note_ids: Iterable[str], now: datetime) -> list[float]:
        """How alive memories are. Hold the mirror's lock. Raises NoSuchMemory."""
        slots = [self._slot(note_id) for note_id in note_ids]
        columns = self._mirror.columns.decay(np.array(slots, np.intp))
        scores: list[float] = decay_scores(columns, now.timestamp(), self._settings().decay.weights).tolist()
        return scores

    def _slot(self, note_id: str) -> int:
        slot = self._mirror.slot_of(note_id)
        if slot is None:
            raise NoSuchMemory(note_id)
        return slot

    def state_notices(self, has_vector: bool) -> list[Noted]:
        """What an answer has to do without at this moment."""
        state = self._state()
        notices: list[Noted] = []
        if not state.vault_available:
            notices.append(Noted(Notice.VAULT_UNAVAILABLE))
        if state.done < state.total:
            notices.append(Noted(Notice.PARTIAL_INDEX, {"done": state.done, "total": state.total}))
        if not has_vector:
            notices.append(Noted(Notice.NO_EMBEDDINGS))
        elif state.pending:
            notices.append(Noted(Notice.PENDING_EMBEDDINGS, {"count": state.pending}))
        return notices

    def _bodies(self, hits: Iterable[Hit]) -> Bodies:
        return {hit.bucket.path: self._body(hit.bucket) for hit in hits}

    def _body(self, bucket: Bucket) -> str | None:
        row = self._mirror.get(bucket.id)
        readable = row.checksum if row is not None and not row.problem else ""
        return self._texts.body(NotePath(bucket.path), readable)

    def first_bodies(self, groups: Sequence[Sequence[Hit]], budget: int) -> Bodies:
        """The bodies that `fit` begins with, for who is in a thread already. Blocks."""
        return self._bodies(_first(groups, budget))

    def _at_hand(self, groups: Sequence[Sequence[Hit]], budget: int) -> Bodies | None:
        """The same without a thread, where that is quick."""
        paths = [hit.bucket.path for hit in _first(groups, budget)]
        if not paths:
            return {}
        bodies = self._texts.at_hand(map(NotePath, paths)) if len(paths) <= LOOKED_AT_AT_ONCE else None
        return None if bodies is None else dict(zip(paths, bodies, strict=True))

    async def fit(
        self,
        groups: Sequence[Sequence[Hit]],
        budget: int,
        *,
        verbatim: bool = False,
        focus: str = "",
        read: Bodies | None = None,
    ) -> Fitted:
        """Texts for all hits in their order, as far as `budget` tokens go; what is smaller may still fit after.

        `focus` is the question: of a long text the part it asks about is shown. `read`: the `first_bodies`.
        """
        if read is None:
            read = self._at_hand(groups, budget)
        if read is None:
            read = await asyncio.to_thread(self.first_bodies, groups, budget)
        left = budget
        left_out = 0
        problems: dict[str, None] = {}
        out: list[tuple[Hit, ...]] = []
        for group in groups:
            kept: list[Hit] = []
            position = 0
            while position < len(group):
                some = group[position : position + _ahead(left)]
                position += len(some)
                if unread := [hit for hit in some if hit.bucket.path not in read]:
                    read |= await asyncio.to_thread(self._bodies, unread)
                there = [(hit, body) for hit in some if (body := read[hit.bucket.path]) is not None]
                for hit in await self._with_texts(there, verbatim=verbatim, focus=focus, problems=problems):
                    if hit.tokens > left:
                        left_out += 1
                        continue
                    left -= hit.tokens
                    kept.append(hit)
            out.append(tuple(kept))
        notices = [Noted(Notice.MODEL_FAILED, {"reason": reason}) for reason in problems]
        if left_out:
            notices.append(Noted(Notice.LEFT_OUT, {"count": left_out}))
        return Fitted(tuple(out), tuple(notices))

    async def _with_texts(
        self, there: Sequence[tuple[Hit, str]], *, verbatim: bool, focus: str, problems: dict[str, None]
    ) -> list[Hit]:
        if verbatim:
            return [replace(hit, text=body, tokens=estimate_tokens(body) + TOKENS_AROUND_A_HIT) for hit, body in there]
        shown = await self._condensing.show([body for _, body in there], focus=focus)
        out = []
        for (hit, _), text in zip(there, shown, strict=True):
            if text.problem:
                problems[text.problem] = None
            out.append(
                replace(
                    hit,
                    text=text.text,
                    tokens=text.tokens + TOKENS_AROUND_A_HIT,
                    full_tokens=text.full_tokens,
                    marks=hit.marks | text.marks,
                )
            )
        return out


def _first(groups: Sequence[Sequence[Hit]], budget: int) -> list[Hit]:
    return [hit for group in groups for hit in group[: _ahead(budget)]]


def _ahead(left: int) -> int:
    return max(8, left // 64)
