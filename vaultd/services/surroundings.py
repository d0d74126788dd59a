"""What may be wrong around the notes: disks, journals, leftovers, the other machines, the embedding model."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from vaultd.core.findings import Finding
from vaultd.services.health import Health
from vaultd.vault.atomic import leftovers
from vaultd.vault.journal import Journal
from vaultd.vault.layout import Layout
from vaultd.vault.ledgers import Ledger, ledgers
from vaultd.vault.lifecycle import Lifecycle
from vaultd.vault.writer import VaultWriter

ROOM_WANTED_BYTES: Final = 500 * 1024 * 1024
ROOM_NEEDED_BYTES: Final = 1024 * 1024  # below, a disk counts as full
SILENT_AFTER: Final = timedelta(days=90)
OLDEST_PYTHON: Final = (3, 11)


class Surroundings:
    """Call it for the findings. `machine` is this machine's id, `state` its folder for this vault."""

    def __init__(
        self,
        layout: Layout,
        writer: VaultWriter,
        journal: Journal,
        health: Health,
        lifecycle: Lifecycle,
        machine: str,
        state: Path,
        clock: Callable[[], datetime],
    ) -> None:
        self._layout = layout
        self._writer = writer
        self._journal = journal
        self._health = health
        self._lifecycle = lifecycle
        self._machine = machine
        self._state = state
        self._clock = clock

    def __call__(self) -> Iterator[Finding]:
        """All findings. Blocks."""
        if sys.version_info < OLDEST_PYTHON:
            yield Finding("error", f"Python {sys.version.split()[0]} is too old", "environment", "use 3.11 or newer")
        yield from self._disks()
        yield from self._ledgers()
        yield from self._aside()
        yield from self._leftovers()
        yield from self._model()

    def mend_journal(self) -> list[str]:
        """Write this machine's journal anew where that helps; its path if that was done. Raises StorageFull."""
        mine = [one for one in ledgers(self._layout.state_dir) if self._is_mendable(one)]
        return [self._path(mine[0].place)] if mine and self._journal.mend() else []

    def _path(self, place: Path) -> str:
        return place.relative_to(self._layout.root).as_posix()

    def _disks(self) -> Iterator[Finding]:
        for where, place in (("vault", self._layout.root), ("state folder", self._state)):
            free = shutil.disk_usage(place).free
            if not _is_writable(place):
                yield Finding("error", "the disk is read-only", where, "make it writable; what waits is written then")
            elif free < ROOM_NEEDED_BYTES:
                yield Finding("error", "the disk is full", where, "make room on it; what waits is written then")
            elif free < ROOM_WANTED_BYTES:
                yield Finding("warning", f"only {free >> 20} MiB are free", where, "make room on that disk")

    def _is_mendable(self, ledger: Ledger) -> bool:
        return ledger.machine == self._machine and not ledger.log and bool(ledger.broken or ledger.copy)

    def _ledgers(self) -> Iterator[Finding]:
        found = list(ledgers(self._layout.state_dir))
        for one in found:
            yield from self._ledger(one)
        machines = {one.machine for one in found} | {self._machine}
        if len(machines) > 1 and self._lifecycle.claim() is None:
            what = f"{len(machines)} machines share this vault, and each of them forgets and moves"
            yield Finding("hint", what, "lifecycle", "`vaultd lifecycle claim` on the one that shall")
        for machine in sorted(machines - {self._machine}):
            yield from self._silence(machine, [one.changed for one in found if one.machine == machine])

    def _ledger(self, one: Ledger) -> Iterator[Finding]:
        where, mendable = self._path(one.place), self._is_mendable(one)
        mend = "`vaultd doctor --fix` writes it anew" if mendable else "nothing; the lines are passed over"
        if one.broken:
            what = f"{len(one.broken)} lines can't be read; what they alone told is lost"
            yield Finding("warning", what, where, mend, one.broken[0], mendable)
        if one.copy:
            mend = "`vaultd doctor --fix` joins the two" if mendable else "nothing; both are read, no count comes twice"
            yield Finding("hint", "a sync tool's copy of a journal", where, mend, None, mendable)

    def _silence(self, machine: str, changed: list[datetime]) -> Iterator[Finding]:
        silent = self._clock() - max(changed)
        if silent > SILENT_AFTER:
            folder = self._folder_of(machine)
            what = f"this machine has told nothing for {silent.days} days; what it counted still counts"
            yield Finding("hint", what, folder, "nothing; where that machine is gone for good, delete the folder")

    def _aside(self) -> Iterator[Finding]:
        """Counts that wait outside the vault for a journal that this machine no longer writes."""
        for place in sorted(self._state.glob("activations-*.jsonl")):
            machine = place.stem.removeprefix("activations-")
            if machine != self._machine:
                what = f"{place.name} holds counts of an id that this machine had before; they count nowhere"
                mend = f"move {place} into the vault's {self._folder_of(machine)}, where they count"
                yield Finding("warning", what, "state folder", mend)

    def _folder_of(self, machine: str) -> str:
        return f"{self._path(self._layout.state_dir)}/machines/{machine}"

    def _leftovers(self) -> Iterator[Finding]:
        with self._writer.exclusively():
            left = [self._path(place) for place in leftovers(self._layout.root)]
        for path in left:
            what = "a temporary file of a write that was cut short"
            yield Finding("hint", what, path, "`vaultd doctor --fix` removes it", fixable=True)

    def _model(self) -> Iterator[Finding]:
        trouble, words_alone = self._health.embedding_problem, not self._health.progress.embedder
        if words_alone and trouble:
            what = f"search goes by words alone: {trouble}"
            yield Finding("warning", what, "embedding", "mend that, or set embedding.provider")
        elif words_alone:
            yield Finding("hint", "search goes by words alone", "embedding", "nothing, if meant so")
        elif trouble:
            yield Finding("warning", trouble, "embedding", "mend that; what waits is embedded then")


def _is_writable(place: Path) -> bool:
    """Whether the disk takes anything, whoever asks: the superuser's rights say nothing of that."""
    if sys.platform != "win32" and os.statvfs(place).f_flag & os.ST_RDONLY:
        return False
    return os.access(place, os.W_OK)
