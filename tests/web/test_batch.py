"""Work on the whole vault over the REST API."""

from tests.web.served import served

NOTE = "---\nid: aaaaaaaaaaaa\nname: 面试\ntype: dynamic\ndomain:\n  - 未分类\n---\n简历和录用。\n"


async def test_reindex_reads_all_notes_in_the_background(tmp_path):
    async with served(tmp_path) as web:
        await web.one.write("dynamic/未分类/面试_aaaaaaaaaaaa.md", NOTE)

        assert await web.post("/api/reindex", status=202) == {"notes": 1}
        await web.one.core.pipeline.idle()

        assert not web.one.core.indexer.anew
        assert web.one.ids() == {"aaaaaaaaaaaa"}


async def test_embeddings_are_asked_for_again_where_there_is_a_model(tmp_path):
    async with served(tmp_path) as web:
        assert await web.post("/api/reindex?embeddings=true", status=202) == {"passages": 0}


async def test_without_a_model_that_is_refused(tmp_path):
    async with served(tmp_path, no_model=True) as web:
        refused = await web.post("/api/reindex?embeddings=true", status=503)

        assert refused["error"]["code"] == "index_unavailable"


async def test_memories_are_sorted_moved_and_put_back(tmp_path):
    async with served(tmp_path) as web:
        await web.one.write("dynamic/未分类/面试_aaaaaaaaaaaa.md", NOTE)

        planned = await web.post("/api/reclassify?dry_run=true")
        assert planned["steps"][0]["target"] == "dynamic/求职/面试_aaaaaaaaaaaa.md"
        done = await web.post("/api/reclassify")
        assert done["steps"] == planned["steps"]
        assert await web.get("/api/sorting") == {"done": 1, "total": 1}

        await web.post("/api/undo", {"entry": done["undo"]})
        assert web.one.read("dynamic/未分类/面试_aaaaaaaaaaaa.md") == NOTE


async def test_the_chat_model_cannot_be_asked_where_there_is_none(tmp_path):
    async with served(tmp_path) as web:
        refused = await web.post("/api/reclassify?llm=true", status=400)

        assert "llm.api_key" in refused["error"]["message"]


async def test_a_flat_folder_is_moved(tmp_path):
    async with served(tmp_path) as web:
        await web.one.write("dynamic/面试_aaaaaaaaaaaa.md", NOTE)

        done = await web.post("/api/migrate")

        assert [step["target"] for step in done["steps"]] == ["dynamic/未分类/面试_aaaaaaaaaaaa.md"]


async def test_search_names_its_words_and_a_memory_keeps_its_source(tmp_path):
    async with served(tmp_path) as web:
        kept = await web.post("/api/buckets", {"text": "the gasket", "source": "vaultd add"}, status=201)

        found = await web.get("/api/search?q=gasket")

        assert "gasket" in found["words"]
        assert [item["source"] for item in found["items"] if item["id"] == kept["id"]] == ["vaultd add"]
