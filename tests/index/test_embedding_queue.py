import asyncio
import threading

from tests.fakes import FakeEmbedder
from tests.running import running
from vaultd.core.errors import ModelBadAnswer, ModelBusy
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision


class OtherEmbedder(FakeEmbedder):
    name = "other/1"


async def test_another_model_embeds_everything_anew_and_the_old_vectors_wait(tmp_path):
    first, second, again = FakeEmbedder(), OtherEmbedder(), FakeEmbedder()
    async with running(tmp_path, embedder=first) as r:
        await r.core.services.remember(NewMemory("the boiler man comes at nine"))
        await r.embedded()
    async with running(tmp_path, embedder=second) as r:
        await r.embedded()
        assert second.passages == ["the boiler man comes at nine"]
        assert r.core.queue.pending == 0
    async with running(tmp_path, embedder=again) as r:
        await r.embedded()
        assert again.passages == []


async def test_notes_indexed_without_a_model_are_embedded_when_there_is_one(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.core.services.remember(NewMemory("the boiler man comes at nine"))
    embedder = FakeEmbedder()
    async with running(tmp_path, embedder=embedder) as r:
        await r.embedded()
        assert embedder.passages == ["the boiler man comes at nine"]


async def test_moves_and_changed_properties_never_call_the_model(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the boiler man comes at nine", name="boiler"))
        await r.embedded()
        asked = list(r.embedder.passages)

        await r.core.services.revise(kept.id, Revision(importance=9, tags=("heat",), name="the boiler"))
        await r.core.services.revise(kept.id, Revision(pinned=True))
        path = r.core.mirror.get(kept.id).path
        (r.vault / path).rename(r.vault / "permanent" / "moved by hand.md")
        await r.look(path, "permanent/moved by hand.md")
        (r.vault / "permanent" / "moved by hand.md").unlink()
        await r.look("permanent/moved by hand.md")
        await r.write("dynamic/back.md", f"---\nid: {kept.id}\n---\nthe boiler man comes at nine\n")
        await r.embedded()

        assert r.embedder.passages == asked
        assert r.core.queue.pending == 0


async def test_a_busy_model_is_asked_again_and_the_texts_are_found_by_words_meanwhile(tmp_path):
    async with running(tmp_path) as r:
        r.embedder.error = ModelBusy("slow down", retry_after_s=0.05)
        await r.core.services.remember(NewMemory("the boiler man comes at nine"))
        while not r.core.queue.problem:
            await r.reconcile()
        assert r.core.queue.pending == 1
        assert r.core.mirror.word_scores({"boiler": 1.0}).scores.any()

        r.embedder.error = None
        await r.embedded()

        assert r.core.queue.pending == 0
        assert r.core.queue.problem == ""


async def test_a_text_that_the_model_cannot_take_does_not_hold_up_the_others(tmp_path):
    class Stumbling(FakeEmbedder):
        def embed_passages(self, texts):
            if any("poison" in text for text in texts):
                raise ModelBadAnswer("NaN in the answer")
            return super().embed_passages(texts)

    async with running(tmp_path, embedder=Stumbling(), no_model=False) as r:
        for text in ("good one", "poison", "another good one"):
            await r.write(f"dynamic/{text}.md", text)
        while len(r.embedder.passages) < 2:
            await r.reconcile()

        assert sorted(r.embedder.passages) == ["another good one", "good one"]
        assert r.core.mirror.word_scores({"poison": 1.0}).scores.any()


async def test_the_centring_is_fitted_to_the_vault_as_it_grows_and_at_the_next_start(tmp_path):
    fitted = []

    def fit(vectors, shares):
        fitted.append(len(vectors))
        mean = vectors.mean(axis=0)
        return lambda some, _: some - mean

    async with running(tmp_path, fit=fit) as r:
        for i in range(30):
            await r.write(f"dynamic/{i}.md", f"note number{i}")
        await r.embedded()
        keys = [ref.key for slot in range(30) for ref in r.core.mirror.passages(slot)]
        total = sum(r.core.mirror.vectors.vector(key) for key in keys)

    assert fitted[0] >= 20
    async with running(tmp_path, fit=fit) as r:
        assert fitted[-1] == 30
        again = sum(r.core.mirror.vectors.vector(key) for key in keys)
        assert abs(again).max() < 1e-4  # all thirty less their mean
    assert abs(total).max() < 3  # the first thirty less the mean of those that were there


class Gated(FakeEmbedder):
    """Says nothing until it is let go."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()

    def embed_passages(self, texts):
        self.gate.wait(30)
        return super().embed_passages(texts)


async def test_a_note_that_was_away_when_its_turn_came_is_embedded_when_it_is_back(tmp_path):
    gated = Gated()
    async with running(tmp_path, embedder=gated) as r:
        await r.write("dynamic/first.md", "this one keeps the model busy\n")
        await r.write("dynamic/away.md", "a note that goes and comes back\n")
        (r.vault / "dynamic/away.md").rename(tmp_path / "elsewhere.md")
        gated.gate.set()
        assert not await asyncio.to_thread(r.core.queue.wait_idle, 1)

        (tmp_path / "elsewhere.md").rename(r.vault / "dynamic/away.md")
        await r.look("dynamic/away.md")
        await r.embedded()

        assert r.core.queue.pending == 0
