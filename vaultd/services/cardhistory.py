"""Versions of cards, whoever changed them: what a card said when it was last looked at is kept beside the index.

A change of ours keeps the old bytes before it writes. A person's save in Obsidian, a pull or an undo has happened when
we hear of it; then the bytes of the look before become a version. Counters alone make none.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.bucket import Role
from vaultd.core.errors import VaultError
from vaultd.core.note import FileStamp, NotePath
from vaultd.core.properties import PropertyReader
from vaultd.index.mirror import Mirror
from vaultd.settings import Settings
from vaultd.vault.codec import checksum, decode
from vaultd.vault.history import History, Version, history_key
from vaultd.vault.reader import VaultReader

log = logging.getLogger(__name__)

COUNTERS: Final = frozenset({keys.USE_COUNT, keys.LAST_USED_AT})
_NO_STAMP: Final = FileStamp(0, 0, 0)
_NO_CARD: Final = NotePath("cards/version.md")


class LastSeen:
    """The bytes of each card as last looked at, in one small database. Thread-safe; blocks.

    A database that can't be read is made anew: then only the versions of changes made meanwhile are missing.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def get(self, card_id: str) -> bytes | None:
        """What a card said; None where it was never looked at."""
        with self._lock:
            row = self._open().execute("SELECT raw FROM seen WHERE id = ?", (card_id,)).fetchone()
            return None if row is None else bytes(row[0])

    def put(self, card_id: str, raw: bytes) -> None:
        """What a card says now."""
        with self._lock, self._open() as db:
            db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (card_id, checksum(raw), raw))

    def drop(self, card_ids: Iterable[str]) -> None:
        """Forget cards."""
        with self._lock, self._open() as db:
            db.executemany("DELETE FROM seen WHERE id = ?", [(card_id,) for card_id in card_ids])

    def checksums(self) -> Mapping[str, str]:
        """What was looked at, by id."""
        with self._lock:
            return dict(self._open().execute("SELECT id, checksum FROM seen"))

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._db = self._opened()
            except sqlite3.DatabaseError as exc:
                log.warning("%s can't be read (%s); it is made anew", self._place, exc)
                self._place.unlink(missing_ok=True)
                self._db = self._opened()
        return self._db

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._place, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")  # a lost row costs one version of one hand edit
            db.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, checksum TEXT, raw BLOB)")
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db


class CardHistory:
    """Keeps, lists and reads the versions of cards. Every method blocks; call it in a worker thread."""

    def __init__(
        self,
        history: History,
        reader: VaultReader,
        mirror: Mirror,
        seen: LastSeen,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._history = history
        self._reader = reader
        self._mirror = mirror
        self._seen = seen
        self._settings = settings
        self._clock = clock

    @property
    def limit(self) -> int:
        """How many versions are kept of a card."""
        return self._settings().cards.history

    def looked_at(self, card_ids: Iterable[str]) -> None:
        """These cards may say something new: keep what they said before. One that fails is logged."""
        for card_id in card_ids:
            try:
                self._look(card_id)
            except (VaultError, sqlite3.DatabaseError) as exc:
                log.warning("no version of card %s was kept: %s", card_id, exc)

    def catch_up(self) -> int:
        """Look at every card that differs from what was seen last; how many did."""
        with contextlib.suppress(sqlite3.DatabaseError):
            known = self._seen.checksums()
            rows = self._mirror.having(Role.CARD)
            fresh = [row.id for row in rows if known.get(row.id) != row.checksum]
            self.looked_at(fresh)
            self._seen.drop(known.keys() - {row.id for row in rows})
            return len(fresh)
        return 0

    def _look(self, card_id: str) -> None:
        row = self._mirror.get(card_id)
        if row is None or row.role is not Role.CARD:
            return
        raw = self._reader.read_bytes(row.path)
        if raw is None or checksum(raw) != row.checksum:
            return  # saved again meanwhile, or in the midst of it: another look will come
        before = self._seen.get(card_id)
        if before == raw:
            return
        self._seen.put(card_id, raw)
        key = self.key_of(card_id, row.path)
        if (
            before is not None
            and self._says_something_else(before, raw)
            and not self._is_of_another(before, raw, card_id)
        ):
            known = self._history.versions(key)
            digest = checksum(before)
            if all(version.checksum != digest for version in known[: max(self.limit, 1)]):
                self._history.keep(key, before, at=self._clock(), limit=self.limit)
        self._history.prune(key, self.limit)

    @staticmethod
    def _says_something_else(one: bytes, other: bytes) -> bool:
        first, second = decode(_NO_CARD, one, _NO_STAMP), decode(_NO_CARD, other, _NO_STAMP)
        if first.problem or second.problem or first.body != second.body:
            return True
        return _without_counters(first.properties) != _without_counters(second.properties)

    def _is_of_another(self, before: bytes, now: bytes, card_id: str) -> bool:
        """Whether the bytes are those of a card that has another id by now: one id had been given to two."""
        created = [
            PropertyReader(decode(_NO_CARD, raw, _NO_STAMP).properties).moment(keys.CREATED_AT) for raw in (before, now)
        ]
        if created[0] == created[1] or created[0] is None:
            return False
        moment = created[0].timestamp()
        rows = self._mirror.rows()
        return any(row.created == moment and row.role is Role.CARD and row.id != card_id for row in rows)

    def key_of(self, card_id: str, path: str) -> str:
        """Under which key the versions of a card lie."""
        row = self._mirror.get(card_id)
        return history_key(card_id if row is None or row.has_id else "", path)

    def versions(self, card_id: str, path: str) -> tuple[Version, ...]:
        """The newest versions of a card, newest first."""
        return self._history.versions(self.key_of(card_id, path))[: self.limit]

    def read(self, version: Version) -> bytes:
        """The bytes of a version. Raises VaultError."""
        return self._history.read(version)

    def diff(self, version: Version, current: bytes) -> str:
        """What changed since, as a unified diff."""
        return self._history.diff(version, current)

    def follow(self, old_id: str, new_id: str, created: object) -> None:
        """A card was renumbered: its versions, told by when the card was created, go along."""
        old, new = history_key(old_id, ""), history_key(new_id, "")
        kept = [(version, self._history.read(version)) for version in reversed(self._history.versions(old))]
        self._history.forget(old)
        for version, raw in kept:
            mine = decode(_NO_CARD, raw, _NO_STAMP).properties.get(keys.CREATED_AT) == created
            self._history.keep(new if mine else old, raw, at=version.at, limit=self.limit)

    def close(self) -> None:
        """Close the database of what was seen."""
        self._seen.close()


def _without_counters(properties: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in properties.items() if key not in COUNTERS}
