"""Three clones with a daemon each, real git between them."""

import pytest

from tests.gitworld import simulate

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


@pytest.mark.parametrize("seed", [1, 2])
async def test_three_machines_end_up_equal_and_nobody_loses_a_line(tmp_path, seed):
    figures = await simulate(tmp_path, steps=50, seed=seed)

    assert figures.merges and figures.rebases
    assert figures.typed > 10
