"""The tools that write: `hold`, `grow`, `trace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from vaultd.core.errors import BadInput, NoSuchMemory
from vaultd.core.query import split_list
from vaultd.services import Services
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision
from vaultd.tools import render
from vaultd.tools.arguments import Flag, Number, Text, Whole, Words, both, flag, unit
from vaultd.tools.phrases import phrase

ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def importance_of(value: int) -> int:
    """An importance clamped to 1–10."""
    return min(max(int(value), 1), 10)


class Writing:
    """`hold`, `grow` and `trace` over the services."""

    def __init__(self, services: Services, language: Callable[[], str]) -> None:
        self._services = services
        self._language = language

    def add_to(self, server: MCPServer) -> None:
        """Register the tools."""
        server.add_tool(self.hold, name="hold", title="Keep a memory", annotations=ADDS)
        server.add_tool(self.grow, name="grow", title="Keep a diary", annotations=ADDS)
        server.add_tool(self.trace, name="trace", title="Change a memory", annotations=CHANGES)

    async def hold(
        self,
        content: Annotated[Text, Field(description="What to remember, in the person's language, complete in itself")],
        tags: Annotated[Words, Field(description="Keywords, comma-separated; please give 3-10")] = "",
        importance: Annotated[Whole, Field(description="1-10; 5 is ordinary, 8 and more matters for long")] = 5,
        pinned: Annotated[bool, Field(description="A core principle: never fades, always surfaces")] = False,
        feel: Annotated[bool, Field(description="Your own feeling in the first person, not an event")] = False,
        source_bucket: Annotated[Text, Field(description="With feel: the id of the memory it is about")] = "",
        valence: Annotated[Number, Field(description="0 unpleasant … 1 pleasant; please estimate; -1: unknown")] = -1,
        arousal: Annotated[Number, Field(description="0 calm … 1 excited; please estimate; -1: unknown")] = -1,
        name: Annotated[Text, Field(description="A short title, at most 80 characters; please give one")] = "",
        domain: Annotated[
            Words, Field(description="1-2 topic areas, comma-separated, e.g. 工作 or health; please give")
        ] = "",
    ) -> CallToolResult:
        """Keep one memory. Give name, domain, tags, valence and arousal yourself: they are taken as they are, and without
        a chat model they are all there is. The same text told twice is one memory; a text close to an existing memory joins it.
        Text within <private>…</private> is never kept. 存一条记忆；请同时给出 name、domain、tags、valence、arousal。"""
        language = self._language()
        memory = NewMemory(
            content=content,
            name=name,
            domain=split_list("domain", domain)[:2],
            tags=split_list("tags", tags),
            valence=unit("valence", valence),
            arousal=unit("arousal", arousal),
            importance=importance_of(importance),
            pinned=pinned and not feel,
            feel=feel,
            source_bucket=source_bucket.strip(),
        )
        kept = await self._services.remember(memory)
        data = {"id": kept.id, "outcome": kept.outcome.value, "path": kept.path, "assumed": list(kept.assumed)}
        return both(render.kept(kept, language), data)

    async def grow(
        self,
        content: Annotated[Text, Field(description="A diary or a long text with several memories in it")] = "",
        items: Annotated[
            list[dict[str, Any]] | None,
            Field(
                description="The memories, if you split the text yourself: each with content, and optionally name, "
                "domain, tags, valence, arousal, importance"
            ),
        ] = None,
    ) -> CallToolResult:
        """Keep a long text as 2-6 memories. Either give `items`, split by yourself, or `content` alone: then the configured
        chat model splits it; without one the text waits in the inbox and is split later. 整理日记，拆成多条记忆。"""
        language = self._language()
        memories = None if items is None else [_item(i, item) for i, item in enumerate(items)]
        if memories is None and not content.strip():
            raise BadInput("content: is empty; give a text, or items")
        result = await self._services.diary(content, memories)
        data: dict[str, Any] = {
            "memories": [{"id": k.id, "outcome": k.outcome.value, "name": k.name} for k in result.kept],
            "failed": [{"name": f.name, "reason": f.reason} for f in result.failed],
        }
        if result.waits_at:
            data["waits_at"] = result.waits_at
        return both(render.grown(result, language), data)

    async def trace(
        self,
        bucket_id: Annotated[Text, Field(description="The memory's id")],
        name: Annotated[Text, Field(description="New title")] = "",
        domain: Annotated[Words, Field(description="New topic areas, comma-separated")] = "",
        valence: Annotated[Number, Field(description="0-1; -1: leave")] = -1,
        arousal: Annotated[Number, Field(description="0-1; -1: leave")] = -1,
        importance: Annotated[Whole, Field(description="1-10; -1: leave")] = -1,
        tags: Annotated[Words, Field(description="New tags, comma-separated; they replace the old ones")] = "",
        resolved: Annotated[Flag, Field(description="1: settled, sinks; 0: active again; -1: leave")] = -1,
        pinned: Annotated[Flag, Field(description="1: core principle; 0: an ordinary memory again; -1: leave")] = -1,
        protected: Annotated[Flag, Field(description="1: never fades; 0: may fade; -1: leave")] = -1,
        digested: Annotated[Flag, Field(description="1: reflected upon; 0: not yet; -1: leave")] = -1,
        content: Annotated[Text, Field(description="A new text in place of the whole old one")] = "",
        old_text: Annotated[Text, Field(description="A fragment that stands once in the memory, to be replaced")] = "",
        new_text: Annotated[Text, Field(description="What takes the fragment's place")] = "",
        restore: Annotated[bool, Field(description="Bring it back from the archive")] = False,
        delete: Annotated[bool, Field(description="Move it to the vault's trash")] = False,
        read: Annotated[bool, Field(description="Return the whole text and change nothing")] = False,
    ) -> CallToolResult:
        """Change one memory: only what you give changes. resolved=1 lets it sink; pinned=1 makes it a core principle;
        old_text/new_text patch a fragment; read=True returns the whole text. 修改一条记忆；delete=True 移入回收站。"""
        language = self._language()
        note_id = bucket_id.strip()
        try:
            if read:
                whole = await self._services.revise.read(note_id)
                text = render.whole(whole, language)
                return both(text, {"id": whole.row.id, "path": whole.row.path})
            if delete:
                row = await self._services.revise.delete(note_id)
                return both(phrase(language, "deleted", id=row.id), {"id": row.id, "deleted": True})
            revision = Revision(
                name=name.strip() or None,
                domain=split_list("domain", domain)[:2] or None,
                tags=split_list("tags", tags) or None,
                valence=unit("valence", valence),
                arousal=unit("arousal", arousal),
                importance=None if importance == -1 else importance_of(importance),
                resolved=flag(resolved),
                pinned=flag(pinned),
                protected=flag(protected),
                digested=flag(digested),
                content=content if content else None,
                old_text=old_text or None,
                new_text=new_text if old_text or new_text else None,
                restore=restore,
            )
            if revision.is_empty:
                self._services.revise.row(note_id)
                return both(phrase(language, "nothing_to_change"), {"id": note_id, "changed": []})
            result = await self._services.revise(note_id, revision)
        except NoSuchMemory as exc:
            raise NoSuchMemoryTold(phrase(language, "not_found", id=exc.note_id)) from exc
        data = {"id": result.id, "path": result.path, "changed": [key for key, _ in result.changes]}
        return both(render.revised(result, revision, language), data)


class NoSuchMemoryTold(BadInput):
    """An unknown id, said in the language of the answers."""


def _item(position: int, item: dict[str, Any]) -> NewMemory:
    known = {"name", "content", "domain", "tags", "valence", "arousal", "importance"}
    unknown = [key for key in item if key not in known]
    if unknown:
        raise BadInput(f"items[{position}]: has no {unknown[0]!r}; it takes {', '.join(sorted(known))}")
    content = item.get("content")
    if not isinstance(content, str) or not content.strip():
        raise BadInput(f"items[{position}].content: must be a text that is not empty")
    try:
        numbers = {key: float(item.get(key, -1)) for key in ("valence", "arousal")}
        importance = int(item.get("importance", 5))
    except (TypeError, ValueError):
        raise BadInput(f"items[{position}]: valence, arousal and importance must be numbers") from None
    return NewMemory(
        content=content,
        name=str(item.get("name", "")),
        domain=split_list("domain", item.get("domain") or "")[:2],
        tags=split_list("tags", item.get("tags") or ""),
        valence=unit("valence", numbers["valence"]),
        arousal=unit("arousal", numbers["arousal"]),
        importance=importance_of(importance),
    )
