"""The tools of memory cards: `remember`, `update_memory`, `search_memory`, `ref_update`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from vaultd.core.card import Category
from vaultd.core.errors import BadInput, NoSuchMemory
from vaultd.core.query import split_list
from vaultd.services import Services
from vaultd.services.cardrecall import CardHit, CardQuery
from vaultd.services.cards import CardChange, NewCard, category_of
from vaultd.services.cardtwins import Twin
from vaultd.tools import render
from vaultd.tools.arguments import Text, Whole, Words, both

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

MOST_FOUND: Final = 50
MOST_USED: Final = 100
_TYPES: Final = ", ".join(Category)
_SAYS: Final[dict[str, dict[str, str]]] = {
    "zh": {
        "remembered": "✓ 已记录 {id}（{topic}）",
        "twins": "已有几乎相同的卡片，也许该用 update_memory 更新它：{twins}",
        "updated": "✓ 已更新 {id}：{changed}；{before} → {after} 字",
        "none": "没有相关的记忆卡片。",
        "used": "✓ 已计 {count} 张：{ids}",
        "unknown": "没有这些卡片：{ids}",
        "nothing_used": "没有可计的卡片。",
    },
    "en": {
        "remembered": "✓ remembered {id} ({topic})",
        "twins": "cards that say nearly the same; perhaps update one with update_memory instead: {twins}",
        "updated": "✓ updated {id}: {changed}; {before} → {after} characters",
        "none": "No card bears on this.",
        "used": "✓ counted {count}: {ids}",
        "unknown": "no such cards: {ids}",
        "nothing_used": "Nothing to count.",
    },
}


class CardTools:
    """The four tools over the services. `sight_of` tells the scope that the credential of a request carries."""

    def __init__(self, services: Services, language: Callable[[], str], sight_of: Callable[[Any], str | None]) -> None:
        self._services = services
        self._language = language
        self._sight_of = sight_of

    def add_to(self, server: MCPServer) -> None:
        """Register the tools."""
        server.add_tool(self.remember, name="remember", title="Write a memory card", annotations=ADDS)
        server.add_tool(self.update_memory, name="update_memory", title="Change a memory card", annotations=CHANGES)
        server.add_tool(self.search_memory, name="search_memory", title="Search memory cards", annotations=READS)
        server.add_tool(self.ref_update, name="ref_update", title="Count uses of cards", annotations=ADDS)

    async def remember(
        self,
        ctx: Context,
        content: Annotated[Text, Field(description="What to remember, complete in itself, in the person's language")],
        type: Annotated[Text, Field(description=f"One of {_TYPES}")],
        topic: Annotated[Words, Field(description="What it is about in a few words; several with commas")],
        tags: Annotated[Words, Field(description="Keywords, comma-separated")] = "",
        importance: Annotated[Whole, Field(description="1-10; 9 and more never ages")] = 5,
        conversation_id: Annotated[
            Text, Field(description="The conversation it comes from: it is not injected into that one again")
        ] = "",
    ) -> CallToolResult:
        """Write a memory card. The answer has its id, and cards that say nearly the same, if there are any: then think of
        update_memory. 写一张记忆卡片（8 类之一）；返回 id，若已有近似卡片会一并告知。"""
        new = NewCard(
            content=content,
            category=type,
            topic=split_list("topic", topic),
            tags=split_list("tags", tags),
            importance=importance,
            conversation_id=conversation_id.strip(),
        )
        written = await self._services.cards.remember(new, self._sight(ctx))
        card = written.view.card
        lines = [self._say("remembered", id=card.id, topic=render.plain("、".join(card.topic)))]
        if written.twins:
            lines.append(self._say("twins", twins="；".join(map(_twin, written.twins))))
        twins = [{"id": one.id, "topic": list(one.topic), "similarity": one.similarity} for one in written.twins]
        return both("\n".join(lines), {"id": card.id, "path": card.path, "near_duplicates": twins})

    async def update_memory(
        self,
        ctx: Context,
        id: Annotated[Text, Field(description="The card's id, YYYYMMDD-NNN")],
        content: Annotated[Text, Field(description="A new text in place of the whole old one; empty: leave it")] = "",
        old_text: Annotated[Text, Field(description="A fragment that stands once in the card, to be replaced")] = "",
        new_text: Annotated[Text, Field(description="What takes the fragment's place")] = "",
        type: Annotated[Text, Field(description=f"One of {_TYPES}; empty: leave it")] = "",
        topic: Annotated[Words, Field(description="New topics, comma-separated; empty: leave them")] = "",
        tags: Annotated[Words, Field(description="New tags, comma-separated; empty: leave them")] = "",
        importance: Annotated[Whole, Field(description="1-10; -1: leave it")] = -1,
    ) -> CallToolResult:
        """Change a card: only what you give changes. For a small change of a long card give old_text and new_text. The
        answer tells the size of the change, not the card. 修改卡片；长卡片请用 old_text/new_text 局部替换。"""
        change = CardChange(
            content=content or None,
            old_text=old_text or None,
            new_text=new_text if old_text or new_text else None,
            category=type.strip() or None,
            topic=split_list("topic", topic) or None,
            tags=split_list("tags", tags) or None,
            importance=None if importance == -1 else importance,
        )
        changed = await self._services.cards.update(_known(id), change, self._sight(ctx))
        names = ", ".join(changed.changed)
        text = self._say("updated", id=changed.id, changed=names, before=changed.before, after=changed.after)
        data = {"id": changed.id, "changed": list(changed.changed), "before": changed.before, "after": changed.after}
        return both(text, data)

    async def search_memory(
        self,
        ctx: Context,
        query: Annotated[Text, Field(description="What you look for, in any words and language")],
        limit: Annotated[Whole, Field(description=f"Most cards, 1-{MOST_FOUND}")] = 5,
        type: Annotated[Text, Field(description=f"Only this type: {_TYPES}")] = "",
        scope: Annotated[Text, Field(description="Only shared cards and those of this scope")] = "",
        include_embedding: Annotated[
            bool, Field(description="Add each card's embedding to the structured result")
        ] = False,
    ) -> CallToolResult:
        """Search the memory cards by meaning and words; each hit with its final score, 0-1. Hits marked kept are those that
        would be put into a conversation by themselves. 搜索记忆卡片，返回内容与分数。"""
        if not query.strip():
            raise BadInput("query: is empty; say what you look for")
        wanted = CardQuery(
            text=query,
            sight=self._sight(ctx),
            scope=scope.strip() or None,
            category=category_of(type).value if type.strip() else "",
            limit=min(max(limit, 1), MOST_FOUND),
        )
        found = await self._services.card_recall(wanted)
        floor = self._services.card_recall.relevance_floor
        hits = [hit for hit in found.hits if hit.parts.relevance >= floor][: wanted.limit]
        data = [self._hit(hit, with_embedding=include_embedding) for hit in hits]
        text = "\n".join(map(_line, hits)) if hits else self._say("none")
        return both(text, {"hits": data, "intent": found.intent.value, "searched": found.searched})

    async def ref_update(
        self,
        ctx: Context,
        ids: Annotated[Words, Field(description="Ids of the cards that were really used, comma-separated")],
    ) -> CallToolResult:
        """Count one use of each card and note the time: use_count + 1, last_used_at = now. 卡片被真正用到时计一次。"""
        wanted = split_list("ids", ids)
        if len(wanted) > MOST_USED:
            raise BadInput(f"ids: {len(wanted)} are too many; give at most {MOST_USED}")
        counted, unknown = self._services.cards.used(wanted, self._sight(ctx))
        lines = [self._say("used", count=len(counted), ids=", ".join(one.id for one in counted))] if counted else []
        if unknown:
            lines.append(self._say("unknown", ids=render.plain(", ".join(unknown))))
        used = [
            {
                "id": one.id,
                "use_count": one.use_count,
                "last_used_at": None if one.last_used is None else one.last_used.isoformat(timespec="seconds"),
            }
            for one in counted
        ]
        return both("\n".join(lines) or self._say("nothing_used"), {"used": used, "unknown": unknown})

    # -- parts ----------------------------------------------------------------------------------------------------

    def _sight(self, ctx: Context) -> str | None:
        return self._sight_of(ctx.request_context.request)

    def _say(self, key: str, **values: object) -> str:
        return _SAYS.get(self._language(), _SAYS["zh"])[key].format(**values)

    def _hit(self, hit: CardHit, *, with_embedding: bool) -> dict[str, Any]:
        card, parts = hit.view.card, hit.parts
        data: dict[str, Any] = {
            "id": card.id,
            "topic": list(card.topic),
            "type": card.category.value,
            "tags": list(card.tags),
            "importance": card.importance,
            "scope": card.scope,
            "content": hit.view.text or "",
            "created_at": card.created.isoformat(timespec="seconds"),
            "use_count": card.use_count,
            "kept": hit.fate.value == "kept",
            "score": round(parts.final, 4),
            "relevance": round(parts.relevance, 4),
            "similarity": round(parts.similarity, 4),
            "keyword": round(parts.keyword, 4),
        }
        if with_embedding:
            data["embedding"] = self._services.card_recall.embedding_of(card.id)
        return data


def _known(card_id: str) -> str:
    if not card_id.strip():
        raise NoSuchMemory(card_id)
    return card_id.strip()


def _twin(twin: Twin) -> str:
    return f"{twin.id} {render.plain('、'.join(twin.topic))} ({twin.similarity:.2f})"


def _line(hit: CardHit) -> str:
    card = hit.view.card
    topic = render.plain("、".join(card.topic))
    mark = "●" if hit.fate.value == "kept" else "○"
    return (
        f"{mark} {card.id} {topic} [{card.category.value} · {card.importance} · {hit.parts.final:.2f}] "
        f"{render.fenced(hit.view.text or '')}"
    )
