"""`/api/conflicts`, `/api/doctor`, `/api/lifecycle`: what `vaultd`'s commands for upkeep ask the daemon."""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.services.conflicts import Conflict
from vaultd.services.ownership import Ownership
from vaultd.web.endpoints import Endpoint, answered, json_body
from vaultd.web.shapes import moment


class Upkeep:
    """Endpoints of upkeep."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def conflicts(self, request: Request) -> Response:
        """What sync tools and git left to decide."""
        return answered(request, {"items": [_conflict(one) for one in await self._services.conflicts.all()]})

    async def solve(self, request: Request) -> Response:
        """Merge the copies of one note, or of every note where only our keys differ."""
        path = str((await json_body(request)).get("path") or "")
        paths = [path] if path else [c.path for c in await self._services.conflicts.all() if c.solvable]
        solved = [_conflict(await self._services.conflicts.solve(one)) for one in paths]
        return answered(request, {"solved": solved})

    async def doctor(self, request: Request) -> Response:
        """Everything that is wrong."""
        return answered(request, {"findings": [dataclasses.asdict(one) for one in await self._services.doctor()]})

    async def fix(self, request: Request) -> Response:
        """Mend what is vaultd's own."""
        done = await self._services.doctor.fix()
        findings = [dataclasses.asdict(one) for one in await self._services.doctor()]
        return answered(request, {"done": done, "findings": findings})

    async def lifecycle(self, request: Request) -> Response:
        """Who owns the life cycle."""
        return answered(request, _ownership(await self._services.ownership()))

    async def change_lifecycle(self, request: Request) -> Response:
        """Claim or release the life cycle."""
        match (await json_body(request)).get("action"):
            case "claim":
                return answered(request, _ownership(await self._services.ownership.claim()))
            case "release":
                return answered(request, _ownership(await self._services.ownership.release()))
        raise BadInput("action: must be claim or release")

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of upkeep."""
        path = {"type": "object", "properties": {"path": {"type": "string", "description": "empty: all"}}}
        action = {"type": "object", "properties": {"action": {"type": "string", "enum": ["claim", "release"]}}}
        return [
            Endpoint("GET", "/api/conflicts", self.conflicts, "Conflict copies and conflict markers"),
            Endpoint("POST", "/api/conflicts/solve", self.solve, "Merge copies that differ in our keys", body=path),
            Endpoint("GET", "/api/doctor", self.doctor, "What is wrong, where, and how to mend it"),
            Endpoint("POST", "/api/doctor/fix", self.fix, "Mend what is vaultd's own"),
            Endpoint("GET", "/api/lifecycle", self.lifecycle, "Which machine forgets and moves"),
            Endpoint("POST", "/api/lifecycle", self.change_lifecycle, "Claim or release the life cycle", body=action),
        ]


def _conflict(conflict: Conflict) -> dict[str, Any]:
    return {**dataclasses.asdict(conflict), "how": conflict.how}


def _ownership(owned: Ownership) -> dict[str, Any]:
    return {
        "machine": owned.machine,
        "name": owned.name,
        "since": None if owned.since is None else moment(owned.since),
        "mine": owned.mine,
    }
