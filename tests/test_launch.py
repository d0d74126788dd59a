"""What is said when serving cannot begin."""

import socket
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


def test_a_port_in_use_is_told_before_anything_is_begun(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    bare = Settings()
    with socket.create_server(("127.0.0.1", 0)) as other:
        server = replace(bare.server, port=other.getsockname()[1])
        settings = replace(bare, vault=replace(bare.vault, path=vault), state_dir=state, server=server)

        with pytest.raises(SettingsError, match="is in use by another program"):
            run(settings)

    assert not list(state.rglob("index"))
