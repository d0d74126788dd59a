"""The index equals what a fresh rebuild of the vault gives, whatever a person and the tools did before."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.running import running, snapshot
from tests.world import World

EXAMPLES, STEPS = 20, 50


class VaultMachine(RuleBasedStateMachine):
    """Steps in any order; at the end the index is compared with one made anew, and with itself after a restart."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="vaultd-rebuild-"))
        self.loop = asyncio.new_event_loop()
        self.context = running(self.folder)
        self.world = World(self.loop.run_until_complete(self.context.__aenter__()), seed=0)

    @rule(name=st.sampled_from(sorted(set(World.STEPS))), seed=st.integers(0, 2**32))
    def step(self, name, seed):
        self.world.chance.seed(seed)
        self.loop.run_until_complete(self.world.step(name))

    def teardown(self):
        try:
            self.loop.run_until_complete(self.check())
        finally:
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            shutil.rmtree(self.folder)

    async def check(self):
        try:
            await self.world.check(self.folder / "anew")
            before = snapshot(self.world.r.core)
        finally:
            await self.context.__aexit__(None, None, None)
        async with running(self.folder, clock=self.world.r.clock, embedder=self.world.r.embedder) as again:
            assert snapshot(again.core) == before


@pytest.mark.slow
def test_index_equals_a_rebuild_after_any_steps():
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        VaultMachine,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=checks, database=None
        ),
    )
