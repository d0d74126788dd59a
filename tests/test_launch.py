"""What is said when serving cannot begin."""

from dataclasses import replace

import pytest

from vaultd.core.errors import SettingsError
from vaultd.launch import run
from vaultd.settings import Settings


def test_a_state_folder_that_cannot_be_written_is_named_with_the_way_out(tmp_path):
    in_the_way = tmp_path / "state"
    in_the_way.write_text("a file", encoding="utf-8")
    bare = Settings()
    settings = replace(bare, vault=replace(bare.vault, path=tmp_path), state_dir=in_the_way)

    with pytest.raises(SettingsError, match=r"cannot write the state folder .*VAULTD_STATE_DIR"):
        run(settings)
