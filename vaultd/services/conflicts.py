"""What sync tools and git left for a person to decide, and the part of it that nobody has to: differences in our keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vaultd.core.bucket import Role
from vaultd.core.errors import BadInput, VaultError
from vaultd.core.note import Note, NotePath
from vaultd.core.properties import BUCKET_KEYS, CARD_KEYS
from vaultd.index.mirror import Mirror
from vaultd.services.scribe import Scribe
from vaultd.vault import sync
from vaultd.vault.codec import checksum
from vaultd.vault.layout import Layout
from vaultd.vault.merging import merge_notes
from vaultd.vault.reader import VaultReader

_OURS = frozenset((*BUCKET_KEYS, *CARD_KEYS))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A note and what disputes it: copies beside it, or markers inside (`line`). `solvable`: only our keys differ."""

    path: NotePath
    copies: tuple[NotePath, ...] = ()
    line: int | None = None
    solvable: bool = False
    missing: bool = False

    @property
    def how(self) -> str:
        """What a person does about it, in one line."""
        if self.line is not None:
            return "choose between the two versions at the markers, and take the markers out"
        if self.solvable:
            return "only properties of vaultd differ: `vaultd conflicts --solve` merges them"
        if self.missing:
            return "the original is gone: rename the copy, or delete it"
        return "copy what you want to keep into the original, then delete the copy"


class Conflicts:
    """Lists conflicts and solves those that are no question of taste."""

    def __init__(
        self,
        layout: Layout,
        reader: VaultReader,
        mirror: Mirror,
        scribe: Scribe,
        aside: Callable[[], Iterable[NotePath]],
    ) -> None:
        self._layout = layout
        self._reader = reader
        self._mirror = mirror
        self._scribe = scribe
        self._aside = aside

    async def all(self) -> list[Conflict]:
        """Every conflict, by path. Raises VaultUnavailable."""
        return await asyncio.to_thread(self._all)

    def _all(self) -> list[Conflict]:
        grouped: dict[NotePath, list[NotePath]] = {}
        for skipped in self._reader.scan().skipped:
            original = sync.conflict_original(skipped.path)
            if original is not None:
                grouped.setdefault(original, []).append(skipped.path)
        for path in self._aside():
            sibling = sync.numbered_sibling(path)
            if sibling is not None:
                grouped.setdefault(sibling, []).append(path)
        found = [self._of_copies(path, tuple(sorted(copies))) for path, copies in grouped.items()]
        found += [
            Conflict(row.path, line=row.problem_line)
            for row in self._mirror.rows()
            if row.problem.startswith("conflict markers")
        ]
        return sorted(found, key=lambda conflict: conflict.path)

    def _of_copies(self, path: NotePath, copies: tuple[NotePath, ...]) -> Conflict:
        note = self._reader.read(path)
        if note is None:
            return Conflict(path, copies, missing=True)
        solvable = self._layout.role_of(path) is not Role.OWN and all(
            self._differ_in_ours_alone(note, self._reader.read(copy)) for copy in copies
        )
        return Conflict(path, copies, solvable=solvable)

    def _differ_in_ours_alone(self, note: Note, copy: Note | None) -> bool:
        if copy is None or note.problem is not None or copy.problem is not None or note.body != copy.body:
            return False
        theirs = {key: value for key, value in copy.properties.items() if key not in _OURS}
        return theirs == {key: value for key, value in note.properties.items() if key not in _OURS}

    async def solve(self, path: str) -> Conflict:
        """Merge the copies of one note into it, and put them into the trash. Raises BadInput where that is no
        mechanical question, VaultError.
        """
        known = {conflict.path: conflict for conflict in await self.all()}
        conflict = known.get(NotePath(path))
        if conflict is None or not conflict.solvable:
            raise BadInput(f"{path}: has no conflict that can be solved without you")
        with self._scribe.together("conflict solved"):
            for copy in conflict.copies:
                theirs = await asyncio.to_thread(self._reader.read_bytes, copy)
                if theirs is not None:
                    await self._merge(conflict.path, copy, theirs)
        return conflict

    async def _merge(self, path: NotePath, copy: NotePath, theirs: bytes) -> None:
        def edit(ours: bytes) -> bytes:
            merged = merge_notes(b"", ours, theirs)
            if merged.conflicts:
                raise VaultError(f"{path}: the properties clash; copy what you want to keep by hand")
            return merged.raw

        await self._scribe.change(path, edit, why="conflict solved")
        still = await asyncio.to_thread(self._reader.read_bytes, copy)
        if still is not None and checksum(still) == checksum(theirs):
            await self._scribe.delete(copy, permanent=False, why="conflict solved")
