"""Ask real daemons: `vaultd serve` on each scope's vault, questions through the tool `breath` over MCP.

The daemon embeds by itself, which takes long for large sets. Questions are asked at the daemon's time, which is now.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from recall_sets import Question, Sets

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.e2e.daemon import Daemon, serving

EMBEDDED_S = 3_600.0


def ranked_by_daemons(sets: Sets, *, shuffle: bool) -> dict[str, list[str]]:
    """Question → memory ids in the order of breath's answer."""
    from recall import note_id, write_vault

    out: dict[str, list[str]] = {}
    for scope, memories in sets.memories.items():
        names = {note_id(memory.id): memory.id for memory in memories}
        with tempfile.TemporaryDirectory() as folder:
            vault = Path(folder) / "vault"
            write_vault(vault, memories, shuffle=shuffle)
            with serving(vault, Path(folder) / "state") as daemon:
                wanted = len(memories)
                daemon.wait(lambda s, n=wanted: s["ready"] and s["notes"] >= n and not s["pending"], EMBEDDED_S)
                answers = asyncio.run(_asked(daemon, sets.of_scope(scope)))
        out |= {question: [names[one] for one in ids if one in names] for question, ids in answers.items()}
        print(f"  {scope}", file=sys.stderr)
    return out


async def _asked(daemon: Daemon, questions: list[Question]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    async with daemon.client() as client:
        for question in questions:
            result = await client.call_tool("breath", {"query": question.text, "max_results": 10})
            found[question.id] = [hit["id"] for hit in result.structured_content.get("hits", ())]
    return found
