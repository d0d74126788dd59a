"""Counting over machines: nothing twice, and a lost journal costs its own counts alone."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultd.core.errors import StorageFull, VaultError
from vaultd.vault.journal import (
    COMPACT_FROM_LINES,
    NOTHING,
    Journal,
    Tally,
    Total,
    combined_count,
    combined_last_use,
    total_of,
)
from vaultd.vault.machine import machine_id

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
HERE, THERE, ELSEWHERE = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"
NOTE, OTHER = "a1b2c3d4e5f6", "0a0a0a0a0a0a"


def file_of(folder, machine=HERE):
    return folder / "machines" / machine / "activations.jsonl"


def count(journal, floor=0.0, note=NOTE):
    return combined_count(floor, journal.total(note))


@contextlib.contextmanager
def file_size_limit(size):
    """As if the disk were full once a file has this many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_counts_add_up_and_survive_a_restart(tmp_path):
    journal = Journal(tmp_path, HERE)
    journal.bump(NOTE, 1.0, NOW)
    journal.bump(NOTE, 0.3, None)
    journal.bump(OTHER, 1.0, NOW + timedelta(days=1))
    journal.flush()

    again = Journal(tmp_path, HERE)

    assert again.totals() == {NOTE: Total(1.3, NOW), OTHER: Total(1.0, NOW + timedelta(days=1))}


def test_counting_itself_writes_nothing_and_a_flush_one_line_a_note(tmp_path):
    journal = Journal(tmp_path, HERE)
    for _ in range(20):
        journal.bump(NOTE, 1.0, NOW)
    assert not file_of(tmp_path).exists()

    assert journal.flush() == 1
    assert journal.flush() == 0

    (line,) = file_of(tmp_path).read_text().splitlines()
    assert json.loads(line) == {"id": NOTE, "t": 20.0, "s": 20, "u": "2026-05-17T12:00:00.000+00:00"}


def test_ripple_leaves_the_last_use_alone(tmp_path):
    journal = Journal(tmp_path, HERE)

    journal.bump(NOTE, 0.3, None)
    assert journal.total(NOTE) == Total(0.3, None)
    journal.bump(NOTE, 1.0, NOW)
    journal.bump(NOTE, 0.3, None)

    assert journal.total(NOTE) == Total(1.6, NOW)


def test_last_use_never_goes_back(tmp_path):
    journal = Journal(tmp_path, HERE)

    journal.bump(NOTE, 1.0, NOW)
    journal.bump(NOTE, 1.0, NOW - timedelta(days=1))

    assert journal.total(NOTE).last_use == NOW


def test_many_ripples_stay_a_round_number(tmp_path):
    journal = Journal(tmp_path, HERE)

    for _ in range(1000):
        journal.bump(NOTE, 0.3, None)

    assert journal.total(NOTE).count == 300.0


def test_machines_are_summed_up_once_their_journals_arrive(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 2.0, NOW)
    there.bump(NOTE, 3.0, NOW + timedelta(hours=1))
    there.bump(OTHER, 1.0, NOW)
    there.flush()

    changed = here.refresh()

    assert changed == {NOTE, OTHER}
    assert here.total(NOTE) == Total(5.0, NOW + timedelta(hours=1))
    assert here.refresh() == frozenset()


def test_a_machine_that_left_is_counted_no_more(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    there.bump(NOTE, 3.0, NOW)
    there.flush()
    here.refresh()
    shutil.rmtree(file_of(tmp_path, THERE).parent)

    assert here.refresh() == {NOTE}
    assert here.total(NOTE) == NOTHING


def test_count_that_was_there_before_us_goes_on(tmp_path):
    journal = Journal(tmp_path, HERE)
    assert count(journal, floor=7.0) == 7.0

    journal.bump(NOTE, 1.0, NOW, floor=7.0)

    assert count(journal, floor=7.0) == 8.0


def test_count_that_was_there_before_us_is_taken_over_once_by_two_machines(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 1.0, NOW, floor=7.0)
    there.bump(NOTE, 1.0, NOW, floor=7.0)
    for journal in (here, there):
        journal.flush()
    for journal in (here, there):
        journal.refresh()

    assert count(here, floor=7.0) == count(there, floor=7.0) == 9.0


def test_projected_count_is_not_counted_again(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 3.0, NOW)
    here.flush()
    there.refresh()
    projected = count(here)

    there.bump(NOTE, 1.0, NOW, floor=projected)

    assert count(there, floor=projected) == 4.0


def test_note_that_syncs_before_the_journal_is_not_counted_twice(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 3.0, NOW, floor=7.0)

    there.bump(NOTE, 1.0, NOW, floor=10.0)  # the projection of 7 + 3 is there, the journal is not
    assert count(there, floor=10.0) == 11.0
    here.flush()
    there.refresh()

    assert count(there, floor=10.0) == 11.0


def test_note_that_syncs_before_news_of_a_known_journal_is_not_counted_twice(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 3.0, NOW)
    here.flush()
    there.refresh()
    there.bump(NOTE, 1.0, NOW)
    here.bump(NOTE, 5.0, NOW)  # 3 + 5, projected as 8 before the other machine's journal came

    there.bump(NOTE, 1.0, NOW, floor=8.0)
    assert count(there, floor=8.0) == 9.0
    here.flush()
    there.refresh()

    assert count(there, floor=8.0) == 10.0  # 8 here, 2 there


def test_count_set_by_hand_goes_on_from_there(tmp_path):
    journal = Journal(tmp_path, HERE)
    journal.bump(NOTE, 2.0, NOW)

    journal.bump(NOTE, 1.0, NOW, floor=50.0)
    journal.bump(NOTE, 1.0, NOW, floor=50.0)

    assert count(journal, floor=50.0) == 52.0


def test_lost_journal_costs_its_own_counts_alone(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 3.0, NOW, floor=7.0)
    here.flush()
    there.refresh()
    there.bump(NOTE, 2.0, NOW, floor=7.0)
    there.flush()
    shutil.rmtree(file_of(tmp_path, HERE).parent)

    again = Journal(tmp_path, ELSEWHERE)

    assert count(again, floor=7.0) == 9.0
    again.bump(NOTE, 1.0, NOW, floor=7.0)
    assert count(again, floor=7.0) == 10.0


def test_projection_outlives_a_lost_journal(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    here.bump(NOTE, 9.0, NOW)
    here.flush()
    there.refresh()
    there.bump(NOTE, 1.0, NOW)
    shutil.rmtree(file_of(tmp_path, HERE).parent)
    there.refresh()

    assert count(there, floor=10.0) == 10.0
    there.bump(NOTE, 1.0, NOW, floor=10.0)
    assert count(there, floor=10.0) == 11.0


@pytest.mark.parametrize("cut", range(1, 30))
def test_torn_last_line_costs_at_most_itself(tmp_path, cut):
    journal = Journal(tmp_path, HERE)
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    raw = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(raw[:-cut])

    again = Journal(tmp_path, HERE)
    assert again.total(NOTE).count == (2.0 if cut == 1 else 1.0)
    again.bump(OTHER, 1.0, NOW)
    again.flush()

    assert Journal(tmp_path, HERE).totals() == again.totals()


def test_lines_that_come_twice_or_out_of_order_change_nothing(tmp_path):
    journal = Journal(tmp_path, HERE)
    for number in range(5):
        journal.bump(NOTE, 1.0, NOW + timedelta(hours=number), floor=3.0)
        journal.bump(OTHER, 0.3, None)
        journal.flush()
    lines = file_of(tmp_path).read_bytes().splitlines(keepends=True)
    shuffled = lines * 2
    random.Random(3).shuffle(shuffled)
    file_of(tmp_path).write_bytes(b"".join(shuffled))

    assert Journal(tmp_path, HERE).totals() == journal.totals()


@pytest.mark.parametrize(
    "line",
    [
        b"<<<<<<< HEAD",
        b"[]",
        b"null",
        b'{"id":5,"t":1}',
        b'{"id":"x","t":"many"}',
        b'{"id":"x","t":-1}',
        b'{"id":"x","t":NaN}',
        b'{"id":"x","t":1e999}',
        b'{"id":"x","t":true}',
        b'{"t":1}',
        b"\xff\xfe",
        b'{"id":"x","t":1,"s":"a"}',
    ],
)
def test_foreign_lines_are_passed_over(tmp_path, line):
    file_of(tmp_path, THERE).parent.mkdir(parents=True)
    good = b'{"id":"a1b2c3d4e5f6","t":2,"s":1,"u":"2026-05-17T12:00:00Z"}'
    file_of(tmp_path, THERE).write_bytes(line + b"\n" + good + b"\n")

    assert Journal(tmp_path, HERE).totals() == {NOTE: Total(2.0, NOW)}


def test_a_last_use_that_is_no_moment_is_none(tmp_path):
    file_of(tmp_path, THERE).parent.mkdir(parents=True)
    file_of(tmp_path, THERE).write_bytes(b'{"id":"a1b2c3d4e5f6","t":2,"s":1,"u":"2026-02-30"}\n')

    assert Journal(tmp_path, HERE).total(NOTE) == Total(2.0, None)


def test_conflict_copy_of_a_journal_is_read_as_well(tmp_path):
    there = Journal(tmp_path, THERE)
    there.bump(NOTE, 2.0, NOW)
    there.flush()
    copy = file_of(tmp_path, THERE).with_name("activations.sync-conflict-20260517-120000-ABCDEFG.jsonl")
    copy.write_bytes(b'{"id":"a1b2c3d4e5f6","t":3,"s":9}\n')

    assert Journal(tmp_path, HERE).total(NOTE) == Total(3.0, NOW)


def test_own_journal_set_back_on_disk_is_made_whole_again(tmp_path):
    journal = Journal(tmp_path, HERE)
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    old = file_of(tmp_path).read_bytes()
    journal.bump(NOTE, 4.0, NOW)
    journal.bump(OTHER, 1.0, NOW)
    journal.flush()
    file_of(tmp_path).write_bytes(old)

    journal.flush()

    assert Journal(tmp_path, HERE).totals() == journal.totals()
    assert journal.total(NOTE).count == 5.0


def test_long_journal_is_compacted_and_says_the_same(tmp_path):
    journal = Journal(tmp_path, HERE)
    for _ in range(COMPACT_FROM_LINES + 10):
        journal.bump(NOTE, 1.0, NOW, floor=5.0)
        journal.flush(durable=False)

    assert len(file_of(tmp_path).read_bytes().splitlines()) < 20
    assert Journal(tmp_path, HERE).totals() == journal.totals() == {NOTE: Total(COMPACT_FROM_LINES + 15.0, NOW)}


def test_dropped_note_is_counted_no_more(tmp_path):
    here, there = Journal(tmp_path, HERE), Journal(tmp_path, THERE)
    there.bump(OTHER, 1.0, NOW)
    there.flush()
    here.refresh()
    here.bump(NOTE, 1.0, NOW)
    here.bump(OTHER, 1.0, NOW)
    here.flush()

    here.drop([NOTE, OTHER, "unknown"])

    assert here.totals() == Journal(tmp_path, HERE).totals() == {OTHER: Total(1.0, NOW)}


@pytest.mark.parametrize(("amount", "floor"), [(-1.0, 0.0), (float("nan"), 0.0), (1.0, float("inf"))])
def test_what_is_no_count_is_refused(tmp_path, amount, floor):
    with pytest.raises(ValueError, match="finite"):
        Journal(tmp_path, HERE).bump(NOTE, amount, NOW, floor=floor)


def test_a_full_disk_is_told_and_the_counts_are_written_later(tmp_path):
    journal = Journal(tmp_path, HERE)
    for number in range(50):
        journal.bump(f"{number:012x}", 1.0, NOW)

    with file_size_limit(1000), pytest.raises(StorageFull):
        journal.flush()
    journal.flush()

    assert Journal(tmp_path, HERE).totals() == journal.totals()
    assert len(journal.totals()) == 50


def test_counts_wait_while_the_vault_is_unmounted(tmp_path):
    mount, state = tmp_path / "vault", tmp_path / "vault" / ".vaultd"
    state.mkdir(parents=True)
    journal = Journal(state, HERE)
    journal.bump(NOTE, 1.0, NOW)
    mount.rename(tmp_path / "elsewhere")
    mount.mkdir()

    assert journal.flush() == 0
    assert list(mount.iterdir()) == []
    mount.rmdir()
    (tmp_path / "elsewhere").rename(mount)
    journal.flush()

    assert Journal(state, HERE).total(NOTE).count == 1.0


def test_last_use_far_ahead_is_no_valid_one():
    total = Total(1.0, NOW + timedelta(days=400))

    assert combined_last_use(NOW - timedelta(days=1), total, now=NOW) == NOW - timedelta(days=1)


def test_last_use_is_the_latest():
    assert combined_last_use(NOW - timedelta(days=1), Total(1.0, NOW), now=NOW) == NOW
    assert combined_last_use(NOW, Total(1.0, NOW - timedelta(days=1)), now=NOW) == NOW
    assert combined_last_use(NOW, NOTHING, now=NOW) == NOW
    assert combined_last_use(NOW + timedelta(days=9), NOTHING, now=NOW) == NOW + timedelta(days=9)


def test_total_of_no_tallies_is_nothing():
    assert total_of([]) == NOTHING
    assert total_of([Tally()]) == Total(0.0, None)


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


def test_machine_id_is_made_once(tmp_path):
    made = machine_id(tmp_path / "state")

    assert len(made) == 12
    assert machine_id(tmp_path / "state") == made
    assert machine_id(tmp_path / "other") != made
    assert [place.name for place in (tmp_path / "state").iterdir()] == ["machine-id"]


def test_damaged_machine_id_is_replaced(tmp_path):
    (tmp_path / "machine-id").write_text("")

    made = machine_id(tmp_path)

    assert len(made) == 12
    assert machine_id(tmp_path) == made


def test_machine_id_in_a_place_that_can_not_be_written_is_told(tmp_path):
    (tmp_path / "state").write_text("a file")

    with pytest.raises(StorageFull, match="VAULTD_STATE_DIR"):
        machine_id(tmp_path / "state")


def test_counts_wait_while_git_is_in_the_middle_of_a_rebase(tmp_path):
    journal = Journal(tmp_path / ".vaultd", HERE)
    mark = tmp_path / ".git/rebase-merge"
    mark.mkdir(parents=True)
    journal.bump(NOTE, 1.0, NOW)

    held = journal.flush()
    nothing_yet = file_of(tmp_path / ".vaultd").exists()
    mark.rmdir()

    assert (held, nothing_yet) == (0, False)
    assert journal.flush() == 1
    assert count(Journal(tmp_path / ".vaultd", THERE)) == 1


@pytest.fixture
def here(tmp_path):
    """Starts this machine's journal of a vault with a note in it; what can't be written there goes beside it."""
    (tmp_path / "vault/.vaultd").mkdir(parents=True)
    (tmp_path / "vault/walk.md").write_text("river\n")
    return lambda machine=HERE: Journal(tmp_path / "vault/.vaultd", machine, tmp_path / "state")


@pytest.fixture
def merge(tmp_path):
    return tmp_path / "vault/.git/MERGE_HEAD"


def begin(merge):
    merge.parent.mkdir(exist_ok=True)
    merge.touch()


def aside(tmp_path):
    return [place.name for place in (tmp_path / "state").glob("*")]


def test_counts_of_a_merge_outlive_the_daemon(here, merge, tmp_path):
    journal = here()
    journal.bump(NOTE, 2.0, NOW)
    journal.flush()
    begin(merge)
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    journal.bump(OTHER, 1.0, NOW)
    journal.flush()
    in_the_vault = file_of(tmp_path / "vault/.vaultd").read_bytes()

    while_merging = here()
    told = while_merging.totals()
    while_merging.bump(OTHER, 1.0, NOW)
    while_merging.flush()
    untouched = file_of(tmp_path / "vault/.vaultd").read_bytes() == in_the_vault
    merge.unlink()
    after = here()
    written = after.flush()

    assert told == {NOTE: Total(3.0, NOW), OTHER: Total(1.0, NOW)}
    assert untouched
    assert written == 2
    assert aside(tmp_path) == []
    assert here().totals() == {NOTE: Total(3.0, NOW), OTHER: Total(2.0, NOW)}


def test_counts_that_were_put_aside_and_written_too_count_once(here, merge, tmp_path):
    journal = here()
    begin(merge)
    journal.bump(NOTE, 1.0, NOW, floor=7.0)
    journal.flush()
    (kept,) = (tmp_path / "state").iterdir()
    as_it_was = kept.read_bytes()
    merge.unlink()
    journal.flush()
    journal.bump(NOTE, 1.0, NOW, floor=7.0)
    journal.flush()
    kept.write_bytes(as_it_was)  # the process died before it could take this away

    again = here()

    assert count(again, floor=7.0) == 9.0
    assert again.flush() == 0
    again.bump(NOTE, 1.0, NOW, floor=7.0)
    again.flush()
    assert count(here(), floor=7.0) == 10.0
    assert aside(tmp_path) == []


def test_counts_of_a_vault_that_was_taken_out_wait_for_it_over_a_restart(here, tmp_path):
    vault = tmp_path / "vault"
    journal = here()
    journal.bump(NOTE, 1.0, NOW)
    vault.rename(tmp_path / "elsewhere")
    vault.mkdir()
    journal.flush()

    without = here()
    without.flush()
    left_alone = list(vault.iterdir())
    vault.rmdir()
    (tmp_path / "elsewhere").rename(vault)
    without.flush()

    assert left_alone == []
    assert aside(tmp_path) == []
    assert count(here()) == 1.0


def test_counts_that_the_vault_s_disk_refused_are_put_aside(here, tmp_path):
    in_the_way = file_of(tmp_path / "vault/.vaultd")
    in_the_way.mkdir(parents=True)
    journal = here()
    journal.bump(NOTE, 1.0, NOW)

    with pytest.raises(VaultError):
        journal.flush()
    in_the_way.rmdir()

    assert count(here()) == 1.0


def test_another_machine_s_totals_are_not_taken_for_ours(here, merge):
    journal = here()
    begin(merge)
    journal.bump(NOTE, 5.0, NOW)
    journal.flush()

    assert here(ELSEWHERE).totals() == {}


@pytest.mark.parametrize("held", ["merge", "gone"])
def test_nothing_is_dropped_while_the_vault_may_not_be_written(here, merge, tmp_path, held):
    journal = here()
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    vault = tmp_path / "vault"
    before = file_of(vault / ".vaultd").read_bytes()
    if held == "merge":
        begin(merge)
    else:
        vault.rename(tmp_path / "elsewhere")
        vault.mkdir()

    dropped = journal.drop([NOTE])
    if held == "gone":
        assert list(vault.iterdir()) == []
        vault.rmdir()
        (tmp_path / "elsewhere").rename(vault)

    assert not dropped
    assert file_of(vault / ".vaultd").read_bytes() == before
    assert count(journal) == count(here()) == 1.0


def test_dropping_keeps_what_a_checkout_brought(here, tmp_path):
    journal = here()
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    place = file_of(tmp_path / "vault/.vaultd")
    place.write_text(json.dumps({"id": OTHER, "t": 4.0, "s": 4}) + "\n")

    assert journal.drop([NOTE])

    assert here().totals() == {OTHER: Total(4.0, None)}


def test_a_drop_that_could_not_be_written_can_be_tried_again(here, tmp_path):
    journal = here()
    journal.bump(NOTE, 1.0, NOW)
    journal.bump(OTHER, 1.0, NOW)
    journal.flush()

    with file_size_limit(10), pytest.raises(StorageFull):
        journal.drop([NOTE])

    assert journal.drop([NOTE])

    assert here().totals() == journal.totals() == {OTHER: Total(1.0, NOW)}


def test_a_copy_of_a_journal_that_is_gone_is_joined_again(here, tmp_path):
    journal = here()
    journal.bump(NOTE, 1.0, NOW)
    journal.flush()
    place = file_of(tmp_path / "vault/.vaultd")
    place.rename(place.with_name("activations 2.jsonl"))

    assert here().mend()

    assert [left.name for left in place.parent.iterdir()] == [place.name]
    assert count(here()) == 1.0
