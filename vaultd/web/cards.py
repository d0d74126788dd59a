"""`/api/cards`. See docs/api-cards.md."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vaultd.core.bucket import DEFAULT_IMPORTANCE
from vaultd.core.card import Category, Intent
from vaultd.core.errors import BadInput, LostRace
from vaultd.core.query import split_list
from vaultd.services import Services
from vaultd.services.cardlist import LISTED, MOST_LISTED, SORTS, CardFilter, CardPage
from vaultd.services.cardrecall import CardHit, CardQuery
from vaultd.services.cards import CardChange, CardVersion, CardView, NewCard
from vaultd.web.credentials import sight_of
from vaultd.web.endpoints import (
    Endpoint,
    Parameter,
    answered,
    flag_parameter,
    json_body,
    known_fields,
    rounded_field,
    stated_etag,
    text_field,
    whole_parameter,
)
from vaultd.web.shapes import moment, snippet

MOST_FOUND: Final = 50
_NEW: Final = ("content", "type", "topic", "tags", "importance", "ai_scope", "source_conversation_id")
_CHANGEABLE: Final = ("content", "old_text", "new_text", "type", "topic", "tags", "importance", "ai_scope")
_ID: Final = Parameter("id", "id of the card", place="path", required=True)
_WORDS: Final = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_FIELDS: Final[dict[str, Any]] = {
    "content": {"type": "string"},
    "type": {"type": "string", "enum": [category.value for category in Category]},
    "topic": _WORDS,
    "tags": _WORDS,
    "importance": {"type": "integer", "minimum": 1, "maximum": 10},
    "ai_scope": {"type": "string", "description": "empty: shared by all"},
}


class CardEndpoints:
    """Endpoints of cards."""

    def __init__(self, services: Services) -> None:
        self._services = services

    # -- cards ----------------------------------------------------------------------------------------------------

    async def listed(self, request: Request) -> Response:
        """A page of the list, and sums over all that the filters leave."""
        page = await self._services.card_list(_filter(request), sight_of(request))
        return answered(request, _page(page))

    async def search(self, request: Request) -> Response:
        """Cards for a message, with their scores."""
        query = request.query_params
        text = query.get("q", "").strip()
        if not text:
            raise BadInput("q: is empty; say what you look for")
        wanted = CardQuery(
            text=text,
            sight=sight_of(request),
            scope=query.get("scope"),
            category=query.get("type", "").strip(),
            intent=intent_of_name(query.get("intent", "")),
            limit=whole_parameter(request, "limit", 10, 1, MOST_FOUND),
            kept_only=not flag_parameter(request, "all"),
        )
        found = await self._services.card_recall(wanted)
        data = {"hits": [_hit(hit) for hit in found.hits], "intent": found.intent.value, "searched": found.searched}
        return answered(request, data)

    async def get(self, request: Request) -> Response:
        """One card in full."""
        view = await self._services.cards.get(request.path_params["id"], sight_of(request))
        return answered(request, card(view, whole=True), etag=_etag(view))

    async def create(self, request: Request) -> Response:
        """Write a card."""
        raw = await json_body(request)
        known_fields(raw, _NEW)
        new = NewCard(
            content=text_field(raw, "content", "") or "",
            category=text_field(raw, "type", "") or "",
            topic=_list(raw, "topic"),
            tags=_list(raw, "tags"),
            importance=rounded_field(raw, "importance", 1, 10) or DEFAULT_IMPORTANCE,
            scope=text_field(raw, "ai_scope", "") or "",
            conversation_id=text_field(raw, "source_conversation_id", "") or "",
        )
        written = await self._services.cards.remember(new, sight_of(request))
        twins = [{"id": twin.id, "topic": list(twin.topic), "similarity": twin.similarity} for twin in written.twins]
        data = {"card": card(written.view, whole=True), "near_duplicates": twins}
        return answered(request, data, status=201)

    async def change(self, request: Request) -> Response:
        """Change what is given; with If-Match only if nobody else did meanwhile."""
        raw = await json_body(request)
        known_fields(raw, _CHANGEABLE)
        change = CardChange(
            content=text_field(raw, "content"),
            old_text=text_field(raw, "old_text"),
            new_text=text_field(raw, "new_text"),
            category=text_field(raw, "type"),
            topic=_list(raw, "topic") if "topic" in raw else None,
            tags=_list(raw, "tags") if "tags" in raw else None,
            importance=rounded_field(raw, "importance", 1, 10),
            scope=text_field(raw, "ai_scope"),
        )
        expected = stated_etag(request)
        card_id, sight = request.path_params["id"], sight_of(request)
        try:
            changed = await self._services.cards.update(
                card_id, change, sight, expected=expected if expected not in ("", "*") else None
            )
        except LostRace as exc:
            if not expected:
                raise
            now = await self._services.cards.get(card_id, sight)
            error = {"code": "conflict", "message": str(exc), "field": None}
            return JSONResponse({"error": error, "current": card(now, whole=True)}, status_code=409)
        view = await self._services.cards.get(card_id, sight)
        data = {
            "card": card(view, whole=True),
            "changed": list(changed.changed),
            "size_before": changed.before,
            "size_after": changed.after,
        }
        return answered(request, data, etag=_etag(view))

    async def delete(self, request: Request) -> Response:
        """Take a card out of the vault."""
        row = await self._services.cards.delete(request.path_params["id"], sight_of(request))
        undo = await self._services.versions.newest(row.id)
        return answered(request, {"id": row.id, "deleted": True, "undo": undo})

    async def used(self, request: Request) -> Response:
        """Count one use."""
        row = self._services.cards.row(request.path_params["id"], sight_of(request))
        counted, _ = self._services.cards.used([row.id], sight_of(request))
        one = counted[0]
        return answered(request, {"id": one.id, "use_count": one.use_count, "last_used_at": moment(one.last_used)})

    # -- versions -------------------------------------------------------------------------------------------------

    async def versions(self, request: Request) -> Response:
        """The kept versions, newest first."""
        found = await self._services.cards.versions(request.path_params["id"], sight_of(request))
        items = [{"version": one.id, "at": moment(one.at), "size": one.size} for one in found]
        return answered(request, {"versions": items})

    async def version(self, request: Request) -> Response:
        """One version, and what changed since."""
        card_id, sight = request.path_params["id"], sight_of(request)
        one = await self._services.cards.version(card_id, request.path_params["version"], sight)
        return answered(request, _version(one))

    async def revert(self, request: Request) -> Response:
        """Put a version back."""
        raw = await json_body(request)
        known_fields(raw, ("version",))
        version = text_field(raw, "version", "") or ""
        view = await self._services.cards.revert(request.path_params["id"], version, sight_of(request))
        return answered(request, {"card": card(view, whole=True)}, etag=_etag(view))

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of cards."""
        new = {"type": "object", "properties": {**_FIELDS, "source_conversation_id": {"type": "string"}}}
        change = {
            "type": "object",
            "properties": {**_FIELDS, "old_text": {"type": "string"}, "new_text": {"type": "string"}},
        }
        revert = {"type": "object", "properties": {"version": {"type": "string"}}, "required": ["version"]}
        of_version = [_ID, Parameter("version", "name of the version", place="path", required=True)]
        one = "/api/cards/{id}"
        return [
            Endpoint("GET", "/api/cards", self.listed, "List cards", parameters=_list_parameters()),
            Endpoint("POST", "/api/cards", self.create, "Write a card", body=new, status=201),
            Endpoint("GET", "/api/cards/search", self.search, "Cards for a message", parameters=_search_parameters()),
            Endpoint("GET", one, self.get, "One card", parameters=[_ID]),
            Endpoint("PATCH", one, self.change, "Change a card", parameters=[_ID], body=change),
            Endpoint("DELETE", one, self.delete, "Delete a card", parameters=[_ID]),
            Endpoint("POST", f"{one}/used", self.used, "Count a use of a card", parameters=[_ID]),
            Endpoint("GET", f"{one}/history", self.versions, "Versions of a card", parameters=[_ID]),
            Endpoint("GET", f"{one}/history/{{version}}", self.version, "A version of a card", parameters=of_version),
            Endpoint("POST", f"{one}/revert", self.revert, "Put a version back", parameters=[_ID], body=revert),
        ]


def intent_of_name(name: str) -> Intent | None:
    """The intent of this name, None for none. Raises BadInput with the five."""
    if not name.strip():
        return None
    try:
        return Intent(name.strip())
    except ValueError:
        raise BadInput(f"intent: {name!r} is not one of {', '.join(Intent)}") from None


def card(view: CardView, *, whole: bool) -> dict[str, Any]:
    """A card as JSON; with its text, or an excerpt of it."""
    one = view.card
    data: dict[str, Any] = {
        "id": one.id,
        "topic": list(one.topic),
        "type": one.category.value,
        "tags": list(one.tags),
        "importance": one.importance,
        "ai_scope": one.scope,
        "source_conversation_id": one.conversation_id,
        "created_at": moment(one.created),
        "updated_at": moment(one.updated),
        "last_used_at": moment(one.last_used),
        "use_count": one.use_count,
        "path": one.path,
        "etag": _etag(view),
        "problem": view.row.problem,
        "excerpt": snippet(view.text or ""),
    }
    return {**data, "content": view.text or ""} if whole else data


def _etag(view: CardView) -> str:
    return f'"{view.row.checksum}"'


def _page(page: CardPage) -> dict[str, Any]:
    sums = page.sums
    return {
        "cards": [card(view, whole=False) for view in page.views],
        "total": sums.total,
        "next_cursor": page.cursor or None,
        "summary": {
            "total": sums.total,
            "by_type": dict(sums.by_category),
            "by_scope": dict(sums.by_scope),
            "used": sums.used,
            "never_used": sums.total - sums.used,
            "uses": sums.uses,
            "newest": moment(sums.newest),
        },
    }


def _hit(hit: CardHit) -> dict[str, Any]:
    parts = hit.parts
    score = {
        "final": parts.final,
        "relevance": parts.relevance,
        "similarity": parts.similarity,
        "keyword": parts.keyword,
        "typefit": parts.typefit,
        "importance": parts.importance,
        "recency": parts.recency,
    }
    rounded = {key: round(value, 4) for key, value in score.items()}
    return {
        "card": card(hit.view, whole=True),
        "kept": hit.fate.value == "kept",
        "fate": hit.fate.value,
        "score": rounded,
    }


def _version(one: CardVersion) -> dict[str, Any]:
    return {
        "version": one.id,
        "at": moment(one.at),
        "card": {**one.properties, "content": one.text},
        "diff": one.diff,
    }


def _filter(request: Request) -> CardFilter:
    query = request.query_params
    sort = query.get("sort", "-created_at").strip() or "-created_at"
    return CardFilter(
        text=query.get("q", ""),
        categories=tuple(filter(None, query.getlist("type"))),
        tags=tuple(filter(None, query.getlist("tag"))),
        topics=tuple(filter(None, query.getlist("topic"))),
        scope=query.get("scope"),
        importance_min=whole_parameter(request, "importance_min", 1, 1, 10),
        importance_max=whole_parameter(request, "importance_max", 10, 1, 10),
        used=_yes_or_no(query.get("used", "")),
        since=_day(query, "from"),
        until=_day(query, "to"),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        limit=whole_parameter(request, "limit", LISTED, 1, MOST_LISTED),
        cursor=query.get("cursor", ""),
    )


def _list(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = raw.get(name, "")
    if not isinstance(value, str | list):
        raise BadInput(f"{name}: must be text with commas, or a list of texts")
    return split_list(name, value)


def _yes_or_no(text: str) -> bool | None:
    known = {"": None, "yes": True, "1": True, "true": True, "no": False, "0": False, "false": False}
    if text.casefold() not in known:
        raise BadInput("used: must be yes or no")
    return known[text.casefold()]


def _day(query: Mapping[str, str], name: str) -> date | None:
    text = query.get(name, "").strip()
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadInput(f"{name}: must be a day such as 2026-11-30") from None


def _list_parameters() -> list[Parameter]:
    return [
        Parameter("q", "words that must all stand in topic, tags or text"),
        Parameter("type", "this category; may be repeated"),
        Parameter("tag", "this tag; may be repeated"),
        Parameter("topic", "this topic; may be repeated"),
        Parameter("scope", "cards of this scope; empty: shared ones"),
        Parameter("importance_min", "from this importance on", {"type": "integer"}),
        Parameter("importance_max", "up to this importance", {"type": "integer"}),
        Parameter("used", "yes or no: was ever used"),
        Parameter("from", "created on this day or later"),
        Parameter("to", "created on this day or before"),
        Parameter("sort", f"{', '.join(SORTS)}; with - in front: descending"),
        Parameter("limit", "cards a page", {"type": "integer", "default": LISTED, "maximum": MOST_LISTED}),
        Parameter("cursor", "next_cursor of the page before"),
    ]


def _search_parameters() -> list[Parameter]:
    return [
        Parameter("q", "the message", required=True),
        Parameter("limit", "most cards", {"type": "integer", "default": 10, "maximum": MOST_FOUND}),
        Parameter("type", "this category only"),
        Parameter("scope", "shared cards and those of this scope only"),
        Parameter("intent", f"one of {', '.join(Intent)}; else found from the words"),
        Parameter("all", "1: also those that are not worth a place"),
    ]
