"""Prompts and resources of the MCP server."""

from __future__ import annotations

import json
from collections.abc import Callable

from mcp.server import MCPServer
from mcp.server.mcpserver import UserMessage
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from vaultd.core.bucket import Role
from vaultd.core.errors import NoSuchMemory
from vaultd.services import Services
from vaultd.tools import render

COMPLETIONS = 50

_START = {
    "zh": (
        "新对话开始。请依次：1) breath()，看看浮现了什么；2) dream()，消化最近的记忆，有沉淀就用 "
        'hold(feel=True, source_bucket=…) 写下感受，能放下的用 trace(bucket_id, resolved=1)；3) breath(domain="feel")，'
        "读你留下的感受。然后再开口。"
    ),
    "en": (
        "A new conversation begins. First call breath() and see what surfaces; then dream(), and leave a feel with "
        "hold(feel=True, source_bucket=…) where something has settled, or let go with trace(bucket_id, resolved=1); "
        'then breath(domain="feel") to read the feels you left. Then speak.'
    ),
}


def add_prompts(server: MCPServer, language: Callable[[], str]) -> None:
    """Register the prompts."""

    @server.prompt(name="start_conversation", title="Begin a conversation with the memory")
    def start_conversation() -> list[UserMessage]:
        """breath → dream → breath(domain="feel"), then speak."""
        return [UserMessage(_START.get(language(), _START["zh"]))]


def add_resources(server: MCPServer, services: Services) -> None:
    """Register the resources and the completion of ids."""

    @server.resource(
        "memory://bucket/{id}", name="bucket", title="One memory with its whole text", mime_type="text/markdown"
    )
    async def bucket(id: str) -> str:
        try:
            whole = await services.revise.read(id)
        except NoSuchMemory as exc:
            raise ResourceNotFoundError(str(exc)) from exc
        return f"# {render.plain(whole.row.name)}\n\n{render.fenced(whole.text)}\n"

    @server.resource("memory://status", name="status", title="State of the memory", mime_type="application/json")
    def status() -> str:
        return json.dumps(services.health.status(), ensure_ascii=False)

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if not isinstance(ref, ResourceTemplateReference) or argument.name != "id":
            return None
        ids = [
            row.id for row in services.health.rows() if row.role is Role.BUCKET and row.id.startswith(argument.value)
        ]
        return Completion(values=ids[:COMPLETIONS], total=len(ids), has_more=len(ids) > COMPLETIONS)
