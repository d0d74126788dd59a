"""Counts that cannot be written now: they wait, outlive the daemon, and count once."""

from __future__ import annotations

import json

import pytest

from tests.vault.journal_setup import ELSEWHERE, HERE, NOTE, NOW, OTHER, THERE, count, file_of, file_size_limit
from vaultd.core.errors import StorageFull, VaultError
from vaultd.vault.journal import Journal
from vaultd.vault.tally import Total


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

    assert Journal(state, HERE).total(NOTE).activations == 1.0


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
