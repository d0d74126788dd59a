"""The text of a note as it lies on disk now, made fit to be shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from vaultd.core.note import Note, NotePath


class NoteReader(Protocol):
    """Reads a note from the vault."""

    def read(self, path: NotePath) -> Note | None:
        """The note at a path, None where there is none."""

    def body(self, path: NotePath, readable: str = "") -> str | None:
        """The body of a note, None where there is none; `readable` is its checksum when it last had no problem."""

    def read_bytes(self, path: NotePath) -> bytes | None:
        """The bytes of a note, None where there is none."""


class Texts:
    """Reads bodies, several at a time, off the loop."""

    def __init__(self, reader: NoteReader) -> None:
        self._reader = reader

    def body(self, path: NotePath, readable: str = "") -> str | None:
        """A note's body without surrounding blank lines; None where it is gone. Blocks.

        `readable`, the checksum of a note that was read without a problem, makes it quicker.
        """
        body = self._reader.body(path, readable)
        return None if body is None else body.strip()

    def raw(self, path: NotePath) -> bytes | None:
        """A note's bytes; None where it is gone. Blocks."""
        return self._reader.read_bytes(path)

    async def bodies(self, paths: Sequence[NotePath]) -> list[str | None]:
        """The bodies of several notes."""
        if not paths:
            return []
        return await asyncio.to_thread(lambda: [self.body(path) for path in paths])
