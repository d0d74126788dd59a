"""A journal that is opened while its vault's disk is out: what it counts is added to what stands there."""

from __future__ import annotations

import pytest

from tests.vault.journal_setup import HERE, NOTE, NOW, OTHER, THERE, count, file_of
from vaultd.core.errors import VaultError
from vaultd.vault.journal import Journal
from vaultd.vault.presence import Presence
from vaultd.vault.tally import Total


class Disk:
    """A vault with a note and a count of five, two of them of another machine, on a disk that can be taken out."""

    def __init__(self, folder):
        self.vault, self.elsewhere, self.aside = folder / "vault", folder / "elsewhere", folder / "state"
        self.vault.mkdir()
        (self.vault / "walk.md").write_text("river\n")
        for machine, amount in ((THERE, 2.0), (HERE, 3.0)):
            journal = self.journal(machine)
            journal.bump(NOTE, amount, NOW)
            journal.flush()

    def journal(self, machine=HERE):
        """Opened as a daemon does that knows notes of this vault."""
        presence = Presence(self.vault, self.vault / ".vaultd")
        journal = Journal(self.vault / ".vaultd", machine, self.aside, presence)
        presence.expect()
        return journal

    def out(self):
        self.vault.rename(self.elsewhere)
        self.vault.mkdir()

    def back(self):
        self.vault.rmdir()  # fails where something was written into the mount point
        self.elsewhere.rename(self.vault)

    def left_aside(self):
        return [place.name for place in self.aside.glob("*")]


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


def test_counts_are_added_to_those_of_the_disk_once_it_is_back(disk):
    disk.out()
    journal = disk.journal()
    journal.bump(NOTE, 1.0, NOW)
    journal.bump(OTHER, 1.0, NOW, floor=7.0)
    assert journal.flush() == 0
    journal.bump(NOTE, 1.0, NOW)
    disk.back()

    assert journal.flush() == 2
    assert journal.refresh() == {NOTE}

    assert count(journal) == count(disk.journal()) == 7.0
    assert count(journal, floor=7.0, note=OTHER) == 8.0
    assert disk.left_aside() == []


def test_counting_goes_on_from_there(disk):
    disk.out()
    journal = disk.journal()
    journal.bump(NOTE, 1.0, NOW)
    disk.back()
    journal.flush()

    assert journal.bump(NOTE, 1.0, NOW) == Total(7.0, NOW)
    journal.flush()

    assert count(disk.journal()) == 7.0


@pytest.mark.parametrize("starts", [1, 2, 3])
def test_counts_outlive_restarts_without_the_disk(disk, starts):
    disk.out()
    for _ in range(starts):
        journal = disk.journal()
        journal.bump(NOTE, 1.0, NOW)
        journal.flush()
    disk.back()

    assert count(disk.journal()) == 5.0 + starts
    disk.journal().flush()
    assert count(disk.journal()) == 5.0 + starts


def test_a_count_that_the_frontmatter_has_already_is_not_taken_twice(disk):
    disk.out()
    journal = disk.journal()
    journal.bump(NOTE, 1.0, NOW, floor=5.0)  # the five had been projected into the note
    assert count(journal, floor=5.0) == 6.0
    disk.back()
    journal.flush()
    journal.refresh()

    assert count(journal, floor=5.0) == 6.0


def test_counts_that_a_crash_left_aside_are_not_added_twice(disk):
    disk.out()
    journal = disk.journal()
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    disk.back()
    place = file_of(disk.vault / ".vaultd")
    copy = place.with_name("activations 2.jsonl")
    place.rename(copy)
    place.mkdir()  # the journal can't be written: only what comes before that is done
    with pytest.raises(VaultError):
        journal.flush()
    (left,) = disk.aside.iterdir()
    as_it_was = left.read_bytes()
    place.rmdir()
    journal.flush()
    left.write_bytes(as_it_was)  # the process died before it could take this away

    again = disk.journal()

    assert count(again) == 6.0
    again.flush()
    assert disk.left_aside() == []
    assert count(disk.journal()) == 6.0


def test_nothing_is_mended_or_dropped_while_the_disk_is_out(disk):
    disk.out()
    journal = disk.journal()
    journal.bump(NOTE, 1.0, NOW)

    assert not journal.mend()
    assert not journal.drop([NOTE])

    disk.back()
    journal.flush()
    assert count(disk.journal()) == 6.0


def test_what_other_machines_counted_is_not_forgotten_while_the_disk_is_out(disk):
    journal = disk.journal()
    disk.out()

    assert journal.refresh() == frozenset()
    assert count(journal) == 5.0


def test_what_is_aside_goes_away_once_the_journal_says_it_too(disk):
    disk.aside.mkdir(exist_ok=True)
    aside = disk.aside / f"activations-{HERE}.jsonl"
    aside.write_bytes(file_of(disk.vault / ".vaultd").read_bytes())

    assert disk.journal().flush() == 0

    assert disk.left_aside() == []
