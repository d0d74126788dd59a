"""What is handed back to the system can be used again."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from vaultd import rounds
from vaultd.frugal import give_back, give_back_code


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is handed back")
def test_the_code_of_a_library_is_handed_back_and_runs_on():
    given = give_back_code(("_multiarray_umath",))

    assert given > 100_000
    assert np.arange(10).sum() == 45


def test_nothing_is_handed_back_of_libraries_that_are_not_there():
    assert give_back_code(("libnosuchlibrary",)) == 0
    give_back()


async def test_code_of_the_tables_goes_once_after_they_rested(monkeypatch):
    asked, now, tables = [], [100.0], SimpleNamespace(worked_at=None)
    monkeypatch.setattr(rounds, "give_back_code", lambda libraries: asked.append((now[0], libraries)))
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    one = rounds.Rounds.__new__(rounds.Rounds)
    one._core, one._given_back_of = SimpleNamespace(tables=tables), None

    for moment, worked_at in ((100.0, None), (110.0, 105.0), (160.0, 105.0), (220.0, 105.0), (280.0, 230.0)):
        now[0], tables.worked_at = moment, worked_at
        await one._give_back_of_tables()

    assert asked == [(160.0, rounds.TABLE_LIBRARIES), (280.0, rounds.TABLE_LIBRARIES)]
