"""Write docs/tour.md: a morning with vaultd, spoken by a real MCP client to a running daemon, without any key.

python scripts/tour.py > docs/tour.md
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import tempfile
from pathlib import Path

from mcp import Client

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.daemon import Daemon, demonstration

LONGEST_SHOWN = 1_800  # characters of an answer


def say(text: str = "") -> None:
    print(text)


class Tour:
    """Calls tools and writes down what was asked and what came back."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: object) -> str:
        shown = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
        result = await self._client.call_tool(tool, arguments)
        text: str = result.content[0].text
        cut = text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN].rsplit("\n", 1)[0] + "\n…"
        say(f"```python\n{tool}({shown})\n```\n\n```text\n{cut}\n```\n")
        return text


async def morning(daemon: Daemon) -> None:
    async with daemon.client() as client:
        await walk(Tour(client), daemon)


async def walk(tour: Tour, daemon: Daemon) -> None:
    say("## What surfaces by itself\n")
    await tour.call("breath", max_results=4)
    say("## Looking back\n")
    dreamt = await tour.call("dream")
    say("## The feels that were left before\n")
    await tour.call("breath", domain="feel", max_tokens=600)
    say("## A feel of today, about one of the memories\n")
    source = re.search(r"bucket_id:([0-9a-f]{12})", dreamt)
    assert source
    await tour.call(
        "hold",
        content="他把数字放在桌上而不是放在心里，我觉得那是一种很轻的勇敢。",
        feel=True,
        source_bucket=source[1],
        valence=0.7,
    )
    say("## Three things worth keeping\n")
    await tour.call(
        "hold",
        content="妹妹下周六来住两天，要给她收拾书房，她对羽绒过敏，得买新枕头。",
        name="妹妹来住",
        domain="家庭",
        tags=["妹妹", "书房", "枕头", "过敏"],
        valence=0.8,
        arousal=0.4,
        importance=7,
    )
    await tour.call(
        "hold",
        content="The landlord will replace the boiler on the ninth; someone has to be at home between eight and noon.",
        name="New boiler",
        domain="日常",
        tags=["landlord", "boiler", "appointment"],
        valence=0.5,
        arousal=0.3,
        importance=6,
    )
    told = await tour.call(
        "hold",
        content="终于把拖了半年的体检报告看完：血脂偏高，医生建议三个月后复查。",
        name="体检报告",
        domain="健康",
        tags=["体检", "血脂", "复查"],
        valence=0.4,
        arousal=0.4,
        importance=7,
    )
    assert told
    await asyncio.to_thread(daemon.settled)
    say("## Found by a paraphrase in the other language\n")
    await tour.call("breath", query="what did the doctor say about my cholesterol?", max_results=2)
    say("## The same note, edited by hand in between\n")
    (path,) = daemon.vault.glob("dynamic/健康/体检报告_*.md")
    path.write_text(path.read_text(encoding="utf-8").replace("三个月后", "六周后"), encoding="utf-8")
    say(
        f"In Obsidian, `{path.relative_to(daemon.vault).as_posix()}` now says 六周后 instead of 三个月后. Seconds later:\n"
    )
    await asyncio.sleep(2)
    await asyncio.to_thread(daemon.settled)
    answer = await tour.call("breath", query="体检 复查", max_results=1)
    assert "六周后" in answer
    say("## Letting go\n")
    note_id = re.search(r"bucket_id:([0-9a-f]{12})", answer)
    assert note_id
    await tour.call("trace", bucket_id=note_id[1], resolved=1)
    say("## How the memory is\n")
    await tour.call("pulse", limit=5)


def main() -> None:
    say("# A morning with vaultd\n")
    say(
        "What a model and vaultd say to each other, word for word. Written by `scripts/tour.py`: it copies the sample vault,\n"
        "starts the daemon and speaks to it through the MCP Python client. No key, no network; long answers are cut.\n"
    )
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):
            daemon = stack.enter_context(demonstration(Path(scratch, "tour")))
        asyncio.run(morning(daemon))


if __name__ == "__main__":
    main()
