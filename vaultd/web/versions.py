"""Versions of memories, and the log of all writes: looked at, put back, taken back."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.web import shapes
from vaultd.web.endpoints import Endpoint, Parameter, answered, json_body, whole
from vaultd.web.shapes import moment

WRITES: Final = 50  # of the write log that are shown
MOST_WRITES: Final = 1000


async def changed(request: Request, services: Services, note_id: str) -> Response:
    """A memory as it is after a change, with what takes the change back."""
    after = await services.browse.detail(note_id)
    data = {**shapes.whole(after), "undo": await services.versions.newest(note_id)}
    return answered(request, data, etag=f'"{after.checksum}"')


class VersionEndpoints:
    """Endpoints of versions and writes."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def version(self, request: Request) -> Response:
        """One version, and what changed since."""
        text, diff = await self._services.versions.show(request.path_params["id"], request.path_params["version"])
        return answered(request, {"raw": text, "diff": diff})

    async def revert(self, request: Request) -> Response:
        """Put a version back."""
        note_id = request.path_params["id"]
        await self._services.versions.revert(note_id, request.path_params["version"])
        return await changed(request, self._services, note_id)

    async def undo(self, request: Request) -> Response:
        """Take a write back."""
        entry = str((await json_body(request)).get("entry", "")).strip()
        if not entry:
            raise BadInput("entry: name an entry of the log")
        return answered(request, {"paths": list(await self._services.versions.undo(entry))})

    async def writes(self, request: Request) -> Response:
        """The newest writes."""
        note_id = request.query_params.get("id", "").strip()
        limit = whole("limit", request.query_params.get("limit", ""), WRITES, 1, MOST_WRITES)
        writes = await self._services.versions.log(note_id=note_id, limit=limit)
        items = [
            {
                "entry": str(one.number),
                "group": one.group,
                "at": moment(one.at),
                "operation": one.operation,
                "path": one.path,
                "target": one.target,
                "why": one.why,
                "id": one.note_id,
                "undoable": one.undoable,
            }
            for one in writes
        ]
        return answered(request, {"items": items})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of versions and writes."""
        of_version = [
            Parameter("id", "id of the memory", place="path", required=True),
            Parameter("version", "id of the version", place="path", required=True),
        ]
        return [
            Endpoint(
                "GET",
                "/api/bucket/{id}/history/{version}",
                self.version,
                "A version of a memory, and what changed since",
                parameters=of_version,
            ),
            Endpoint(
                "POST",
                "/api/bucket/{id}/history/{version}/revert",
                self.revert,
                "Put a version back",
                parameters=of_version,
            ),
            Endpoint(
                "POST",
                "/api/undo",
                self.undo,
                "Take a write back",
                body={"type": "object", "required": ["entry"], "properties": {"entry": {"type": "string"}}},
            ),
            Endpoint(
                "GET",
                "/api/log",
                self.writes,
                "The newest writes to the vault",
                parameters=[
                    Parameter("id", "of this memory only"),
                    Parameter(
                        "limit",
                        "most writes",
                        {"type": "integer", "minimum": 1, "maximum": MOST_WRITES, "default": WRITES},
                    ),
                ],
            ),
        ]
