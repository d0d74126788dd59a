"""`/api/network`: the memories as nodes, and edges where two are alike."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.services.network import EDGE_ABOVE, NODES_DEFAULT, NODES_LIMIT, Graph
from vaultd.web.endpoints import Endpoint, Parameter, answered, flag_parameter, number_parameter, whole


class NetworkEndpoint:
    """The network of memories."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def get(self, request: Request) -> Response:
        """Nodes and edges."""
        limit = whole("limit", request.query_params.get("limit", ""), NODES_DEFAULT, 1, NODES_LIMIT)
        least = number_parameter(request, "similarity", EDGE_ABOVE)
        if not 0 <= least < 1:
            raise BadInput("similarity: must be a number from 0 to 1")
        archive = flag_parameter(request, "archive")
        graph: Graph = await asyncio.to_thread(
            lambda: self._services.network(limit=limit, least=least, include_archive=archive)
        )
        data = {
            "nodes": [
                {
                    "id": node.row.id,
                    "name": node.row.name,
                    "kind": node.row.kind.value if node.row.kind else "own",
                    "domain": node.row.domain[0] if node.row.domain else "",
                    "importance": node.row.importance,
                    "valence": round(node.row.valence, 3),
                    "resolved": node.row.resolved,
                    "pinned": node.row.pinned,
                    "score": round(node.score, 3),
                }
                for node in graph.nodes
            ],
            "edges": [[one, other, round(alike, 3)] for one, other, alike in graph.edges],
            "total": graph.total,
            "without_embedding": graph.without_embedding,
        }
        return answered(request, data)

    def endpoints(self) -> list[Endpoint]:
        """The endpoint."""
        return [
            Endpoint(
                "GET",
                "/api/network",
                self.get,
                "The network of memories",
                "The most alive memories as `nodes`; `edges` are [node, node, similarity] by their positions, each "
                "node's closest ones.",
                parameters=[
                    Parameter(
                        "limit", "most nodes", {"type": "integer", "default": NODES_DEFAULT, "maximum": NODES_LIMIT}
                    ),
                    Parameter("similarity", "least similarity of an edge", {"type": "number", "default": EDGE_ABOVE}),
                    Parameter("archive", "with the archive", {"type": "boolean"}),
                ],
            )
        ]
