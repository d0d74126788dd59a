"""The queue of notes whose passages wait for an embedding, and the niced thread that works it off.

The queue holds ids, not texts: a note is read again when its turn comes, so that a restart or a change loses
nothing and a long queue costs no memory. Notes of small batches (a memory just kept, a note just edited) go first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import CapReached, ModelBadAnswer, ModelBusy, ModelError
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.index.passages import Passage, passages_of
from vaultd.index.tables import TableWriter
from vaultd.llm.embedder import Embedder

log = logging.getLogger(__name__)

PASSAGES_PER_STEP = 16
URGENT_BATCH = 32  # a batch of at most so many notes goes before the others
FIRST_RETRY_S = 2.0
LONGEST_RETRY_S = 300.0
NICENESS = 10
LOOKS = 50  # at a note whose file was not what the index knows; more follow with its next change
LOOK_AGAIN_S = 0.1
ATTEMPTS = 3  # for a passage that the model answers badly


class EmbeddingQueue:
    """Embeds what waits, newest first, and puts it into mirror and tables."""

    def __init__(
        self,
        embedder: Embedder,
        read_body: Callable[[NotePath], str | None],
        mirror: Mirror,
        tables: TableWriter,
        key_of: Callable[[str], bytes],
        on_progress: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._embedder = embedder
        self._read_body = read_body
        self._mirror = mirror
        self._tables = tables
        self._key_of = key_of
        self._on_progress = on_progress
        self._monotonic = monotonic
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._condition = threading.Condition()
        self._stopping = False
        self._busy = False
        self._not_before = 0.0
        self._delay_s = FIRST_RETRY_S
        self._failed: dict[bytes, int] = {}
        self._looks: dict[str, int] = {}
        self._problem = ""
        self._done = 0
        self._thread = threading.Thread(target=self._run, name="embeddings", daemon=True)

    @property
    def pending(self) -> int:
        """Passages that wait for an embedding."""
        return max(0, len(self._mirror.vectors.pending) - self.failed)

    @property
    def failed(self) -> int:
        """Passages that the model could not embed after several tries."""
        return sum(1 for attempts in self._failed.values() if attempts >= ATTEMPTS)

    @property
    def done(self) -> int:
        """Passages embedded since the start."""
        return self._done

    @property
    def problem(self) -> str:
        """Why embeddings are behind, "" where nothing is wrong."""
        return self._problem

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def offer(self, ids: Iterable[str]) -> None:
        """Notes whose body changed."""
        ids = list(ids)
        urgent = len(ids) <= URGENT_BATCH
        with self._condition:
            for note_id in ids:
                self._waiting[note_id] = None
                self._waiting.move_to_end(note_id, last=not urgent)
            self._condition.notify_all()

    def offer_pending(self) -> None:
        """Everything in the mirror that still waits; called once after start and by `reindex --embeddings`."""
        with self._mirror.lock:
            ids = [self._mirror.at(slot).id for slot in sorted(self._mirror.vectors.waiting_slots())]
        with self._condition:
            self._failed.clear()
            for note_id in ids:
                self._waiting.setdefault(note_id)
            self._condition.notify_all()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until nothing waits; False where something still does after the time."""
        deadline = self._monotonic() + timeout_s
        with self._condition:
            while self._waiting or self._busy:
                left = deadline - self._monotonic()
                if left <= 0 or self._stopping:
                    return False
                self._condition.wait(min(left, 0.2))
        return True

    def close(self, timeout_s: float = 10.0) -> None:
        """End after the step under way; what waits is found again at the next start."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while (ids := self._take()) is not None:
            self._step(ids)

    def _take(self) -> list[str] | None:
        with self._condition:
            self._busy = False
            self._condition.notify_all()
            while not self._stopping:
                wait_s = self._not_before - self._monotonic()
                if self._waiting and wait_s <= 0:
                    self._busy = True
                    some = min(PASSAGES_PER_STEP, len(self._waiting))
                    return [self._waiting.popitem(last=False)[0] for _ in range(some)]
                self._condition.wait(wait_s if self._waiting else None)
            return None

    def _step(self, ids: Sequence[str]) -> None:
        wanted = self._wanted(ids)
        for start in range(0, len(wanted), PASSAGES_PER_STEP):
            some = wanted[start : start + PASSAGES_PER_STEP]
            if self._stopping or not self._embed(some):
                self._again(ids)
                return
        self._look_again(ids)

    def _look_again(self, ids: Sequence[str]) -> None:
        """Notes that still wait: their file was away, or another text, at the moment it was read."""
        for note_id in ids:
            looks = self._looks.pop(note_id, 0) + 1
            if looks > LOOKS or not self._still_waits(note_id):
                continue
            self._looks[note_id] = looks
            with self._condition:
                self._not_before = max(self._not_before, self._monotonic() + LOOK_AGAIN_S)
                self._waiting.setdefault(note_id)

    def _still_waits(self, note_id: str) -> bool:
        with self._mirror.lock:
            slot = self._mirror.slot_of(note_id)
            keys = () if slot is None else (ref.key for ref in self._mirror.passages(slot))
            pending = self._mirror.vectors.pending
            return any(key in pending and self._failed.get(key, 0) < ATTEMPTS for key in keys)

    def _wanted(self, ids: Sequence[str]) -> list[tuple[bytes, Passage]]:
        wanted: dict[bytes, Passage] = {}
        for note_id in ids:
            row = self._mirror.get(note_id)
            body = self._read_body(row.path) if row is not None else None
            if body is None:
                continue
            for passage in passages_of(body):
                key = self._key_of(passage.text)
                if key in self._mirror.vectors.pending and self._failed.get(key, 0) < ATTEMPTS:
                    wanted[key] = passage
        return sorted(wanted.items(), key=lambda item: len(item[1].text))

    def _embed(self, some: Sequence[tuple[bytes, Passage]]) -> bool:
        """Whether the step is over; False: try again later."""
        try:
            vectors = self._embedder.embed_passages([passage.text for _, passage in some])
        except ModelBadAnswer as exc:
            if len(some) > 1:  # find the one that the model stumbles over
                return min(list(map(self._embed, ([one] for one in some))))
            return self._count_failure(some[0][0], exc)
        except ModelError as exc:
            self._hold_off(exc)
            return False
        keys = [key for key, _ in some]
        shares: npt.NDArray[np.float32] = np.array([passage.share_of_cjk for _, passage in some], np.float32)
        self._mirror.add_vectors(keys, vectors, shares)
        self._tables.add_embeddings(keys, vectors, shares)
        self._done += len(keys)
        self._problem, self._delay_s, self._not_before = "", FIRST_RETRY_S, 0.0
        self._on_progress()
        return True

    def _count_failure(self, key: bytes, exc: ModelError) -> bool:
        """Whether the passage is given up."""
        attempts = self._failed[key] = self._failed.get(key, 0) + 1
        self._hold_off(exc)
        return attempts >= ATTEMPTS

    def _hold_off(self, exc: ModelError) -> None:
        self._problem = str(exc)
        log.warning("embeddings wait: %s", exc)
        delay = self._delay_s
        if isinstance(exc, ModelBusy) and exc.retry_after_s is not None:
            delay = max(delay, exc.retry_after_s)
        if isinstance(exc, CapReached):
            delay = LONGEST_RETRY_S
        self._not_before = self._monotonic() + delay
        self._delay_s = min(LONGEST_RETRY_S, self._delay_s * 2)

    def _again(self, ids: Sequence[str]) -> None:
        with self._condition:
            for note_id in reversed(ids):
                self._waiting[note_id] = None
                self._waiting.move_to_end(note_id, last=False)
