"""`/api/connectors`: which remote connectors were let in, and shutting one out."""

from __future__ import annotations

import asyncio
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from vaultd.web.endpoints import Endpoint, Parameter, answered
from vaultd.web.oauth import OAuth
from vaultd.web.refusal import refusal


class Connectors:
    """For the person, not for the connectors. `oauth` is None where none are let in."""

    def __init__(self, oauth: OAuth | None) -> None:
        self._oauth = oauth

    async def listed(self, request: Request) -> Response:
        """The connectors that were let in."""
        grants = [] if self._oauth is None else self._oauth.store.grants()
        rows = [
            {"id": grant.grant_id, "name": grant.client_name, "client_id": grant.client_id}
            | {"given": _written(grant.given_s), "used": _written(grant.used_s)}
            for grant in grants
        ]
        return answered(request, {"address": self._oauth and self._oauth.resource, "connectors": rows})

    async def end(self, request: Request) -> Response:
        """Shut one out."""
        grant_id = request.path_params["id"]
        if self._oauth is None or not await asyncio.to_thread(self._oauth.store.revoke, grant_id):
            return refusal(404, "not_found", "there is no such connector")
        return Response(status_code=204)

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of connectors."""
        grant = Parameter("id", "id of what was granted", place="path", required=True)
        return [
            Endpoint(
                "GET",
                "/api/connectors",
                self.listed,
                "The remote connectors that were let in",
                "`address` is what a connector is told; null: none are let in, since `server.public_url` is not set.",
            ),
            Endpoint(
                "DELETE", "/api/connectors/{id}", self.end, "Shut a connector out", parameters=[grant], status=204
            ),
        ]


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
