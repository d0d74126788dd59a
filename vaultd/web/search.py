"""`/api/search`, `/api/similar`, `/api/breath-debug`: finding, and why what was found was found."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.core.note import NotePath
from vaultd.core.query import Query
from vaultd.services import Services
from vaultd.services.explain import Explained, Explanation
from vaultd.services.matching import Fate
from vaultd.web import shapes
from vaultd.web.endpoints import Endpoint, Parameter, answered, json_body, number_parameter, text_field, whole

MOST_SNIPPETS = 50
_LONGEST_TEXT = 100_000
_UNIT = {"type": "number", "minimum": 0, "maximum": 1}

_QUERY = (
    Parameter("q", "what to look for, in any language", required=True),
    Parameter("domain", "topic areas, comma-separated"),
    Parameter("tags", "tags, comma-separated"),
    Parameter("valence", "mood, 0–1", _UNIT),
    Parameter("arousal", "mood, 0–1", _UNIT),
    Parameter("date_from", "2026, 2026-05 or 2026-05-17"),
    Parameter("date_to", "2026, 2026-05 or 2026-05-17"),
    Parameter("limit", "most hits", {"type": "integer", "minimum": 1, "maximum": 50, "default": 20}),
)


class Search:
    """Endpoints that find. Looking here counts as no recall."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def search(self, request: Request) -> Response:
        """Hits by words and by meaning, best first."""
        query = _query(request)
        if not query.text:
            raise BadInput("q: say what to look for")
        explained = await self._services.explain(query)
        fates = (Fate.KEPT.value, Fate.SEMANTIC.value, Fate.CORE.value, Fate.OWN.value)
        hits = [one for one in explained.candidates if one.fate in fates and _counts(one)]
        hits = sorted(hits, key=lambda one: fates.index(one.fate) in (1, 3))[: query.limit]
        texts = await asyncio.to_thread(self._texts, [one.item.row.path for one in hits[:MOST_SNIPPETS]])
        items = []
        for one, text in zip(hits, texts, strict=False):
            items.append({**self._candidate(one), "snippet": shapes.snippet(text, explained.words)})
        notices = [] if explained.has_meaning else ["no_embeddings"]
        if explained.domain_dropped:
            notices.append("domain_dropped")
        return answered(
            request,
            {"items": items, "words": list(explained.words), "searched": explained.searched, "notices": notices},
        )

    def _texts(self, paths: list[NotePath]) -> list[str]:
        return [self._services.matching.body(path) or "" for path in paths]

    @staticmethod
    def _candidate(one: Explained) -> dict[str, Any]:
        data = {**shapes.memory(one.item), "fate": one.fate, "similarity": None, "parts": None}
        if one.candidate is not None:
            alike = one.candidate.similarity
            data["similarity"] = None if alike is None else round(alike, 4)
            data["parts"] = shapes.parts(one.candidate.parts)
        return data

    async def similar(self, request: Request) -> Response:
        """Memories like one of them."""
        note_id = request.query_params.get("id", "").strip()
        path = request.query_params.get("path", "").strip()
        if not note_id and path:
            note_id = self._services.browse.id_at(path)
        if not note_id:
            raise BadInput("id: name a memory, by its id or its path")
        limit = whole("limit", request.query_params.get("limit", ""), 8, 1, 50)
        found = await asyncio.to_thread(lambda: self._services.browse.similar_to(note_id, limit=limit))
        return answered(request, {"id": note_id, "items": [shapes.alike(one) for one in found]})

    async def similar_to_text(self, request: Request) -> Response:
        """Memories like a text."""
        raw = await json_body(request)
        text = (text_field(raw, "text", "") or "")[:_LONGEST_TEXT].strip()
        if not text:
            raise BadInput("text: say what the memories are to be like")
        limit = raw.get("limit", 8)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 50:
            raise BadInput("limit: must be a whole number from 1 to 50")
        found = await self._services.browse.similar_to_text(text, limit=limit)
        return answered(request, {"items": [shapes.alike(one) for one in found]})

    async def breath_debug(self, request: Request) -> Response:
        """Every candidate with its four parts, and why the others fell out."""
        query = _query(request)
        explained = await self._services.explain(query)
        return answered(request, self._explained(explained))

    def _explained(self, explained: Explanation) -> dict[str, Any]:
        weights = explained.weights
        return {
            "mode": explained.mode.value,
            "words": list(explained.words),
            "has_meaning": explained.has_meaning,
            "meaning_problem": explained.meaning_problem,
            "memories": explained.memories,
            "searched": explained.searched,
            "domain_dropped": explained.domain_dropped,
            "by_evidence": explained.by_evidence,
            "by_fate": explained.by_fate,
            "threshold": weights.threshold,
            "most": {
                "topic": round(100 * weights.topic / weights.total, 2),
                "emotion": round(100 * weights.emotion / weights.total, 2),
                "time": round(100 * weights.time / weights.total, 2),
                "importance": round(100 * weights.importance / weights.total, 2),
            },
            "candidates": [self._candidate(one) for one in explained.candidates],
        }

    def endpoints(self) -> list[Endpoint]:
        """All endpoints that find."""
        return [
            Endpoint("GET", "/api/search", self.search, "Search memories", parameters=_QUERY),
            Endpoint(
                "GET",
                "/api/similar",
                self.similar,
                "Memories like one of them",
                parameters=[Parameter("id", "id of the memory"), Parameter("path", "or its path"), _QUERY[-1]],
            ),
            Endpoint(
                "POST",
                "/api/similar",
                self.similar_to_text,
                "Memories like a text",
                body={
                    "type": "object",
                    "required": ["text"],
                    "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}},
                },
            ),
            Endpoint(
                "GET",
                "/api/breath-debug",
                self.breath_debug,
                "Why an answer is what it is",
                "Every candidate with the four parts of its match score, the evidence for its topic, and its fate: kept, "
                "semantic, own, core, below_threshold, beyond_limit. Without `q`: what surfaces.",
                parameters=[Parameter("q", "what to look for; empty: what surfaces"), *_QUERY[1:]],
            ),
        ]


def _query(request: Request) -> Query:
    get = request.query_params.get
    return Query.parse(
        get("q", ""),
        domain=get("domain", ""),
        tags=get("tags", ""),
        valence=number_parameter(request, "valence", -1),
        arousal=number_parameter(request, "arousal", -1),
        max_results=number_parameter(request, "limit", 20),
        date_from=get("date_from", ""),
        date_to=get("date_to", ""),
        zone=UTC,
    )


def _counts(one: Explained) -> bool:
    """A core memory is shown where it matches as well as others have to."""
    if one.fate != Fate.CORE.value or one.candidate is None:
        return True
    return (
        max(one.candidate.parts.words or 0.0, one.candidate.similarity or 0.0, one.candidate.parts.fuzzy or 0.0) > 0.5
    )
