"""Versions kept before a change: keep, list, show, compare. One folder a note, one file a version, never rewritten.

    .vaultd/history/notes/<key>/20260131T083000.123456Z-<checksum>.md

The files of a version never change, so sync tools have nothing to quarrel over. The key is the note's id, or a hash of
its path for notes without one.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from vaultd.core.errors import LostRace
from vaultd.core.note import path_key
from vaultd.vault.atomic import AtomicFile, disk_errors
from vaultd.vault.codec import checksum

VERSIONS_KEPT: Final = 20
_NAME: Final = re.compile(r"(?P<at>\d{8}T\d{6}\.\d{6}Z)-(?P<checksum>[0-9a-f]{32})\.md")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STAMP: Final = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class Version:
    """One kept version of a note. `at` is when it was kept, i.e. when it was about to be changed."""

    key: str
    at: datetime
    checksum: str
    size: int

    @property
    def id(self) -> str:
        """Names the version among those of its note."""
        return self.at.strftime(_STAMP) + "-" + self.checksum


def history_key(note_id: str, path: str) -> str:
    """Under which key a note's versions lie: its id, or a hash of its path where it has none."""
    if _PLAIN_KEY.fullmatch(note_id):
        return note_id
    text = note_id or path_key(path)
    return "path-" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class History:
    """The kept versions below `state_dir`. `limit` newest ones are kept of each note unless a call says otherwise."""

    def __init__(self, state_dir: Path, *, limit: int = VERSIONS_KEPT, file: AtomicFile | None = None) -> None:
        self._folder = state_dir / "history" / "notes"
        self._limit = limit
        self._file = file or AtomicFile()

    def keep(self, key: str, raw: bytes, *, at: datetime, limit: int | None = None) -> Version | None:
        """Keep the bytes of a note before they change. None where the newest kept version has the same bytes.

        Raises StorageFull, VaultError.
        """
        limit = self._limit if limit is None else limit
        known = self.versions(key)
        digest = checksum(raw)
        if limit <= 0 or (known and known[0].checksum == digest):
            return None
        version = Version(key, _later(at, known), digest, len(raw))
        try:
            self._file.create(self._place(version), raw, shown=f"history of {key}")
        except LostRace:
            return None
        for old in self.versions(key)[limit:]:
            with disk_errors(f"history of {key}"):
                self._place(old).unlink(missing_ok=True)
        return version

    def versions(self, key: str) -> tuple[Version, ...]:
        """The kept versions of a note, newest first."""
        found: list[Version] = []
        folder = self._folder / key
        if not folder.is_dir():
            return ()
        with disk_errors(f"history of {key}"):
            for place in folder.iterdir():
                match = _NAME.fullmatch(place.name)
                if match is None:
                    continue
                at = datetime.strptime(match["at"], _STAMP).replace(tzinfo=UTC)
                found.append(Version(key, at, match["checksum"], place.stat().st_size))
        return tuple(sorted(found, key=lambda version: version.at, reverse=True))

    def find(self, key: str, version_id: str) -> Version | None:
        """A version by its id, or by its number (1 is the newest)."""
        known = self.versions(key)
        if version_id.isdecimal() and 1 <= int(version_id) <= len(known):
            return known[int(version_id) - 1]
        return next((version for version in known if version.id == version_id), None)

    def read(self, version: Version) -> bytes:
        """The bytes of a version. Raises VaultError."""
        with disk_errors(f"history of {version.key}"):
            return self._place(version).read_bytes()

    def diff(self, version: Version, current: bytes) -> str:
        """What changed since a version, as a unified diff; bytes that aren't UTF-8 are shown as �."""
        old = self.read(version).decode("utf-8", "replace").splitlines(keepends=True)
        new = current.decode("utf-8", "replace").splitlines(keepends=True)
        lines = difflib.unified_diff(old, new, version.at.isoformat(timespec="seconds"), "now")
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

    def prune(self, key: str, limit: int) -> None:
        """Keep the newest `limit` versions of a note and no more."""
        with disk_errors(f"history of {key}"):
            for old in self.versions(key)[limit:]:
                self._place(old).unlink(missing_ok=True)

    def forget(self, key: str) -> int:
        """Remove all versions of a note; how many there were."""
        known = self.versions(key)
        with disk_errors(f"history of {key}"):
            for version in known:
                self._place(version).unlink(missing_ok=True)
            if known:
                shutil.rmtree(self._folder / key)
        return len(known)

    def _place(self, version: Version) -> Path:
        return self._folder / version.key / f"{version.id}.md"


def _later(at: datetime, known: tuple[Version, ...]) -> datetime:
    """`at` in UTC, or just after the newest known version: versions stay in the order in which they were kept."""
    at = at.astimezone(UTC)
    if known and at <= known[0].at:
        return known[0].at + timedelta(microseconds=1)
    return at
