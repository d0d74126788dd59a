"""Condensed texts that were paid for once: a small SQLite file in the state folder. Losing it costs requests, nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

MOST_ENTRIES: Final = 5_000
_DROP_AT_ONCE: Final = (
    10  # a tenth of the entries goes when the cache is full, so that it is not trimmed at each new one
)
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS condensed (key TEXT PRIMARY KEY, text TEXT NOT NULL, used INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_use ON condensed (used);"
)
_NEXT_USE: Final = "(SELECT COALESCE(MAX(used), 0) + 1 FROM condensed)"


def condense_key(text: str, *, model: str, prompt_version: str) -> str:
    """The key of a text as this model condenses it with this prompt: BLAKE2b, 128 bits, hexadecimal."""
    seen = f"{model}\0{prompt_version}\0{text}".encode("utf-8", "replace")
    return hashlib.blake2b(seen, digest_size=16).hexdigest()


class CondenseCache:
    """At most `most_entries` texts by key; the longest unused go first. May be called from several threads.

    A file that is damaged is begun anew; one that cannot be written (full or read-only disk) is gone without.
    """

    def __init__(self, path: Path, *, most_entries: int = MOST_ENTRIES) -> None:
        self._path = path
        self._most_entries = most_entries
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        """The condensed text, or None."""
        with self._lock:
            try:
                return self._get(key)
            except sqlite3.Error as error:
                self._recover(error)
                return None

    def put(self, key: str, text: str) -> None:
        """Keep a condensed text."""
        with self._lock:
            try:
                self._put(key, text)
            except sqlite3.Error as error:
                self._recover(error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _get(self, key: str) -> str | None:
        with self._opened() as connection:
            row = connection.execute("SELECT text FROM condensed WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            connection.execute(f"UPDATE condensed SET used = {_NEXT_USE} WHERE key = ?", (key,))
        return str(row[0])

    def _put(self, key: str, text: str) -> None:
        with self._opened() as connection:
            connection.execute(f"INSERT OR REPLACE INTO condensed VALUES (?, ?, {_NEXT_USE})", (key, text))
            (count,) = connection.execute("SELECT COUNT(*) FROM condensed").fetchone()
            if count > self._most_entries:
                surplus = count - self._most_entries + self._most_entries // _DROP_AT_ONCE
                connection.execute(
                    "DELETE FROM condensed WHERE key IN (SELECT key FROM condensed ORDER BY used LIMIT ?)", (surplus,)
                )

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            with contextlib.suppress(OSError):  # SQLite names the reason
                self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=2.0, check_same_thread=False)
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        return self._connection

    def _recover(self, error: sqlite3.Error) -> None:
        self._close()
        if isinstance(error, sqlite3.OperationalError):
            log.warning("%s cannot be used (%s); condensed texts are not kept for now", self._path, error)
            return
        log.warning("%s is damaged (%s); it is begun anew", self._path, error)
        for leftover in (self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
