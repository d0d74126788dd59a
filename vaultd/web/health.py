"""`/api/health` in full and `/api/active-file`: how the vault is, and which note is open in Obsidian."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.services.overview import Looked
from vaultd.web.decay import fading
from vaultd.web.endpoints import Endpoint, Parameter, answered, json_body, whole
from vaultd.web.shapes import moment


class HealthEndpoints:
    """Endpoints about the daemon and the vault. `status` adds url, port and pid to the services' own."""

    def __init__(self, services: Services, status: Callable[[], Mapping[str, object]]) -> None:
        self._services = services
        self._status = status

    async def get(self, request: Request) -> Response:
        """Everything that the health page shows."""
        days = whole("days", request.query_params.get("days", ""), 30, 1, 365)
        looked = await self._services.overview(forecast_days=float(days))
        return answered(
            request,
            {**_looked(looked), "chat_problem": self._services.gateway.problem(), "status": dict(self._status())},
        )

    async def active_file(self, request: Request) -> Response:
        """The plugin's heartbeat: this note is open; it is not written for two minutes."""
        path = (await json_body(request)).get("path")
        if path is not None and not isinstance(path, str):
            raise BadInput("path: must be text, relative to the vault")
        self._services.active.touch(path or "")
        return answered(request, {"active": list(self._services.active.paths)})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints about the daemon."""
        body = {"type": "object", "properties": {"path": {"type": "string", "description": "relative to the vault"}}}
        return [
            Endpoint(
                "GET",
                "/api/health",
                self.get,
                "How the vault is: counts, index, bad notes, forecast, machines, spend, log",
                parameters=[Parameter("days", "forecast of so many days", {"type": "integer", "default": 30})],
            ),
            Endpoint(
                "POST",
                "/api/active-file",
                self.active_file,
                "Say which note is open in Obsidian",
                "A heartbeat: the note is not written for 120 s.",
                body=body,
            ),
        ]


def _looked(looked: Looked) -> dict[str, Any]:
    spend = looked.spend
    return {
        "kinds": dict(looked.kinds),
        "unresolved": looked.unresolved,
        "pinned": looked.pinned,
        "cards": looked.cards,
        "own": looked.own,
        "size_bytes": looked.size_bytes,
        "problems": [
            {
                "id": row.id,
                "path": row.path,
                "line": row.problem_line,
                "reason": row.problem,
                "writable": row.writable,
            }
            for row in looked.problems
        ],
        "skipped": [{"path": one.path, "reason": str(one.reason)} for one in looked.skipped],
        "waiting": [
            {
                "path": one.path,
                "since": moment(one.since),
                "attempts": one.attempts,
                "next_try": moment(one.next_try),
                "reason": one.reason,
            }
            for one in looked.waiting
        ],
        "forecast": [fading(one) for one in looked.forecast],
        "machines": [
            {"id": one.id, "here": one.here, "seen": moment(one.seen), "size": one.size} for one in looked.machines
        ],
        "spend": {
            "used_today": spend.used_today,
            "cap": spend.cap,
            "left": spend.left,
            "chat_model": spend.chat_model,
            "chat_available": spend.chat_available,
            "embedding_problem": spend.embedding_problem,
        },
        "log": [
            {"at": moment(one.at), "level": one.level, "source": one.source, "text": one.text} for one in looked.log
        ],
        "last_cycle_at": moment(looked.last_cycle_at),
    }
