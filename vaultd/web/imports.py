"""`/api/import…`: uploads, preflight, start, pause, results, patterns, review."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.web.endpoints import Endpoint, Parameter, answered, json_body, known_fields

if TYPE_CHECKING:
    from vaultd.services.importing.importer import Importer
    from vaultd.services.importing.jobs import ImportOptions

_JOB = Parameter("job", "id of the import", place="path", required=True)
_OPTIONS = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["memories", "notes"]},
        "branches": {"type": "string", "enum": ["current", "all"]},
        "again": {"type": "boolean"},
        "partial": {"type": "boolean"},
    },
}


class Imports:
    """Endpoints of imports."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def _importer(self) -> Importer:
        return self._services.importer

    async def upload(self, request: Request) -> Response:
        """Store a file as it comes in; nothing is read yet."""
        name = unquote(request.headers.get("x-filename", "")) or request.query_params.get("filename", "")
        if not name.strip():
            raise BadInput("filename: name the file, as X-Filename or ?filename=")
        status = await self._importer.upload(request.stream(), name)
        return answered(request, status.written(), status=201)

    async def jobs(self, request: Request) -> Response:
        """All imports, or one of them."""
        job_id = request.query_params.get("job", "").strip()
        if job_id:
            return answered(request, (await self._importer.status(job_id)).written())
        jobs = await self._importer.jobs()
        return answered(request, {"items": [(await self._importer.status(job.id)).written() for job in jobs]})

    async def preflight(self, request: Request) -> Response:
        """What an upload holds; nothing is kept."""
        options = await _options(request)
        found = await self._importer.preflight(request.path_params["job"], options)
        return answered(request, found.written())

    async def start(self, request: Request) -> Response:
        """Begin."""
        status = await self._importer.start(request.path_params["job"], await _options(request))
        return answered(request, status.written(), status=202)

    async def pause(self, request: Request) -> Response:
        """Stop after the step at hand; `resume` goes on."""
        raw = await json_body(request)
        job_id = str(raw.get("job") or request.query_params.get("job", ""))
        if raw.get("resume") is True:
            status = await self._importer.resume(job_id)
        else:
            status = await self._importer.pause(job_id)
        return answered(request, status.written())

    async def patterns(self, request: Request) -> Response:
        """What comes up again and again."""
        found = await self._importer.patterns(_job(request))
        return answered(request, dataclasses.asdict(found))

    async def results(self, request: Request) -> Response:
        """What the import brought in."""
        results = await self._importer.results(_job(request))
        items: list[dict[str, Any]] = [
            {
                "id": one.id,
                "name": one.name,
                "outcome": one.outcome.value,
                "source": one.source,
                "near": [{"id": note_id, "similarity": round(alike, 3)} for note_id, alike in one.near],
                "verdict": None if one.verdict is None else one.verdict.value,
            }
            for one in results
        ]
        return answered(request, {"items": items, "total": len(items)})

    async def review(self, request: Request) -> Response:
        """Carry out what a person says of the memories."""
        from vaultd.services.importing.review import decisions_of

        raw = await json_body(request)
        decisions = raw.get("decisions")
        if not isinstance(decisions, dict):
            raise BadInput('decisions: give {"<id>": "keep" | "important" | "pin" | "noise"}')
        done = await self._importer.review(str(raw.get("job", "")), decisions_of(decisions))
        return answered(request, {"done": {k: v.value for k, v in done.done.items()}, "failed": dict(done.failed)})

    async def remove(self, request: Request) -> Response:
        """Delete what is stored of an import; its memories stay."""
        await self._importer.remove(request.path_params["job"])
        return answered(request, {"removed": request.path_params["job"]})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of imports."""
        job = Parameter("job", "id of the import", required=True)
        pause = {
            "type": "object",
            "required": ["job"],
            "properties": {"job": {"type": "string"}, "resume": {"type": "boolean"}},
        }
        review = {
            "type": "object",
            "required": ["job", "decisions"],
            "properties": {"job": {"type": "string"}, "decisions": {"type": "object"}},
        }
        return [
            Endpoint(
                "POST",
                "/api/import/upload",
                self.upload,
                "Upload an export: JSON, ZIP, Markdown, text",
                parameters=[Parameter("X-Filename", "the file's name, percent-encoded", place="header")],
                body={"type": "string", "format": "binary"},
                body_type="application/octet-stream",
                status=201,
            ),
            Endpoint(
                "GET",
                "/api/import/status",
                self.jobs,
                "All imports, or one",
                parameters=[Parameter("job", "id of the import")],
            ),
            Endpoint(
                "POST",
                "/api/import/{job}/preflight",
                self.preflight,
                "What an upload holds; nothing is kept",
                parameters=[_JOB],
                body=_OPTIONS,
            ),
            Endpoint(
                "POST",
                "/api/import/{job}/start",
                self.start,
                "Begin an import",
                parameters=[_JOB],
                body=_OPTIONS,
                status=202,
            ),
            Endpoint("POST", "/api/import/pause", self.pause, "Pause an import, or resume it", body=pause),
            Endpoint("GET", "/api/import/patterns", self.patterns, "What comes up again and again", parameters=[job]),
            Endpoint("GET", "/api/import/results", self.results, "What an import brought in", parameters=[job]),
            Endpoint("POST", "/api/import/review", self.review, "Keep, important, pin, noise: in bulk", body=review),
            Endpoint(
                "DELETE", "/api/import/{job}", self.remove, "Delete what is stored of an import", parameters=[_JOB]
            ),
        ]


def _job(request: Request) -> str:
    job_id = request.query_params.get("job", "").strip()
    if not job_id:
        raise BadInput("job: name an import")
    return job_id


async def _options(request: Request) -> ImportOptions | None:
    raw = await json_body(request)
    known_fields(raw, ("mode", "branches", "again", "partial"))
    if not raw:
        return None
    from vaultd.services.importing.jobs import ImportOptions

    return ImportOptions.parse(raw)
