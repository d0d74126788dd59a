"""Two views for clients that show MCP Apps: the network of memories, and one memory as a card.

Each is a tool with a `ui://` page. The model gets a short text; what the page draws travels in the result's `_meta`,
which clients hand to the page and not to the model. Clients without MCP Apps show the text.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from mcp.server.apps import Apps, ResourceCsp
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from vaultd.core.bucket import Kind
from vaultd.services import Services
from vaultd.services.browsing import Alike
from vaultd.services.items import Item
from vaultd.tools import render
from vaultd.tools.arguments import Text, Whole
from vaultd.tools.reading import READ_ONLY

NETWORK_URI: Final = "ui://vaultd/network.html"
MEMORY_URI: Final = "ui://vaultd/memory.html"
NODES: Final = 150
MOST_NODES: Final = 300
"""More are not to be told apart in a frame of a chat; the dashboard shows thousands."""

NAMED: Final = 10

_VIEWS: Final = Path(__file__).parent / "views"
_SENTENCES: Final = {
    "zh": {
        "network": "{count} 条记忆（共 {total} 条），{edges} 条关联。",
        "most": "关联最多的：",
        "all": "全部记忆",
        "none": "还没有记忆。",
        "links": "{name}（{id}，{links} 条）",
        "alike": "相近的记忆",
        "valence": "效价",
        "arousal": "唤醒度",
        "importance": "重要度 {n}",
        "score": "衰减分 {n:.2f}",
        "lasting": "永不淡忘",
        "recalled": "想起 {n:g} 次",
        "resolved": "已解决",
        "archived": "已归档",
        "feel": "感受",
    },
    "en": {
        "network": "{count} of {total} memories, {edges} links.",
        "most": "The most linked:",
        "all": "All memories",
        "none": "There are no memories yet.",
        "links": "{name} ({id}, {links})",
        "alike": "Memories like this one",
        "valence": "Valence",
        "arousal": "Arousal",
        "importance": "importance {n}",
        "score": "decay score {n:.2f}",
        "lasting": "never fades",
        "recalled": "recalled {n:g}×",
        "resolved": "resolved",
        "archived": "archived",
        "feel": "feel",
    },
}


class Views:
    """The tools behind the two pages."""

    def __init__(self, services: Services, language: Callable[[], str]) -> None:
        self._services = services
        self._language = language

    def extension(self) -> Apps:
        """Both tools with their pages, to be given to the server. The pages load nothing from anywhere."""
        apps = Apps()
        apps.tool(
            resource_uri=NETWORK_URI, name="show_network", title="Show the network of memories", annotations=READ_ONLY
        )(self.show_network)
        apps.tool(resource_uri=MEMORY_URI, name="show_memory", title="Show a memory", annotations=READ_ONLY)(
            self.show_memory
        )
        sealed = ResourceCsp(connect_domains=[], resource_domains=[])
        for uri, name, title in (
            (NETWORK_URI, "network", "Network of memories"),
            (MEMORY_URI, "memory", "Memory card"),
        ):
            apps.add_html_resource(uri, page(name), name=name, title=title, csp=sealed, prefers_border=True)
        return apps

    async def show_network(
        self,
        limit: Annotated[Whole, Field(description="At most so many memories, up to 300")] = NODES,
    ) -> CallToolResult:
        """Show the person how their memories hang together: a picture where the client can, else the most linked ones.
        Call it only when they want to see it. 向用户展示记忆网络。"""
        graph = await asyncio.to_thread(self._services.network, limit=min(max(limit, 1), MOST_NODES))
        links = [0] * len(graph.nodes)
        for one, other, _ in graph.edges:
            links[one] += 1
            links[other] += 1
        words = self._sentences()
        if not graph.nodes:
            return _result(words["none"], {})
        order = sorted(range(len(graph.nodes)), key=lambda i: -links[i])[:NAMED]
        head = words["network"].format(count=len(graph.nodes), total=graph.total, edges=len(graph.edges))
        rows = [(graph.nodes[i].row, links[i]) for i in order]
        lines = [
            words["links"].format(name=render.fenced(render.plain(row.name)), id=row.id, links=n) for row, n in rows
        ]
        nodes = [
            {
                "id": node.row.id,
                "name": node.row.name,
                "domain": node.row.domain[0] if node.row.domain else "",
                "importance": node.row.importance,
                "resolved": node.row.resolved,
            }
            for node in graph.nodes
        ]
        edges = [[one, other, round(alike, 3)] for one, other, alike in graph.edges]
        drawn = {"nodes": nodes, "edges": edges, "summary": head, "all": words["all"]}
        return _result("\n".join([f"{head} {words['most']}", *lines]), {"vaultd/network": drawn})

    async def show_memory(
        self, bucket_id: Annotated[Text, Field(description="The id of the memory, as breath shows it")]
    ) -> CallToolResult:
        """Show the person one memory as a card with everything about it and what is like it. To read a memory
        yourself call breath with its id. 向用户展示一条记忆。"""
        browse = self._services.browse
        detail = await browse.detail(bucket_id.strip())
        alike = await asyncio.to_thread(browse.similar_to, detail.item.row.id)
        row = detail.item.row
        words = self._sentences()
        text = f"{render.plain(row.name)} [bucket_id:{row.id}]\n{render.fenced(detail.body.strip())}"
        if alike:
            lines = [f"- {render.fenced(render.plain(one.item.row.name))} {one.item.row.id}" for one in alike]
            text = "\n".join([text, f"{words['alike']}:", *lines])
        return _result(text, {"vaultd/memory": _card(detail.item, detail.body.strip(), alike, words)})

    def _sentences(self) -> dict[str, str]:
        return _SENTENCES.get(self._language(), _SENTENCES["zh"])


def _card(item: Item, text: str, alike: list[Alike], words: dict[str, str]) -> dict[str, Any]:
    """What the page shows, in the language of the answers."""
    row = item.row
    return {
        "id": row.id,
        "name": row.name,
        "text": text,
        "domain": list(row.domain),
        "tags": list(row.tags),
        "pinned": row.pinned,
        "mood": [[words["valence"], round(row.valence, 3)], [words["arousal"], round(row.arousal, 3)]],
        "facts": _facts(item, words),
        "alike": [
            {"id": one.item.row.id, "name": one.item.row.name, "similarity": round(one.similarity, 3)} for one in alike
        ],
        "alike_title": words["alike"],
    }


def _facts(item: Item, words: dict[str, str]) -> list[str]:
    row, bucket = item.row, item.bucket
    facts = [words[kind.value] for kind in (Kind.FEEL, Kind.ARCHIVED) if bucket.kind is kind]
    if row.resolved:
        facts.append(words["resolved"])
    facts.append(words["importance"].format(n=row.importance))
    if bucket.kind is not Kind.ARCHIVED:
        facts.append(words["score"].format(n=item.score) if bucket.fades else words["lasting"])
    facts.append(words["recalled"].format(n=round(bucket.activation_count, 1)))
    return [*facts, datetime.fromtimestamp(row.created, row.zone()).date().isoformat()]


def _result(text: str, meta: dict[str, Any]) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content={"answer": text}, _meta=meta or None
    )


@cache
def page(name: str) -> str:
    """A page with its styles and scripts put in: a host shows it in a frame that may load nothing."""
    whole = (_VIEWS / f"{name}.html").read_text(encoding="utf-8")
    return re.sub(r"/\* ([a-z]+\.(?:js|css)) \*/", lambda found: (_VIEWS / found[1]).read_text(encoding="utf-8"), whole)
