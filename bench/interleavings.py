"""Tools write properties while a person types in the same note: is a typed line ever lost, or there twice?

    python bench/interleavings.py --interleavings 10000 [--seed 1]

Each interleaving is one run with its own seed. The person's editor saves as Obsidian does (empties the file, then fills
it in pieces) or as many other programs do (a new file renamed over the old one); before a save it takes in what has
changed on disk, as Obsidian does. Its steps fall between the single system calls of our writer, wherever the seed puts
them, so that a save begins or ends between any two of them. One thing is taken from life: a person's saves are seconds
apart and a swap of files takes some ten microseconds, so that no two saves fall into one swap.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from vaultd.core.errors import LostRace
from vaultd.core.note import NotePath
from vaultd.vault.atomic import AtomicFile
from vaultd.vault.codec import set_properties
from vaultd.vault.disk import Disk
from vaultd.vault.history import History
from vaultd.vault.layout import Layout
from vaultd.vault.log import WriteLog
from vaultd.vault.writer import VaultWriter

NOTE = NotePath("dynamic/日常/walk_a1b2c3d4e5f6.md")
FIRST = b"---\nid: a1b2c3d4e5f6\nimportance: 5\n---\nA walk by the river.\n"
MOMENT = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


@dataclass
class Editor:
    """A person's editor with one note open; `step` makes the next small step of typing and saving."""

    place: Path
    rng: random.Random
    saves: int
    typed: list[bytes] = field(default_factory=list)
    swaps: int = 0
    _swap_of_last_save: int = -1

    def __post_init__(self) -> None:
        self._steps = self._life()

    def swap_is_over(self) -> None:
        """Tells that the writer is past a swap, or between two."""
        self.swaps += 1

    def step(self) -> bool:
        """One step; False once everything is typed and saved."""
        return next(self._steps, None) is not None

    def finish(self) -> None:
        """All remaining steps."""
        while self.step():
            self.swap_is_over()

    def _life(self) -> Iterator[str]:
        for number in range(self.saves):
            line = f"typed line {number} {self.rng.randrange(10**6)}\n".encode()
            self.typed.append(line)
            yield "typed"
            while self._swap_of_last_save == self.swaps:
                yield "pausing"
            if self.rng.random() < 0.6:
                yield from self._truncate_and_fill(line)
            else:
                yield from self._rename(line)
            self._swap_of_last_save = self.swaps

    def _truncate_and_fill(self, line: bytes) -> Iterator[str]:
        # taking in the text on disk and emptying the file is one step: the editor looks right before it saves
        text = self.place.read_bytes() + line
        file: BinaryIO
        with self.place.open("wb", buffering=0) as file:
            yield "emptied"
            middle = self.rng.randrange(len(text) + 1)
            file.write(text[:middle])
            yield "half filled"
            file.write(text[middle:])
            yield "filled"

    def _rename(self, line: bytes) -> Iterator[str]:
        part = self.place.with_name("editor.tmp")
        yield "about to save"
        part.write_bytes(self.place.read_bytes() + line)
        part.replace(self.place)


class SteppedDisk(Disk):
    """Lets others act before every system call of a write. Skips waiting for the platter, which changes no order."""

    def __init__(self, between: Callable[[], None], swap_is_over: Callable[[], None]) -> None:
        self._between = between
        self._swap_is_over = swap_is_over

    def read(self, place: Path) -> bytes:
        self._between()
        return super().read(place)

    def write_new(self, place: Path, raw: bytes) -> None:
        self._swap_is_over()
        self._between()
        with place.open("xb") as file:
            file.write(raw)

    def exchange(self, one: Path, other: Path) -> None:
        self._between()
        super().exchange(one, other)

    def open_for_writing(self, place: Path) -> bool | None:
        self._between()
        return super().open_for_writing(place)

    def unlink(self, place: Path) -> None:
        self._swap_is_over()
        self._between()
        super().unlink(place)

    def sync_folder(self, folder: Path) -> None:
        self._between()


@dataclass(frozen=True)
class Outcome:
    """What one interleaving came to. `faults` is empty when all is well."""

    written: int
    lost_races: int
    faults: tuple[str, ...]


class Interleaver:
    """A vault with one note, in which interleavings are run, one after the other."""

    def __init__(self, root: Path) -> None:
        self.place = root / NOTE
        self.place.parent.mkdir(parents=True)
        self._between: Callable[[], None] = lambda: None
        self._swap_is_over: Callable[[], None] = lambda: None
        layout = Layout(root)
        self._writer = VaultWriter(
            layout,
            WriteLog(layout.state_dir, "0123456789ab"),
            history=History(layout.state_dir, file=AtomicFile(SteppedDisk(lambda: None, lambda: None))),
            disk=SteppedDisk(lambda: self._between(), lambda: self._swap_is_over()),
            pause=self._pause,
            clock=lambda: MOMENT,
        )

    def _pause(self, _seconds: float) -> None:
        self._swap_is_over()
        self._between()

    def run(self, seed: int, *, saves: int = 3, writes: int = 3) -> Outcome:
        """One interleaving: `saves` by a person, `writes` by tools, in an order that `seed` decides."""
        self.place.write_bytes(FIRST)
        rng = random.Random(seed)
        editor = Editor(self.place, rng, saves)
        haste = rng.choice((0.1, 0.3, 0.6))

        def between() -> None:
            while rng.random() < haste and editor.step():
                pass

        self._between, self._swap_is_over = between, editor.swap_is_over
        done: list[str] = []
        lost = 0
        for key in (f"key{number}" for number in range(writes)):
            try:
                self._writer.change(NOTE, lambda raw, key=key: set_properties(NOTE, raw, {key: "kept"}))
                done.append(key)
            except LostRace:
                lost += 1
            between()
        editor.finish()
        return Outcome(len(done), lost, tuple(_faults(self.place, editor.typed, done)))


def _faults(place: Path, typed: list[bytes], done: list[str]) -> Iterator[str]:
    text = place.read_bytes()
    for line in typed:
        if text.count(line) != 1:
            yield f"{line!r} is there {text.count(line)} times"
    for key in done:
        found = text.count(f"{key}: kept\n".encode())
        if found != 1:
            yield f"property {key} is there {found} times"
    if not text.startswith(b"---\nid: a1b2c3d4e5f6\nimportance: 5\n") or text.count(b"A walk by the river.\n") != 1:
        yield f"the first text is damaged: {text[:80]!r}"
    left = [other.name for other in place.parent.iterdir() if other.name != place.name]
    if left:
        yield f"files left behind: {left}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interleavings", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.process_time()
    written = lost = 0
    faulty: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        interleaver = Interleaver(Path(folder))
        for seed in range(options.seed, options.seed + options.interleavings):
            outcome = interleaver.run(seed)
            written += outcome.written
            lost += outcome.lost_races
            if outcome.faults:
                faulty.append(seed)
                print(f"seed {seed}: {'; '.join(outcome.faults)}")
    seconds = time.process_time() - started
    print(
        f"{options.interleavings} interleavings, {written} writes done, {lost} given up after five lost races, "
        f"{len(faulty)} with faults, {seconds:.0f} s CPU"
    )
    raise SystemExit(1 if faulty else 0)


if __name__ == "__main__":
    main()
