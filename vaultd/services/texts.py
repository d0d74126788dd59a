"""The text of a note as it lies on disk now, made fit to be shown."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from vaultd.core.note import Note, NotePath
from vaultd.vault.reader import Identity

KEPT_BODIES = 1_024  # of notes that were shown last: …
KEPT_CHARACTERS = 4_000  # … of at most so many characters, hence ten megabytes at most
LOCAL_FOR_S = 60.0  # seconds for which the vault is taken to lie where it did: mounting takes a person


class NoteReader(Protocol):
    """Reads a note from the vault."""

    def read(self, path: NotePath) -> Note | None:
        """The note at a path, None where there is none."""

    def body(self, path: NotePath, readable: str = "") -> str | None:
        """The body of a note, None where there is none; `readable` is its checksum when it last had no problem."""

    def read_bytes(self, path: NotePath) -> bytes | None:
        """The bytes of a note, None where there is none."""

    def identity(self, path: NotePath) -> Identity | None:
        """What the directory says of a note's file now; None where there is none, or it was changed just now."""

    def is_local(self) -> bool:
        """Whether the vault lies on a disk of this machine."""


class Texts:
    """Reads bodies, several at a time, off the loop. One that was read is kept for as long as its file is the same."""

    def __init__(self, reader: NoteReader) -> None:
        self._reader = reader
        self._kept: dict[NotePath, tuple[Identity, str]] = {}
        self._is_local = False
        self._judged_until = 0.0

    def body(self, path: NotePath, readable: str = "") -> str | None:
        """A note's body without surrounding blank lines; None where it is gone. Blocks.

        `readable`, the checksum of a note that was read without a problem, makes it quicker.
        """
        self._see_whether_local()
        identity = self._reader.identity(path)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == identity:
            return kept[1]
        body = self._reader.body(path, readable)
        if body is None:
            self._kept.pop(path, None)
            return None
        body = body.strip()
        if identity is not None and len(body) <= KEPT_CHARACTERS and self._reader.identity(path) == identity:
            self._keep(path, identity, body)
        return body

    def at_hand(self, paths: Iterable[NotePath]) -> list[str] | None:
        """The bodies of notes where all of them were read before and their files are the same; None otherwise.

        May be called on the loop: only on a disk of this machine are the files looked at here.
        """
        if not self._is_local or time.monotonic() >= self._judged_until:
            return None
        bodies: list[str] = []
        for path in paths:
            kept = self._kept.get(path)
            if kept is None or kept[0] != self._reader.identity(path):
                return None
            bodies.append(kept[1])
        return bodies

    def _see_whether_local(self) -> None:
        now = time.monotonic()
        if now >= self._judged_until:
            self._is_local, self._judged_until = self._reader.is_local(), now + LOCAL_FOR_S

    def _keep(self, path: NotePath, identity: Identity, body: str) -> None:
        self._kept.pop(path, None)
        self._kept[path] = (identity, body)
        while len(self._kept) > KEPT_BODIES:
            with contextlib.suppress(KeyError, StopIteration, RuntimeError):  # another thread was at it
                del self._kept[next(iter(self._kept))]

    def raw(self, path: NotePath) -> bytes | None:
        """A note's bytes; None where it is gone. Blocks."""
        return self._reader.read_bytes(path)

    async def bodies(self, paths: Sequence[NotePath]) -> list[str | None]:
        """The bodies of several notes."""
        if not paths:
            return []
        return await asyncio.to_thread(lambda: [self.body(path) for path in paths])
