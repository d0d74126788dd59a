"""Which memories are joined: the closest ones of each, above the least similarity."""

from __future__ import annotations

import numpy as np
import pytest

from vaultd.services.network import EDGES_A_NODE, _closest


@pytest.mark.parametrize("columns", [3, EDGES_A_NODE, 40])
def test_each_row_has_its_highest_cells_above_the_cosine(columns):
    block = np.random.default_rng(5).uniform(-1, 1, (30, columns)).astype(np.float32)

    rows, others = _closest(block, np.float32(0.2))

    for i, row in enumerate(block):
        best = [j for j in np.argsort(-row)[:EDGES_A_NODE] if row[j] > 0.2]
        assert sorted(others[rows == i]) == sorted(best)


def test_notes_with_one_text_are_not_all_joined_with_each_other():
    block = np.full((50, 50), 1.0, np.float32)

    rows, _ = _closest(block, np.float32(0.5))

    assert np.bincount(rows).tolist() == [EDGES_A_NODE] * 50
