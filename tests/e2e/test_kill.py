"""kill -9 at random moments: every note whole, no leftovers, the index right, nothing counted twice."""

import pytest

from tests.killing import KILLS_BETWEEN_CHECKS, Kills, check, kill_once

pytestmark = pytest.mark.slow

KILLS = 50


async def test_killed_at_any_moment_nothing_is_lost_or_half(tmp_path):
    seen, known = Kills(), {}
    for seed in range(KILLS):
        kill_once(tmp_path, seed, seen, known)
        if seed % KILLS_BETWEEN_CHECKS == KILLS_BETWEEN_CHECKS - 1:
            await check(tmp_path, seen, known)

    assert seen.kills == KILLS
    assert seen.steps > KILLS
