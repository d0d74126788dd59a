"""The REST API as one list of endpoints, with its own description."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vaultd.services import Services
from vaultd.web.batch import Batch
from vaultd.web.buckets import Buckets
from vaultd.web.cards import CardEndpoints
from vaultd.web.conversations import ConversationEndpoints
from vaultd.web.decay import Decay
from vaultd.web.endpoints import Endpoint, Handler, answered, routes_of
from vaultd.web.health import HealthEndpoints
from vaultd.web.hooks import Hooks
from vaultd.web.imports import Imports
from vaultd.web.network import NetworkEndpoint
from vaultd.web.openapi import described
from vaultd.web.search import Search
from vaultd.web.settings import Config
from vaultd.web.upkeep import Upkeep
from vaultd.web.versions import VersionEndpoints

Text = Callable[[], Awaitable[str]]


def api_endpoints(
    services: Services, *, status: Callable[[], Mapping[str, object]], breath: Text, dream: Text
) -> list[Endpoint]:
    """All endpoints of the API but the gateway's."""
    of_notes = [
        *Buckets(services).endpoints(),
        *VersionEndpoints(services).endpoints(),
        *Search(services).endpoints(),
        *CardEndpoints(services).endpoints(),
        *ConversationEndpoints(services.conversations).endpoints(),
        *NetworkEndpoint(services).endpoints(),
        *Decay(services).endpoints(),
    ]
    return [
        *(replace(one, handler=_once_open(one.handler, services.health.opened)) for one in of_notes),
        *Config(services).endpoints(),
        *HealthEndpoints(services, status).endpoints(),
        *Imports(services).endpoints(),
        *Batch(services).endpoints(),
        *Upkeep(services).endpoints(),
        *Hooks(breath, dream).endpoints(),
    ]


def _once_open(handler: Handler, opened: Callable[[], Awaitable[None]]) -> Handler:
    """The handler, once the index is open: an answer out of an empty one would be wrong."""

    async def waiting(request: Request) -> Response:
        await opened()
        return await handler(request)

    return waiting


def api_routes(endpoints: Sequence[Endpoint], *, version: str) -> list[BaseRoute]:
    """Their routes, and `/openapi.json`."""
    document = described(endpoints, version=version)

    async def openapi(request: Request) -> Response:
        return answered(request, document)

    own = Endpoint("GET", "/openapi.json", openapi, "This description")
    return routes_of([*endpoints, own])
