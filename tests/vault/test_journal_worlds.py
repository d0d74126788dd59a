"""Whatever machines count and whatever syncs when: nothing twice, nothing lost."""

from __future__ import annotations

import shutil
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vault.journal_setup import HERE, NOTE, NOW, THERE, file_of
from vaultd.core.errors import VaultError
from vaultd.vault.journal import Bump, Journal
from vaultd.vault.tally import combined_count


class World:
    """Machines whose vaults are synced piece by piece, and what is true of one note."""

    def __init__(self, folder, machines, floor):
        self.folders = [folder / str(number) for number in range(machines)]
        for place in self.folders:
            (place / "machines").mkdir(parents=True)
        self.names = [f"{number:012x}" for number in range(machines)]
        self.journals = [Journal(place, name) for place, name in zip(self.folders, self.names, strict=True)]
        self.floors = [floor] * machines
        self.true = floor

    def count(self, machine):
        return combined_count(self.floors[machine], self.journals[machine].total(NOTE))

    def bump(self, machine, amount):
        before = self.count(machine)
        self.journals[machine].bump(NOTE, amount, NOW, floor=self.floors[machine])
        self.true += amount
        assert self.count(machine) == pytest.approx(before + amount)

    def project(self, machine):
        self.floors[machine] = self.count(machine)

    def sync_note(self, source, target):
        # two versions of the property are merged to the higher one
        self.floors[target] = max(self.floors[target], self.floors[source])

    def sync_journal(self, source, target, owner):
        self.journals[source].flush(durable=False)
        place = file_of(self.folders[source], self.names[owner])
        copy = file_of(self.folders[target], self.names[owner])
        if place.exists() and target != owner:
            known = len(copy.read_bytes()) if copy.exists() else 0
            if len(place.read_bytes()) > known:
                copy.parent.mkdir(exist_ok=True)
                copy.write_bytes(place.read_bytes())
        self.journals[target].refresh()

    def sync_all(self):
        machines = range(len(self.journals))
        for owner in machines:
            for target in machines:
                self.sync_journal(owner, target, owner)
        for source in machines:
            for target in machines:
                self.sync_note(source, target)


def steps_of_machines(machines):
    machine = st.integers(0, machines - 1)
    return st.lists(
        st.one_of(
            st.tuples(st.just("bump"), machine, st.sampled_from([1.0, 0.3])),
            st.tuples(st.just("project"), machine),
            st.tuples(st.just("sync_note"), machine, machine),
            st.tuples(st.just("sync_journal"), machine, machine, machine),
        ),
        max_size=25,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.sampled_from([0.0, 7.0]), steps_of_machines(3))
def test_whatever_syncs_when_nothing_is_counted_twice_and_nothing_is_lost(tmp_path_factory, floor, steps):
    world = World(tmp_path_factory.mktemp("world"), 3, floor)

    for name, *arguments in steps:
        getattr(world, name)(*arguments)
        for machine in range(3):
            assert world.count(machine) <= world.true + 1e-6
    world.sync_all()

    assert [world.count(machine) for machine in range(3)] == pytest.approx([world.true] * 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(st.sampled_from([0.0, 7.0]), steps_of_machines(3), st.integers(0, 2))
def test_a_lost_journal_costs_no_more_than_its_own_counts(tmp_path_factory, floor, steps, loser):
    world = World(tmp_path_factory.mktemp("world"), 3, floor)
    for name, *arguments in steps:
        getattr(world, name)(*arguments)
    world.sync_all()
    lost = sum(amount for name, machine, *rest in steps if name == "bump" and machine == loser for amount in rest)

    for folder in world.folders:
        shutil.rmtree(file_of(folder, world.names[loser]).parent, ignore_errors=True)
    fresh = [Journal(folder, "f" * 12) for folder in world.folders]

    for machine, journal in enumerate(fresh):
        found = combined_count(world.floors[machine], journal.total(NOTE))
        assert world.true - lost - 1e-6 <= found <= world.true + 1e-6


class Believer:
    """One machine's journal, and the count that somebody believes in who adds up what is bumped and hears what changed."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "machines").mkdir(parents=True)
        self.here, self.there = Journal(folder, HERE), Journal(folder, THERE)
        self.floor, self.count = 0.0, 0.0

    def bump_later(self, amount):
        self.here.bump_later([Bump(NOTE, amount, NOW, self.floor)])
        self.count = float(np.round(self.count + amount, 6))

    def bump_there(self, amount):
        self.there.bump(NOTE, amount, NOW, floor=self.floor)

    def flush_there(self):
        self.there.flush(durable=False)

    def flush(self):
        self.here.flush(durable=False)

    def lose(self):
        file_of(self.folder).unlink(missing_ok=True)

    def be_counted_elsewhere_unsaid(self):
        """The other machine's counts come in with a file of ours that is found changed, and then one more is added."""
        self.bump_later(1.0)
        self.flush()
        self.bump_there(3.3)
        self.flush_there()
        self.lose()
        self.flush()
        self.bump_later(0.3)

    def refresh(self):
        if NOTE in self.here.refresh():
            self.look()

    def edit(self, floor):
        self.floor = floor
        self.look()

    def look(self):
        self.count = combined_count(self.floor, self.here.total(NOTE))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["bump_later", "bump_there"]), st.sampled_from([1.0, 0.3, 0.1])),
            st.tuples(st.just("edit"), st.sampled_from([0.0, 3.3, 50.0])),
            st.tuples(st.sampled_from(["flush", "flush_there", "refresh", "lose"])),
        ),
        max_size=25,
    )
)
def test_what_is_bumped_later_adds_up_to_what_the_journal_says_or_is_told(tmp_path_factory, steps):
    world = Believer(tmp_path_factory.mktemp("world"))

    for name, *arguments in steps:
        getattr(world, name)(*arguments)
    world.refresh()

    assert world.count == combined_count(world.floor, world.here.total(NOTE))


def test_counts_of_another_machine_that_came_unsaid_are_told_with_the_next_bump(tmp_path):
    world = Believer(tmp_path / "world")
    world.be_counted_elsewhere_unsaid()

    world.refresh()

    assert world.count == pytest.approx(4.6)


def test_a_look_that_fails_forgets_nothing(tmp_path, monkeypatch):
    world = Believer(tmp_path / "world")
    world.be_counted_elsewhere_unsaid()
    read, fails = world.here._read_changed_files, [True]

    def fails_once():
        if fails.pop() if fails else False:
            raise VaultError("the journals can't be listed")
        return read()

    monkeypatch.setattr(world.here, "_read_changed_files", fails_once)
    with pytest.raises(VaultError):
        world.refresh()
    world.refresh()

    assert world.count == pytest.approx(4.6)


def test_a_total_does_not_wait_for_the_disk(tmp_path):
    world = Believer(tmp_path / "world")
    world.bump_later(1.0)

    with world.here._lock:  # as while it writes
        told = []
        asking = threading.Thread(target=lambda: told.append(world.here.total(NOTE).activations))
        asking.start()
        asking.join(10)

    assert told == [1.0]
