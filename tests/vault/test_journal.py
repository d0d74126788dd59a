"""Counting over machines: nothing twice, and a lost journal costs its own counts alone."""

from __future__ import annotations

import json
import random
import shutil
from datetime import timedelta

import pytest

from tests.vault.journal_setup import ELSEWHERE, HERE, NOTE, NOW, OTHER, THERE, count, file_of
from vaultd.vault.journal import COMPACT_FROM_LINES, Journal
from vaultd.vault.tally import NOTHING, Tally, Total, combined_last_use, total_of


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

    assert journal.total(NOTE).activations == 300.0


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
    assert again.total(NOTE).activations == (2.0 if cut == 1 else 1.0)
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
    assert journal.total(NOTE).activations == 5.0


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
