"""`/api/buckets` and `/api/bucket/{id}`: list, look at, make, change, delete memories."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.bucket import DEFAULT_IMPORTANCE
from vaultd.core.errors import BadInput
from vaultd.core.query import split_list
from vaultd.services import Services
from vaultd.services.browsing import Detail
from vaultd.services.listing import Page, Sort, State
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision
from vaultd.web import shapes
from vaultd.web.endpoints import (
    Endpoint,
    Parameter,
    answered,
    flag_field,
    flag_parameter,
    json_body,
    known_fields,
    number_field,
    rounded_field,
    stated_etag,
    text_field,
)
from vaultd.web.listing import parse_listing
from vaultd.web.shapes import MEMORY_SCHEMA, moment
from vaultd.web.versions import changed

_ID = Parameter("id", "id of the memory", place="path", required=True)
_WORDS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_UNIT = {"type": "number", "minimum": 0, "maximum": 1}
_FLAG = {"type": "boolean"}
_IMPORTANCE = {"type": "integer", "minimum": 1, "maximum": 10}
_LISTING: Final = (
    Parameter("q", "words that must be in the memory; orders by relevance unless `sort` is given"),
    Parameter("kind", "dynamic, permanent, feel, archived; several with commas"),
    Parameter("domain", "topic area"),
    Parameter("tag", "a tag"),
    Parameter("state", "a state", {"type": "string", "enum": list(State)}),
    Parameter("sort", f"one of {', '.join(Sort)}; a minus in front turns the order around"),
    Parameter("snippet", "with the beginning of each text", {"type": "boolean"}),
    Parameter("cursor", "from the page before"),
    Parameter("limit", "memories a page", {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}),
)
_CHANGE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "maxLength": 80},
        "domain": _WORDS,
        "tags": _WORDS,
        "valence": _UNIT,
        "arousal": _UNIT,
        "importance": _IMPORTANCE,
        "resolved": _FLAG,
        "pinned": _FLAG,
        "protected": _FLAG,
        "digested": _FLAG,
        "text": {"type": "string"},
        "restore": _FLAG,
        "archived": _FLAG,
    },
}
_NEW_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "name": {"type": "string", "maxLength": 80},
        "domain": _WORDS,
        "tags": _WORDS,
        "valence": _UNIT,
        "arousal": _UNIT,
        "importance": {**_IMPORTANCE, "default": DEFAULT_IMPORTANCE},
        "pinned": _FLAG,
        "feel": _FLAG,
        "source_bucket": {"type": "string"},
        "source": {"type": "string", "default": "dashboard"},
    },
}


class Buckets:
    """Endpoints of memories."""

    def __init__(self, services: Services) -> None:
        self._services = services

    # -- reading --------------------------------------------------------------------------------------------------

    async def listed(self, request: Request) -> Response:
        """A page of the list, with the counts for the filters on the first one."""
        listing = parse_listing(request.query_params)
        page: Page = await asyncio.to_thread(self._services.memory_list.page, listing)
        items = [shapes.memory(item) for item in page.items]
        if flag_parameter(request, "snippet"):
            bodies = await asyncio.to_thread(self._bodies, page)
            words = tuple(listing.text.split())
            for item, body in zip(items, bodies, strict=True):
                item["snippet"] = shapes.snippet(body, words)
        data: dict[str, Any] = {
            "items": items,
            "total": page.total,
            "cursor": page.cursor,
        }
        if not listing.cursor:
            facets = await asyncio.to_thread(self._services.memory_list.facets)
            data["facets"] = {
                "kinds": dict(facets.kinds),
                "states": dict(facets.states),
                "domains": [{"name": name, "count": count} for name, count in facets.domains],
                "tags": [{"name": name, "count": count} for name, count in facets.tags],
            }
        return answered(request, data)

    def _bodies(self, page: Page) -> list[str]:
        return [self._services.matching.body(item.row.path) or "" for item in page.items]

    async def get(self, request: Request) -> Response:
        """One memory in full."""
        note_id = request.path_params["id"]
        detail = await self._services.browse.detail(note_id)
        versions = await self._services.versions.of(note_id)
        similar = await asyncio.to_thread(self._services.browse.similar_to, note_id)
        data = {
            **shapes.whole(detail),
            "history": [{"id": v.id, "at": moment(v.at), "size": v.size} for v in versions],
            "similar": [shapes.alike(one) for one in similar],
        }
        return answered(request, data, etag=f'"{detail.checksum}"')

    # -- writing --------------------------------------------------------------------------------------------------

    async def create(self, request: Request) -> Response:
        """Keep a new memory."""
        raw = await json_body(request)
        known_fields(raw, tuple(_NEW_SCHEMA["properties"]))
        memory = NewMemory(
            content=text_field(raw, "text", "") or "",
            name=text_field(raw, "name", "") or "",
            domain=split_list("domain", raw.get("domain", "")),
            tags=split_list("tags", raw.get("tags", "")),
            valence=number_field(raw, "valence", 0, 1),
            arousal=number_field(raw, "arousal", 0, 1),
            importance=rounded_field(raw, "importance", 1, 10) or DEFAULT_IMPORTANCE,
            pinned=bool(flag_field(raw, "pinned")),
            feel=bool(flag_field(raw, "feel")),
            source_bucket=text_field(raw, "source_bucket", "") or "",
            source=text_field(raw, "source") or "dashboard",
        )
        dry_run = flag_parameter(request, "dry_run")
        kept = await (self._services.remember.foresee(memory) if dry_run else self._services.remember(memory))
        data = {
            "outcome": kept.outcome.value,
            "id": kept.id,
            "name": kept.name,
            "path": kept.path,
            "domain": list(kept.domain),
            "assumed": list(kept.assumed),
            "notices": [{"code": one.notice.value, **one.values} for one in kept.notices],
        }
        return answered(request, data, status=200 if dry_run else 201)

    async def change(self, request: Request) -> Response:
        """Change what is given; with If-Match only if nobody else did meanwhile."""
        note_id = request.path_params["id"]
        changeable = tuple(_CHANGE_SCHEMA["properties"])
        raw = await json_body(request)
        known_fields(raw, changeable)
        expected = stated_etag(request)
        if expected and expected != "*":
            before = await self._services.browse.detail(note_id)
            if before.checksum != expected:
                return _conflict(request, before, raw)
        revision = _revision(raw)
        archived = flag_field(raw, "archived")
        if revision.is_empty and archived is None:
            raise BadInput(f"nothing to change; give one of {', '.join(changeable)}")
        if not revision.is_empty:
            await self._services.revise(note_id, revision)
        if archived is True:
            await self._services.forget.archive(note_id)
        return await changed(request, self._services, note_id)

    async def delete(self, request: Request) -> Response:
        """Take a memory out of the vault."""
        row = await self._services.revise.delete(request.path_params["id"])
        undo = await self._services.versions.newest(row.id)
        return answered(request, {"id": row.id, "name": row.name, "path": row.path, "undo": undo})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of memories."""
        if_match = Parameter("If-Match", "ETag of the memory as you know it", place="header")
        return [
            Endpoint(
                "GET",
                "/api/buckets",
                self.listed,
                "List memories",
                "Without `kind` all but the archive. `cursor` of an answer leads to the next page; it is empty at the "
                "end. The first page has the counts for filters.",
                parameters=_LISTING,
                answer={
                    "type": "object",
                    "properties": {
                        "items": {"type": "array", "items": MEMORY_SCHEMA},
                        "total": {"type": "integer"},
                        "cursor": {"type": "string"},
                        "facets": {"type": "object"},
                    },
                },
            ),
            Endpoint(
                "POST",
                "/api/buckets",
                self.create,
                "Keep a new memory",
                parameters=[Parameter("dry_run", "only say what would become of it", {"type": "boolean"})],
                body=_NEW_SCHEMA,
                status=201,
            ),
            Endpoint(
                "GET",
                "/api/bucket/{id}",
                self.get,
                "One memory: text, file, versions, memories like it",
                parameters=[_ID],
            ),
            Endpoint(
                "PATCH",
                "/api/bucket/{id}",
                self.change,
                "Change a memory",
                "Changes what is given and nothing else. With `If-Match`, a memory that changed meanwhile is left alone: "
                "409 with both versions in `error.theirs` and `error.yours`. `undo` in the answer names what takes the "
                "change back.",
                parameters=[_ID, if_match],
                body=_CHANGE_SCHEMA,
            ),
            Endpoint(
                "DELETE", "/api/bucket/{id}", self.delete, "Delete a memory; `undo` takes it back", parameters=[_ID]
            ),
        ]


def _conflict(request: Request, theirs: Detail, yours: Mapping[str, Any]) -> Response:
    """Both versions, so that nothing is lost."""
    error = {
        "code": "conflict",
        "message": "the memory was changed meanwhile; look at both versions and repeat the change",
        "field": None,
        "theirs": shapes.whole(theirs),
        "yours": dict(yours),
    }
    return answered(request, {"error": error}, status=409, etag=f'"{theirs.checksum}"')


def _revision(raw: Mapping[str, Any]) -> Revision:
    archived = flag_field(raw, "archived")
    return Revision(
        name=text_field(raw, "name"),
        domain=split_list("domain", raw["domain"]) if "domain" in raw else None,
        tags=split_list("tags", raw["tags"]) if "tags" in raw else None,
        valence=number_field(raw, "valence", 0, 1),
        arousal=number_field(raw, "arousal", 0, 1),
        importance=rounded_field(raw, "importance", 1, 10),
        resolved=flag_field(raw, "resolved"),
        pinned=flag_field(raw, "pinned"),
        protected=flag_field(raw, "protected"),
        digested=flag_field(raw, "digested"),
        content=text_field(raw, "text"),
        restore=bool(flag_field(raw, "restore")) or archived is False,
    )
