"""A person types in the note that tools write to."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.interleavings import FIRST, NOTE, Interleaver
from tests.vault.vault_setup import a_vault
from vaultd.core.errors import LostRace, UnwritableNote
from vaultd.vault.codec import set_properties
from vaultd.vault.disk import Disk

RUNS = 500


def knows_writers(folder: Path) -> bool:
    """Whether this system tells that a file is open for writing; elsewhere a window stays open, as `atomic` says."""
    place = folder / "probe"
    with place.open("wb"):
        return Disk().open_for_writing(place) is True


@pytest.fixture
def quick_folder(tmp_path) -> Iterator[Path]:
    """A folder in memory where there is one: emptying and filling files costs a real disk ten times as much."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", [0, 1000, 2000, 3000])
def test_no_typed_line_and_no_property_is_lost_or_doubled_in_any_order(quick_folder, first_seed):
    if not knows_writers(quick_folder):
        pytest.skip("this file system can't tell whether a file is open for writing")
    interleaver = Interleaver(quick_folder / "vault")

    faults = {}
    written = 0
    for seed in range(first_seed, first_seed + RUNS):
        outcome = interleaver.run(seed)
        written += outcome.written
        if outcome.faults:
            faults[seed] = outcome.faults

    assert faults == {}
    assert written > 2 * RUNS  # of three writes a run, most arrive


def test_lines_typed_in_another_thread_all_stay(tmp_path):
    if not knows_writers(tmp_path):
        pytest.skip("this file system can't tell whether a file is open for writing")
    vault = a_vault(tmp_path / "vault")
    place = vault.root / vault.put(NOTE, FIRST)
    typed = [f"typed line {number}\n".encode() for number in range(300)]

    def type_lines():
        text = FIRST
        for number, line in enumerate(typed):
            # the editor has the text in memory, and writes what it has
            text += line
            if number % 2:
                part = place.with_name("save.tmp")
                part.write_bytes(text)
                part.replace(place)
                continue
            with place.open("wb", buffering=0) as file:
                file.write(text[:20])
                file.write(text[20:])

    person = threading.Thread(target=type_lines)
    person.start()
    number = 0
    while person.is_alive():
        number += 1
        try:
            vault.writer.change(NOTE, lambda raw, n=number: set_properties(NOTE, raw, {"importance": n % 10 + 1}))
        except (LostRace, UnwritableNote):
            continue
    person.join()

    text = place.read_bytes()
    assert [line for line in typed if text.count(line) != 1] == []
    assert text.startswith(b"---\nid: a1b2c3d4e5f6\nimportance: ")
