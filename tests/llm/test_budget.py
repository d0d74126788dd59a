"""The daily cap of requests to remote models holds over restarts, threads and days."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

import pytest

from vaultd.core.errors import CapReached
from vaultd.llm.budget import KEPT_DAYS, RequestBudget

MONDAY = date(2026, 11, 30)


class Calendar:
    """A day that only the test moves."""

    def __init__(self, day: date = MONDAY) -> None:
        self.day = day

    def __call__(self) -> date:
        return self.day


def a_budget(folder: Path, cap: int = 3, calendar: Calendar | None = None) -> RequestBudget:
    return RequestBudget(folder / "state" / "requests.json", cap, today=calendar or Calendar())


def test_requests_beyond_the_cap_are_refused_and_not_counted(tmp_path):
    budget = a_budget(tmp_path)
    budget.spend(2)

    with pytest.raises(CapReached, match=r"daily cap of 3 requests .* raise llm\.daily_request_cap"):
        budget.spend(2)

    assert budget.used_today == 2
    assert budget.left_today == 1
    budget.spend()
    assert budget.left_today == 0


def test_counts_outlive_a_restart(tmp_path):
    a_budget(tmp_path).spend(3)

    with pytest.raises(CapReached):
        a_budget(tmp_path).spend()


def test_a_new_day_starts_anew(tmp_path):
    calendar = Calendar()
    budget = a_budget(tmp_path, calendar=calendar)
    budget.spend(3)

    calendar.day += timedelta(days=1)
    budget.spend()

    assert budget.by_day() == {MONDAY: 3, MONDAY + timedelta(days=1): 1}


def test_only_the_last_month_is_kept(tmp_path):
    calendar = Calendar()
    budget = a_budget(tmp_path, calendar=calendar)
    for _ in range(KEPT_DAYS + 5):
        budget.spend()
        calendar.day += timedelta(days=1)

    assert len(a_budget(tmp_path, calendar=calendar).by_day()) == KEPT_DAYS


def test_zero_means_no_cap(tmp_path):
    budget = a_budget(tmp_path, cap=0)

    budget.spend(1_000_000)

    assert budget.left_today is None


def test_the_cap_can_be_changed_while_running(tmp_path):
    budget = a_budget(tmp_path)
    budget.spend(3)

    budget.daily_cap = 4

    budget.spend()
    assert budget.left_today == 0


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"2026-13-40": 1}', '{"2026-11-30": "many"}', "\ufeff{}"])
def test_a_damaged_file_counts_as_empty(tmp_path, caplog, damage):
    path = tmp_path / "state" / "requests.json"
    path.parent.mkdir()
    path.write_text(damage, "utf-8")

    budget = a_budget(tmp_path)

    assert budget.used_today == 0
    assert "cannot be read" in caplog.text
    budget.spend()
    assert json.loads(path.read_text("utf-8")) == {"2026-11-30": 1}


def test_a_disk_that_cannot_be_written_does_not_silence_the_models(tmp_path, caplog):
    (tmp_path / "state").write_text("a file where the folder should be", "utf-8")
    budget = a_budget(tmp_path)

    budget.spend(3)

    assert "cannot be kept" in caplog.text
    with pytest.raises(CapReached):
        budget.spend()


def test_threads_never_spend_more_than_the_cap(tmp_path):
    budget = a_budget(tmp_path, cap=40)

    def spend(_: int) -> bool:
        try:
            budget.spend()
        except CapReached:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        spent = sum(pool.map(spend, range(60)))

    assert spent == 40
    assert a_budget(tmp_path, cap=40).used_today == 40
