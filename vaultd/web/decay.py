"""`/api/decay/preview` and `/api/decay/run`: what is going to be forgotten, and forgetting now."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.services import Services
from vaultd.services.forget import CycleResult, Fading
from vaultd.web.endpoints import Endpoint, Parameter, answered, flag_parameter, number_parameter

LONGEST_FORECAST_DAYS = 365.0


class Decay:
    """Endpoints of forgetting."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def preview(self, request: Request) -> Response:
        """What a cycle would do now, and what goes within the coming days."""
        days = min(max(number_parameter(request, "days", 30.0), 0.0), LONGEST_FORECAST_DAYS)
        result = await self._services.forget(dry_run=True)
        coming = await asyncio.to_thread(self._services.forget.forecast, days)
        return answered(request, {**cycle(result), "days": days, "forecast": [fading(one) for one in coming]})

    async def run(self, request: Request) -> Response:
        """Run a cycle; with `dry_run` say what it would do."""
        return answered(request, cycle(await self._services.forget(dry_run=flag_parameter(request, "dry_run"))))

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of forgetting."""
        return [
            Endpoint(
                "GET",
                "/api/decay/preview",
                self.preview,
                "What is going to be forgotten",
                parameters=[Parameter("days", "how far to look", {"type": "number", "default": 30})],
            ),
            Endpoint(
                "POST",
                "/api/decay/run",
                self.run,
                "Run a forgetting cycle",
                parameters=[Parameter("dry_run", "only say what it would do", {"type": "boolean"})],
            ),
        ]


def cycle(result: CycleResult) -> dict[str, Any]:
    """What a cycle did, or would do."""
    return {
        "checked": result.checked,
        "archived": result.archived,
        "auto_resolved": result.auto_resolved,
        "lowest_score": result.lowest_score,
        "failed": result.failed,
        "dry_run": result.dry_run,
        "to_archive": list(result.to_archive),
        "to_resolve": list(result.to_resolve),
        "reason": result.reason,
    }


def fading(one: Fading) -> dict[str, Any]:
    """A memory that is going to be archived."""
    return {
        "id": one.id,
        "name": one.name,
        "days": one.days,
        "score": one.score,
        "importance": one.importance,
        "held": one.held,
    }
