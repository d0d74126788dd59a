"""`/api/reindex`, `/api/reclassify`, `/api/migrate`: work on the whole vault that a person asks for."""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.services import Services
from vaultd.services.sorting import Sorted
from vaultd.web.endpoints import Endpoint, Parameter, answered, flag_parameter

_DRY_RUN = Parameter("dry_run", "only say what it would do", {"type": "boolean"})


class Batch:
    """Endpoints of work on the whole vault."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def reindex(self, request: Request) -> Response:
        """Read every note again, or ask again for missing embeddings; goes on in the background."""
        dry_run = flag_parameter(request, "dry_run")
        status = 200 if dry_run else 202
        if flag_parameter(request, "embeddings"):
            passages = self._services.reindexing.embeddings(dry_run=dry_run)
            return answered(request, {"passages": passages}, status=status)
        return answered(request, {"notes": await self._services.reindexing(dry_run=dry_run)}, status=status)

    async def reclassify(self, request: Request) -> Response:
        """Give memories without a topic area one."""
        done = await self._services.sorting.reclassify(
            by_model=flag_parameter(request, "llm"), dry_run=flag_parameter(request, "dry_run")
        )
        return answered(request, _sorted(done))

    async def migrate(self, request: Request) -> Response:
        """Move memories into the folders of their topic areas."""
        return answered(
            request, _sorted(await self._services.sorting.migrate(dry_run=flag_parameter(request, "dry_run")))
        )

    async def progress(self, request: Request) -> Response:
        """How far reclassify or migrate is."""
        done, total = self._services.sorting.progress
        return answered(request, {"done": done, "total": total})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of work on the whole vault."""
        return [
            Endpoint(
                "POST",
                "/api/reindex",
                self.reindex,
                "Read every note again, in the background",
                parameters=[
                    _DRY_RUN,
                    Parameter("embeddings", "only ask again for what has no embedding", {"type": "boolean"}),
                ],
                status=202,
            ),
            Endpoint(
                "POST",
                "/api/reclassify",
                self.reclassify,
                "Give memories without a topic area one; `undo` takes all back",
                parameters=[_DRY_RUN, Parameter("llm", "ask the chat model instead of the words", {"type": "boolean"})],
            ),
            Endpoint(
                "POST",
                "/api/migrate",
                self.migrate,
                "Move memories into the folders of their topic areas; `undo` takes all back",
                parameters=[_DRY_RUN],
            ),
            Endpoint("GET", "/api/sorting", self.progress, "How far reclassify or migrate is"),
        ]


def _sorted(done: Sorted) -> dict[str, Any]:
    return {**dataclasses.asdict(done), "failed": dict(done.failed)}
