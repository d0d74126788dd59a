"""The loop: inbox → debounce → indexer → whoever waits. The one consumer, hence the one writer of the index."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vaultd.core.errors import IndexUnavailable, VaultdError, VaultUnavailable
from vaultd.core.note import FileStamp, NotePath, Receipt
from vaultd.index.indexer import BatchReport
from vaultd.watch.debounce import EMPTIED_HOLD_S, QUIET_S, RENAMED_QUIET_S, Debounce
from vaultd.watch.guard import DeletionGuard
from vaultd.watch.inbox import Inbox, Ring, Touch

log = logging.getLogger(__name__)

BATCH = 256  # paths at once: small enough that others get their turn and progress shows
_QUIET_OF = {Ring.CHANGED: QUIET_S, Ring.RENAMED: RENAMED_QUIET_S}
ROOT_GONE_RETRY_S = 2.0
OPEN_PATIENCE_S = 10.0  # what an answer waits for after a start, so that it is not empty without need
OPEN_POLL_S = 0.02
_GONE = "the vault's folder is missing or empty; mount it again, the memory is kept"


class Ground(Protocol):
    """What the pipeline needs to know of the vault."""

    def is_open(self) -> bool:
        """Whether the index is open."""

    def available(self) -> bool:
        """Whether the vault's root is there and not emptied."""

    def stamp(self, path: NotePath) -> FileStamp | None:
        """What the directory says of a path."""

    def is_note(self, path: str) -> bool:
        """Whether a path may be a note."""

    def below(self, folder: NotePath) -> Iterable[NotePath]:
        """Paths to look at in a folder: notes on disk, and notes that the index knows there."""

    def known(self, path: NotePath) -> bool:
        """Whether the index has a note at this path."""

    def missed(self, path: NotePath) -> bool:
        """Whether the index has a note at this path whose text stands nowhere else."""

    def notes(self) -> int:
        """How many notes the index has."""


@dataclass(slots=True)
class Counters:
    """What the pipeline tells of itself. Times are those of the monotonic clock."""

    applied: int = 0
    batches: int = 0
    failed: int = 0
    last_event: float | None = None


class Pipeline:
    """Takes touches from the inbox, waits for quiet, has the indexer look, tells who waits."""

    def __init__(
        self,
        inbox: Inbox,
        ground: Ground,
        apply: Callable[[Sequence[NotePath], Callable[[Sequence[NotePath]], bool]], BatchReport],
        on_batch: Callable[[BatchReport], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inbox = inbox
        self._ground = ground
        self._apply = apply
        self._on_batch = on_batch
        self._monotonic = monotonic
        self._debounce = Debounce()
        self._guard = DeletionGuard()
        self._ripe: dict[NotePath, None] = {}
        self._bulk: dict[NotePath, None] = {}
        self._urgent: dict[NotePath, list[asyncio.Future[None]]] = {}
        self._unavailable = False
        self._refusal: VaultdError | None = None
        self._idle = asyncio.Event()
        self.counters = Counters()

    # -- what others ask ------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Paths that are still to be looked at."""
        return len(self._ripe) + len(self._bulk) + len(self._debounce) + len(self._inbox) + len(self._urgent)

    @property
    def held_deletions(self) -> int:
        """Deletions that wait for the person's word."""
        return len(self._guard.held)

    @property
    def vault_available(self) -> bool:
        """False while the root is missing or a mass deletion waits for the person's word."""
        return not self._unavailable and not self._guard.held

    def lag_s(self) -> float:
        """Age of the oldest touch that was not applied yet."""
        oldest = self._debounce.oldest()
        return 0.0 if oldest is None else max(0.0, self._monotonic() - oldest)

    def since_event_s(self) -> float | None:
        """Seconds since the last event from outside; None where there was none yet."""
        last = self.counters.last_event
        return None if last is None else self._monotonic() - last

    async def look(self, *paths: NotePath) -> None:
        """Look at these paths at once; returns when the index says what the files say.

        Raises VaultUnavailable, and what `opened` raises.
        """
        if self._refusal is not None:
            raise self._refusal
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in paths]
        for path, future in zip(paths, futures, strict=True):
            self._inbox.put(Touch(path, Ring.NOW, future))
        await asyncio.gather(*futures)

    async def settled(self, *receipts: Receipt) -> None:
        """Returns when the writes these receipts stand for are in the index."""
        await self.look(*(receipt.path for receipt in receipts))

    def put_all(self, paths: Iterable[NotePath]) -> None:
        """Look at many paths, behind what is urgent; on the loop only."""
        self._bulk.update(dict.fromkeys(paths))
        self._inbox.put(Touch(NotePath(""), Ring.CHANGED))

    async def idle(self) -> None:
        """Returns when nothing waits to be looked at."""
        while self.waiting or not self._idle.is_set():
            self._idle.clear()
            self._inbox.put(Touch(NotePath(""), Ring.CHANGED))
            await self._idle.wait()

    def refuse(self, problem: VaultdError | None) -> None:
        """Look at nothing, since the index can't be opened: who waits is told why. None: it is open. On the loop only."""
        self._refusal = problem
        if problem is not None:
            self._sort(self._inbox.take())
            urgent, self._urgent = self._urgent, {}
            self._put_off(urgent, problem)

    async def opened(self, patience_s: float = OPEN_PATIENCE_S) -> None:
        """Returns once the index is open.

        Raises what is wrong with it where it can't be opened, IndexUnavailable where that takes longer than `patience_s`.
        """
        deadline = self._monotonic() + patience_s
        while self._refusal is not None or not self._ground.is_open():
            if self._refusal is not None:  # `look` would be refused too
                raise self._refusal
            if self._monotonic() >= deadline:
                raise IndexUnavailable("the index is still being opened; try again in a moment")
            await asyncio.sleep(OPEN_POLL_S)

    def demand_vault(self) -> None:
        """Raises VaultUnavailable where the index has notes and the vault's folder is missing or empty. From any thread."""
        if self._ground.notes() and not self._ground.available():
            self._lose(VaultUnavailable(_GONE))
            self._inbox.put(Touch(NotePath(""), Ring.CHANGED))  # from now on it is looked for
            raise VaultUnavailable(_GONE)

    def confirm_deletions(self) -> int:
        """The person's word that a mass deletion is meant; how many notes it was about."""
        held = self._guard.confirm()
        self.put_all(held)
        return len(held)

    # -- the loop -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        self._inbox.bind(asyncio.get_running_loop())
        while True:
            await self._inbox.wait(self._patience())
            self._sort(self._inbox.take())
            if self._unavailable and self._ground.available():
                self._unavailable = False
            batch = self._next_batch()
            if batch:
                await self._do(batch)
            if not self.waiting:
                self._idle.set()

    def _patience(self) -> float | None:
        if self._urgent or self._ripe or (self._bulk and not self._unavailable):
            return 0.0
        due = self._debounce.next_due()
        if self._unavailable:
            return ROOT_GONE_RETRY_S
        return None if due is None else max(0.0, due - self._monotonic())

    def _sort(self, touches: Iterable[Touch]) -> None:
        now = self._monotonic()
        for touch in touches:
            if not touch.path and touch.ring is not Ring.FOLDER:
                continue
            if touch.ring is Ring.NOW:
                self._urgent.setdefault(touch.path, []).extend([touch.waiter] if touch.waiter else [])
                continue
            self.counters.last_event = now
            if touch.ring is Ring.FOLDER:
                for path in self._ground.below(touch.path):
                    self._debounce.touch(path, now)
            else:
                self._debounce.touch(touch.path, now, quiet_s=_QUIET_OF[touch.ring])

    def _next_batch(self) -> dict[NotePath, list[asyncio.Future[None]]]:
        if self._urgent:
            batch, self._urgent = self._urgent, {}
            return batch
        now = self._monotonic()
        for path, first in list(self._debounce.due(now)):
            if now - first < EMPTIED_HOLD_S and self._emptied(path):
                self._debounce.hold(path, first, first + EMPTIED_HOLD_S)
            elif self._ground.is_note(path):
                self._bulk.pop(path, None)
                self._ripe[path] = None
        source = self._ripe or ({} if self._unavailable else self._bulk)
        some = list(itertools.islice(source, BATCH))
        for path in some:
            del source[path]
        return {path: [] for path in some}

    def _emptied(self, path: NotePath) -> bool:
        stamp = self._ground.stamp(path)
        return stamp is not None and stamp.size == 0 and self._ground.known(path)

    async def _do(self, batch: dict[NotePath, list[asyncio.Future[None]]]) -> None:
        try:
            # what is asked for by name may lie in the trash, or be hidden: such a path has no row
            paths = [path for path in batch if self._ground.is_note(path) or self._ground.known(path)]
            await asyncio.to_thread(self._check_root, paths)
            report = await asyncio.to_thread(self._apply, paths, self._admits)
        except VaultUnavailable as exc:
            self._keep_for_later(batch, exc)
            return
        self._unavailable = False
        self.counters.applied += len(paths)
        self.counters.batches += 1
        self.counters.failed += len(report.failed)
        self._on_batch(report)
        self._let_go()
        for waiters in batch.values():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _check_root(self, paths: Sequence[NotePath]) -> None:
        """Raises VaultUnavailable where notes are gone because the root is."""
        for path in self._guard.remembered(paths):
            if self._ground.stamp(path) is not None:
                self._guard.returned(path)
        if self._ground.available():
            return
        if any(self._ground.known(path) and self._ground.stamp(path) is None for path in paths):
            raise VaultUnavailable(_GONE)

    def _admits(self, missed: Sequence[NotePath]) -> bool:
        """Whether notes that are gone, and stand nowhere else, may leave the index."""
        if self._guard.admit(missed, self._ground.notes(), self._monotonic()):
            return True
        log.warning("%d notes vanished at once; `vaultd confirm-deletions` if that is meant", len(missed))
        return False

    def _let_go(self) -> None:
        """Deletions that were held back and turned out to be moves need nobody's word."""
        moved = [path for path in self._guard.held if not self._ground.missed(path)]
        for path in moved:
            self._guard.returned(path)
        if moved:
            self.put_all(moved)

    def _lose(self, exc: VaultUnavailable) -> None:
        if not self._unavailable:
            log.warning("%s", exc)
        self._unavailable = True

    def _keep_for_later(self, batch: dict[NotePath, list[asyncio.Future[None]]], exc: VaultUnavailable) -> None:
        self._lose(exc)
        self._put_off(batch, exc)

    def _put_off(self, batch: dict[NotePath, list[asyncio.Future[None]]], why: VaultdError) -> None:
        for path, waiters in batch.items():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(why)
            self._bulk[path] = None
