"""Which machine owns the life cycle of a vault: a claim that lies in the vault, synced like everything else.

    .vaultd/lifecycle.yaml        machine: 0123456789ab   name: laptop   since: 2026-05-17T12:00:00+00:00

Only the owner forgets, adopts and moves. Where nobody claimed it, every machine may.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import yaml

from vaultd.core.properties import moment_text, parse_moment
from vaultd.vault.atomic import disk_errors
from vaultd.vault.presence import Presence
from vaultd.wholefile import write_whole

CLAIM_NAME: Final = "lifecycle.yaml"


@dataclass(frozen=True, slots=True)
class Claim:
    """Who owns the life cycle. `name` is what the machine called itself, for people; `since` may be unknown."""

    machine: str
    name: str
    since: datetime | None


class Lifecycle:
    """The claim of one vault, seen from one machine. Raises VaultUnavailable, VaultError, StorageFull when writing."""

    def __init__(self, state_dir: Path, machine: str, presence: Presence) -> None:
        self._place = state_dir / CLAIM_NAME
        self._presence = presence
        self._machine = machine

    def claim(self) -> Claim | None:
        """The claim as it lies in the vault; None where nobody owns the life cycle, or the claim can't be read."""
        try:
            found = yaml.safe_load(self._place.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            return None
        if not isinstance(found, dict) or not found.get("machine"):
            return None
        since = parse_moment(str(found.get("since") or ""))
        return Claim(str(found["machine"]), str(found.get("name") or ""), since)

    def is_ours(self, claim: Claim) -> bool:
        """Whether a claim is this machine's."""
        return claim.machine == self._machine

    def owns(self) -> bool:
        """Whether this machine may forget, adopt and move: it claimed the life cycle, or nobody did."""
        claim = self.claim()
        return claim is None or self.is_ours(claim)

    def take(self, now: datetime) -> Claim:
        """Claim the life cycle for this machine, whoever had it."""
        self._presence.demand()
        claim = Claim(self._machine, socket.gethostname(), now)
        text = yaml.safe_dump(
            {"machine": claim.machine, "name": claim.name, "since": moment_text(now)},
            sort_keys=False,
            allow_unicode=True,
        )
        with disk_errors(CLAIM_NAME):
            write_whole(self._place, text.encode())
        return claim

    def release(self) -> Claim | None:
        """Take the claim away, whoever has it; the claim that was there."""
        self._presence.demand()
        before = self.claim()
        with disk_errors(CLAIM_NAME):
            self._place.unlink(missing_ok=True)
        return before
