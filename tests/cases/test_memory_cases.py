"""Faults that people met in tools of this kind, about memories; those of the vault's files are beside this file."""

import asyncio
import dataclasses
import threading
import time

from tests.fakes import FakeEmbedder
from tests.model_server import ModelServer
from tests.running import running
from vaultd.core.query import Query
from vaultd.embedding import embedding_model
from vaultd.llm.budget import RequestBudget
from vaultd.llm.local import LocalEmbedder
from vaultd.services.newmemory import NewMemory
from vaultd.services.remember import Outcome
from vaultd.settings import ChatModelSettings, Settings


def test_a_chat_model_without_an_embedding_model_leaves_embeddings_to_the_built_in_one(tmp_path):
    with ModelServer() as server:
        chat = ChatModelSettings(base_url=server.url, api_key="key", model="m")
        settings = dataclasses.replace(Settings(), llm=chat)

        model = embedding_model(settings, RequestBudget(tmp_path / "b.json", 0, today=lambda: None))
        vector = model.embedder.embed_query("where is the key?")

        assert isinstance(model.embedder, LocalEmbedder)
        assert vector.shape == (384,)
        assert server.asked == []


class Slow(FakeEmbedder):
    """A provider that answers when it is let go."""

    def __init__(self):
        super().__init__()
        self.let_go = threading.Event()

    def embed_passages(self, texts):
        self.let_go.wait(60)
        return super().embed_passages(texts)


async def test_hold_answers_at_once_while_the_embedding_provider_takes_its_time(tmp_path):
    slow = Slow()
    async with running(tmp_path, embedder=slow) as r:
        begun = time.monotonic()
        first = await r.core.services.remember(NewMemory("the plumber comes on the fourth"))
        taken = time.monotonic() - begun
        second = await r.core.services.remember(NewMemory("the plumber comes on the fourth"))
        found = await r.core.services.answer(Query.parse("plumber"))

        assert taken < 5  # of 60; on an idle machine under one second
        assert second.outcome is Outcome.SAME
        assert second.id == first.id
        assert [hit.bucket.id for hit in found.hits] == [first.id]
        slow.let_go.set()
        await r.embedded()
        assert r.core.queue.pending == 0


async def test_a_word_at_the_end_of_a_long_note_is_found_by_word_and_by_meaning(tmp_path):
    async with running(tmp_path) as r:
        filler = "\n\n".join(f"Paragraph {i} tells of ordinary weather and ordinary walks." for i in range(520))
        assert len(filler) > 30_000
        await r.write("dynamic/x/long.md", f"---\nid: aaaaaaaaaaaa\n---\n{filler}\n\nThe zeppelin landed at dusk.\n")
        await r.write("dynamic/x/other.md", "---\nid: bbbbbbbbbbbb\n---\nA note about bread.\n")
        await r.embedded()

        by_word = await r.core.services.answer(Query.parse("zeppelin"))
        passages = r.core.mirror.passages(r.core.mirror.slot_of("aaaaaaaaaaaa"))
        vector = await r.core.services.meaning.of("The zeppelin landed at dusk.")
        cosines = r.core.mirror.meaning(vector)

        assert by_word.hits[0].bucket.id == "aaaaaaaaaaaa"
        assert "zeppelin landed at dusk" in by_word.hits[0].text
        assert len(passages) > 10
        assert cosines.argmax() == r.core.mirror.slot_of("aaaaaaaaaaaa")


async def test_the_same_text_held_twice_at_the_same_moment_is_one_memory(tmp_path):
    async with running(tmp_path) as r:
        kept = await asyncio.gather(
            *(r.core.services.remember(NewMemory("one and the same thought about the sea")) for _ in range(5))
        )

        assert len({one.id for one in kept}) == 1
        assert [one.outcome for one in kept].count(Outcome.NEW) == 1
        assert len(list(r.vault.rglob("*.md"))) == 1
