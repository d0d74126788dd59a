"""A core over a vault of cards, for what measures them; figures printed and kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from vaultd.compose import compose
from vaultd.core.properties import moment_text
from vaultd.engine import Core
from vaultd.settings import Settings
from vaultd.vault import codec

DATA = Path(__file__).parents[1] / "tests" / "data"


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def write_cards(vault: Path, cards: list[dict], created: datetime) -> None:
    (vault / "cards").mkdir(parents=True)
    for number, card in enumerate(cards):
        card_id = f"20261130-{number + 1:03d}"
        record = {
            "id": card_id,
            "topic": card["topic"],
            "type": card["type"],
            "tags": card["tags"],
            "importance": card["importance"],
            "created_at": moment_text(created),
            "updated_at": moment_text(created),
        }
        (vault / "cards" / f"{card_id}.md").write_bytes(codec.new_note(record, card["content"] + "\n"))


@asynccontextmanager
async def opened(settings: Settings, state: Path) -> AsyncIterator[Core]:
    """A core without a daemon around it, its index open and what it does at work; ended well."""
    core = compose(settings, state, clock=lambda: datetime.now(UTC))
    consumer = asyncio.create_task(core.pipeline.run())
    try:
        await asyncio.to_thread(core.open_index)
        core.pipeline.put_all((await asyncio.to_thread(core.compare)).paths)
        await core.pipeline.idle()
        yield core
    finally:
        consumer.cancel()
        await core.services.gateway.close()
        await asyncio.to_thread(core.close)


def told(figures: dict, place: Path | None) -> None:
    """Print figures, and write them to a file where one is named."""
    text = json.dumps(figures, indent=2)
    print(text)
    if place:
        place.write_text(text)
