"""Works through the chunks of an import: split, keep each piece, note it, go on. Every step is in the log before the next."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from vaultd.core.bucket import DEFAULT_IMPORTANCE, UNSORTED_DOMAIN
from vaultd.core.emotion import Emotion
from vaultd.core.errors import (
    BadInput,
    CapReached,
    IndexUnavailable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
    StorageFull,
    VaultError,
    VaultUnavailable,
)
from vaultd.llm.analyst import Analyst, Piece
from vaultd.llm.redact import strip_private
from vaultd.llm.spend import Spend, counted
from vaultd.services.importing.hands import Hands, Kept
from vaultd.services.importing.jobs import Mode, StepLog
from vaultd.services.importing.plan import PlannedChunk, planned
from vaultd.services.importing.progress import Progress, piece_written
from vaultd.services.importing.turns import WholeNote

log = logging.getLogger(__name__)

TRIES: Final = 5  # of a chunk in one run
FIRST_WAIT_S: Final = 2.0
LONGEST_WAIT_S: Final = 120.0
LONGEST_ASKED_WAIT_S: Final = 900.0  # that an endpoint may ask for
FAILURES_IN_A_ROW: Final = 3  # of chunks, from which the model is taken to be out of reach
NEAR_FROM: Final = 0.9  # similarity of near-duplicates
NEAR_SHOWN: Final = 3

# nothing that trying again at once would change
_STOPS: Final = (CapReached, ModelRefused, StorageFull, VaultUnavailable)
_OUT_OF_REACH: Final = (ModelUnavailable, ModelTimedOut, ModelBusy)


class Ending(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Run:
    """The end of a run; `reason` is one line where it stopped."""

    ending: Ending
    reason: str = ""


class _Stopped(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Runner:
    """One run over one job's chunks. Chunks that are done are not looked at again, pieces that are kept are not kept again."""

    def __init__(
        self,
        folder: Path,
        mode: Mode,
        *,
        steps: StepLog,
        progress: Progress,
        ledger_file: Path,
        analyst: Analyst,
        hands: Hands,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[object]],
        moved: Callable[[], None],
    ) -> None:
        self._folder = folder
        self._mode = mode
        self._steps = steps
        self._progress = progress
        self._ledger = StepLog(ledger_file)
        self._analyst = analyst
        self._hands = hands
        self._rng = rng
        self._sleep = sleep
        self._moved = moved
        self._pause = asyncio.Event()
        self._failed_in_a_row = 0
        self._spend = Spend()

    def pause(self) -> None:
        """Stop after the step at hand."""
        self._pause.set()

    @property
    def pausing(self) -> bool:
        """Whether a pause was asked for."""
        return self._pause.is_set()

    async def run(self) -> Run:
        """Work until all chunks are done or given up, until a pause, or until going on makes no sense."""
        try:
            for chunk in await asyncio.to_thread(lambda: planned(self._folder)):
                if chunk.number in self._progress.done:
                    continue
                if self.pausing:
                    return Run(Ending.PAUSED)
                await self._chunk(chunk)
        except _Stopped as stopped:
            return Run(Ending.STOPPED, stopped.reason)
        except VaultError as exc:  # the log itself cannot be written
            return Run(Ending.STOPPED, str(exc))
        finally:
            self._steps.close()
            self._ledger.close()
        return Run(Ending.PAUSED if self.pausing and self._progress.open else Ending.FINISHED)

    async def _chunk(self, chunk: PlannedChunk) -> None:
        """One chunk, tried again with growing waits; given up after some tries, and then not counted as done."""
        last: Exception | None = None
        for attempt in range(1, TRIES + 1):
            try:
                with counted() as self._spend:
                    await (self._pieces(chunk) if chunk.note is None else self._whole_note(chunk, chunk.note))
            except _STOPS as exc:
                with contextlib.suppress(VaultError):  # what is full or away cannot take the count either
                    await self._note("stopped", chunk, reason=str(exc))
                raise _Stopped(str(exc)) from exc
            except (ModelError, VaultError) as exc:
                await self._note("try", chunk, reason=str(exc))
                if attempt < TRIES and not self.pausing:
                    await self._wait(attempt, exc)
                if self.pausing:
                    return
                last = exc
            else:
                if self._settled(chunk):
                    await self._finish(chunk)
                return
        if last is not None:
            await self._give_up(chunk, last)

    async def _give_up(self, chunk: PlannedChunk, why: Exception) -> None:
        await self._note("failed", chunk, reason=str(why))
        log.warning("import: part %d of %s is given up: %s", chunk.part, chunk.source, why)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= FAILURES_IN_A_ROW and isinstance(why, _OUT_OF_REACH):
            raise _Stopped(str(why)) from why

    async def _finish(self, chunk: PlannedChunk) -> None:
        first = chunk.number - chunk.part + 1
        others = set(range(first, first + chunk.parts)) - {chunk.number}
        if chunk.ledger is not None and others <= self._progress.done:
            await asyncio.to_thread(self._ledger.append, chunk.ledger)
        await self._note("done", chunk)
        self._failed_in_a_row = 0

    def _settled(self, chunk: PlannedChunk) -> bool:
        known = self._progress.chunk(chunk.number)
        return known.pieces is not None and len(known.settled) == len(known.pieces)

    # -- pieces ---------------------------------------------------------------------------------------------------

    async def _pieces(self, chunk: PlannedChunk) -> None:
        known = self._progress.chunk(chunk.number)
        if known.pieces is None:
            await self._split(chunk)
        for at, piece in enumerate(known.pieces or ()):
            if at in known.settled:
                continue
            if self.pausing:
                return
            await self._keep(chunk, at, piece, was_begun=at in known.begun)

    async def _split(self, chunk: PlannedChunk) -> None:
        if self._mode is Mode.NOTES:
            await self._note("split", chunk, pieces=[piece_written(_whole_text(chunk))])
            return
        pieces = await self._analyst.split(chunk.text, chunk.when)
        kept = [replace(piece, content=text) for piece in pieces if (text := strip_private(piece.content).strip())]
        await self._note("split", chunk, pieces=[piece_written(piece) for piece in kept])

    async def _keep(self, chunk: PlannedChunk, at: int, piece: Piece, *, was_begun: bool) -> None:
        source = f"{chunk.source}#{chunk.part}.{at + 1}"
        kept: Kept | None = None
        near: list[tuple[str, float]] = []
        if was_begun and self._hands.find is not None:
            kept = await self._hands.find(source)
        if kept is None:
            near = await self._near(piece)
            await self._note("begin", chunk, i=at)
            try:
                kept = await self._hands.keep(
                    piece, created=piece.when or chunk.when, source=source, whole=self._mode is Mode.NOTES
                )
            except BadInput as exc:
                await self._note("refused", chunk, i=at, reason=str(exc), name=piece.name)
                return
        await self._note(
            "kept",
            chunk,
            i=at,
            id=kept.id,
            name=kept.name,
            outcome=kept.outcome.value,
            near=[[note_id, round(similarity, 3)] for note_id, similarity in near if note_id != kept.id],
            source=source,
        )

    async def _near(self, piece: Piece) -> list[tuple[str, float]]:
        if self._hands.near is None:
            return []
        try:
            found = await self._hands.near(piece.content)
        except (ModelError, IndexUnavailable) as exc:
            log.info("import: no near-duplicates can be looked for: %s", exc)
            return []
        return sorted(((i, s) for i, s in found if s >= NEAR_FROM), key=lambda pair: -pair[1])[:NEAR_SHOWN]

    async def _whole_note(self, chunk: PlannedChunk, note: WholeNote) -> None:
        if self._hands.adopt is None:
            raise _Stopped("whole notes cannot be taken over here")
        known = self._progress.chunk(chunk.number)
        if known.pieces is None:
            await self._note("split", chunk, pieces=[piece_written(_placeholder(chunk))])
        if 0 in known.settled:
            return
        await self._note("begin", chunk, i=0)
        try:
            kept = await self._hands.adopt(note)
        except BadInput as exc:
            await self._note("refused", chunk, i=0, reason=str(exc), name=note.name)
            return
        await self._note(
            "kept", chunk, i=0, id=kept.id, name=kept.name, outcome=kept.outcome.value, near=[], source=chunk.source
        )

    # -- steps ----------------------------------------------------------------------------------------------------

    async def _note(self, kind: str, chunk: PlannedChunk, **more: Any) -> None:
        line: Mapping[str, Any] = {"t": kind, "n": chunk.number, **more, **self._spend.take()}
        await asyncio.to_thread(self._steps.append, line)
        self._progress.take(line)
        self._moved()

    async def _wait(self, attempt: int, why: Exception) -> None:
        seconds = min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S) * self._rng.uniform(0.75, 1.25)
        if isinstance(why, ModelBusy) and why.retry_after_s is not None:
            seconds = max(seconds, min(why.retry_after_s, LONGEST_ASKED_WAIT_S))
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        pausing = asyncio.ensure_future(self._pause.wait())
        try:
            await asyncio.wait((sleeping, pausing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            pausing.cancel()


def _whole_text(chunk: PlannedChunk) -> Piece:
    """A whole conversation as one memory."""
    plain = Emotion()
    name = chunk.title if chunk.parts <= 1 else f"{chunk.title} ({chunk.part}/{chunk.parts})"
    return Piece(name, chunk.text, (UNSORTED_DOMAIN,), plain.valence, plain.arousal, (), DEFAULT_IMPORTANCE)


def _placeholder(chunk: PlannedChunk) -> Piece:
    """Stands in the log for a note that is kept whole; its text is in the plan."""
    plain = Emotion()
    return Piece(chunk.title, "", (), plain.valence, plain.arousal, (), DEFAULT_IMPORTANCE)
