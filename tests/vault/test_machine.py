from __future__ import annotations

import pytest

from vaultd.core.errors import StorageFull
from vaultd.vault.machine import machine_id


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
