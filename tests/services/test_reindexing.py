import pytest

from tests.running import running, snapshot
from vaultd.core.errors import IndexUnavailable, ModelUnavailable

NOTE = "---\nid: aaaaaaaaaaaa\nname: gasket\n---\nThe gasket is in the drawer.\n"


async def test_every_note_is_read_again_and_a_damaged_index_says_what_the_files_say(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/home/gasket_aaaaaaaaaaaa.md", NOTE)
        await one.embedded()
        before = snapshot(one.core)
        one.core.mirror.body_words.remove(one.core.mirror.slot_of("aaaaaaaaaaaa"))
        assert one.core.mirror.body_words.frequency("drawer") == 0

        count = await one.core.services.reindexing()
        await one.core.pipeline.idle()

        assert count == 1
        assert one.core.mirror.body_words.frequency("drawer") == 1
        assert snapshot(one.core) == before
        assert not one.core.indexer.anew


async def test_what_has_no_embedding_is_asked_for_again(tmp_path):
    async with running(tmp_path) as one:
        one.embedder.error = ModelUnavailable("gone")
        await one.write("dynamic/home/gasket_aaaaaaaaaaaa.md", NOTE)

        assert one.core.services.reindexing.embeddings() == 1


async def test_without_a_model_there_are_no_embeddings_to_ask_for(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        with pytest.raises(IndexUnavailable, match="embeddings are off"):
            one.core.services.reindexing.embeddings()


async def test_a_dry_run_counts_and_reads_nothing(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/home/gasket_aaaaaaaaaaaa.md", NOTE)
        await one.embedded()

        assert await one.core.services.reindexing(dry_run=True) == 1
        assert one.core.services.reindexing.embeddings(dry_run=True) == 0
        assert not one.core.indexer.anew
        assert not one.core.pipeline.waiting
