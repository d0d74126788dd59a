"""Compare the vault with the index: which paths need a look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaultd.core.note import FileStamp, NotePath, path_key
from vaultd.index.rows import Row


@dataclass(frozen=True, slots=True)
class Difference:
    """Paths that differ: on disk only, on both sides with other stamps, in the index only."""

    appeared: tuple[NotePath, ...]
    changed: tuple[NotePath, ...]
    vanished: tuple[NotePath, ...]

    @property
    def paths(self) -> tuple[NotePath, ...]:
        """All of them, present ones first."""
        return (*self.appeared, *self.changed, *self.vanished)

    def lasting_since(self, earlier: Difference) -> Difference:
        """Those that differed earlier too: what a person changes at this moment was not missed."""
        before = frozenset(earlier.paths)
        kept = (
            tuple(path for path in paths if path in before) for paths in (self.appeared, self.changed, self.vanished)
        )
        return Difference(*kept)

    def __len__(self) -> int:
        return len(self.appeared) + len(self.changed) + len(self.vanished)


def difference(stamps: Mapping[NotePath, FileStamp], rows: Iterable[Row]) -> Difference:
    """What a look at every file's size, time and inode finds to be different from the index."""
    known = {path_key(row.path): row for row in rows}
    appeared: list[NotePath] = []
    changed: list[NotePath] = []
    for path, stamp in stamps.items():
        row = known.pop(path_key(path), None)
        if row is None:
            appeared.append(path)
        elif row.stamp != stamp or row.path != path:
            changed.append(path)
    vanished = tuple(row.path for row in known.values())
    return Difference(tuple(appeared), tuple(changed), vanished)
