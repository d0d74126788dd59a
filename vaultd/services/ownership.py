"""Which machine owns the life cycle: look, claim, release."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from vaultd.vault.lifecycle import Lifecycle


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owner; `machine` is empty where nobody claimed it. `mine`: this machine may forget and move."""

    machine: str
    name: str
    since: datetime | None
    mine: bool


class OwnershipOfLifecycle:
    """Raises VaultError, StorageFull where the claim can't be written."""

    def __init__(self, lifecycle: Lifecycle, clock: Callable[[], datetime]) -> None:
        self._lifecycle = lifecycle
        self._clock = clock

    async def __call__(self) -> Ownership:
        """Who owns it."""
        return await asyncio.to_thread(self._look)

    async def claim(self) -> Ownership:
        """Make it this machine's, whoever had it."""
        await asyncio.to_thread(self._lifecycle.take, self._clock())
        return await self()

    async def release(self) -> Ownership:
        """Make it nobody's: every machine may."""
        await asyncio.to_thread(self._lifecycle.release)
        return await self()

    def _look(self) -> Ownership:
        claim = self._lifecycle.claim()
        if claim is None:
            return Ownership("", "", None, mine=True)
        return Ownership(claim.machine, claim.name, claim.since, self._lifecycle.is_ours(claim))
