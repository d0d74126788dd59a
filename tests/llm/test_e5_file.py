"""A model file that is damaged, cut or of another kind is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from vaultd.core.errors import ModelUnavailable
from vaultd.llm.e5_file import BLOCK_BYTES, E5File, expand
from vaultd.llm.local import local_model_file


@pytest.fixture(scope="module")
def head() -> bytes:
    path = local_model_file()
    assert path is not None
    with path.open("rb") as stream:
        return stream.read(9_000_000)


@pytest.mark.parametrize("size", [0, 3, 40, 71, 1_000, 5_000_000, 9_000_000])
def test_a_file_that_is_cut_short_is_refused(tmp_path, head, size):
    path = tmp_path / "model.bin"
    path.write_bytes(head[:size])

    with pytest.raises(
        ModelUnavailable, match=r"model\.bin cannot be read as the built-in model; install vaultd again"
    ):
        E5File(path)


@pytest.mark.parametrize("change", [slice(0, 4), slice(8, 12), slice(40, 44), slice(44, 48), slice(64, 72)])
def test_a_damaged_header_is_refused(tmp_path, head, change):
    damaged = bytearray(head)
    damaged[change] = b"\xff" * (change.stop - change.start)
    path = tmp_path / "model.bin"
    path.write_bytes(damaged)

    with pytest.raises(ModelUnavailable):
        E5File(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelUnavailable):
        E5File(tmp_path / "none.bin")


def test_blocks_expand_to_their_weights_times_the_scale():
    block = np.zeros((1, 1, BLOCK_BYTES), np.uint8)
    block[0, 0, :2] = np.frombuffer(np.float16(0.5).tobytes(), np.uint8)
    block[0, 0, 2] = 0xF1  # weight 0 is 1, weight 16 is 15

    numbers = expand(block)[0]

    # (1 - 8) · 0.5 = -3.5;  (15 - 8) · 0.5 = 3.5;  the others are 0: (0 - 8) · 0.5 = -4
    assert numbers[0] == -3.5
    assert numbers[16] == 3.5
    assert numbers[1:16].tolist() == [-4.0] * 15
