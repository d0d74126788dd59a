"""`/api/conversations`. See docs/api-cards.md."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from vaultd.services.cardlist import LISTED, MOST_LISTED
from vaultd.services.conversations import Conversation, Conversations, Said
from vaultd.web.credentials import sight_of
from vaultd.web.endpoints import Endpoint, Parameter, answered, whole_parameter
from vaultd.web.shapes import moment

_ID: Final = Parameter("id", "id of the conversation", place="path", required=True)


class ConversationEndpoints:
    """Endpoints of kept conversations."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def listed(self, request: Request) -> Response:
        """Kept conversations, newest first."""
        limit = whole_parameter(request, "limit", LISTED, 1, MOST_LISTED)
        before = request.query_params.get("cursor", "")
        found, cursor = await self._conversations.listed(sight_of(request), limit=limit, before=before)
        items = [{**_conversation(one), "turns": len(one.messages)} for one in found]
        return answered(request, {"conversations": items, "next_cursor": cursor or None})

    async def get(self, request: Request) -> Response:
        """One conversation with its messages."""
        one = await self._conversations.get(request.path_params["id"], sight_of(request))
        return answered(request, {**_conversation(one), "messages": [_said(said) for said in one.messages]})

    async def summary(self, request: Request) -> Response:
        """Have a conversation summarised."""
        one_id = request.path_params["id"]
        summary = await self._conversations.summarise(one_id, sight_of(request))
        return answered(request, {"id": one_id, "summary": summary})

    async def delete(self, request: Request) -> Response:
        """Take a conversation out of the vault."""
        await self._conversations.delete(request.path_params["id"], sight_of(request))
        return answered(request, {"id": request.path_params["id"], "deleted": True})

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of conversations."""
        one = "/api/conversations/{id}"
        return [
            Endpoint("GET", "/api/conversations", self.listed, "List conversations"),
            Endpoint("GET", one, self.get, "One conversation", parameters=[_ID]),
            Endpoint("DELETE", one, self.delete, "Delete a conversation", parameters=[_ID]),
            Endpoint("POST", f"{one}/summary", self.summary, "Summarise a conversation", parameters=[_ID]),
        ]


def _conversation(one: Conversation) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "created": moment(one.created),
        "updated": moment(one.updated),
        "scope": one.scope,
        "summary": one.summary,
        "path": one.path,
    }


def _said(said: Said) -> dict[str, Any]:
    data: dict[str, Any] = {"role": said.role, "at": moment(said.at), "text": said.text}
    if said.role == "user":
        return {**data, "injected_memories": [{"id": one, "topic": topic} for one, topic in said.injected]}
    return {**data, "aborted": said.aborted}
