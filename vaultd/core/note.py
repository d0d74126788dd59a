"""What one file says: a note, its stamp on disk, its problem if it has one."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

NotePath = NewType("NotePath", str)
"""POSIX path relative to the vault's root, spelled as on disk."""

PropertyValue = str | int | float | bool | None | list["PropertyValue"] | dict[str, "PropertyValue"]


def path_key(path: str) -> str:
    """Identity of a path: NFC, so that one name spelled NFC or NFD is one note."""
    return unicodedata.normalize("NFC", path)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a directory entry says of a file, enough to tell that it did not change."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class NoteProblem:
    """Why a note is not wholly readable. `line` counts from 1 where it is known."""

    reason: str
    line: int | None = None
    writable: bool = False

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Note:
    """One Markdown file as read: typed properties, body, and the checksum of its bytes."""

    path: NotePath
    properties: Mapping[str, PropertyValue]
    body: str
    checksum: str
    stamp: FileStamp
    problem: NoteProblem | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a write: the index is settled once it holds this checksum (None: the note is gone)."""

    path: NotePath
    checksum: str | None
