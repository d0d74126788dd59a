"""Search, similar, breath-debug, network, hooks."""

from __future__ import annotations

from tests.web.served import bucket, served

A, B, C = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"
RIVER = "Walked along the river with my sister and talked about the boat"


async def three(web) -> None:
    await web.one.write("dynamic/a.md", bucket(A, RIVER, importance=7))
    await web.one.write("dynamic/b.md", bucket(B, RIVER + " again", importance=5))
    await web.one.write("dynamic/c.md", bucket(C, "Fixed the printer in the office", importance=5))
    await web.one.embedded()


async def test_search_finds_shows_why_and_counts_as_no_recall(tmp_path):
    async with served(tmp_path) as web:
        await three(web)

        found = await web.get("/api/search?q=printer")

        hit = found["items"][0]
        assert hit["id"] == C and "printer" in hit["snippet"]
        four = sum(hit["parts"][part] for part in ("topic", "emotion", "time", "importance"))
        assert abs(four - hit["parts"]["total"]) < 0.01
        assert (await web.get(f"/api/bucket/{C}"))["activation_count"] == 0
        assert (await web.get("/api/search?q=", 400))["error"]["field"] == "q"


async def test_memories_alike_are_found_by_id_by_path_and_by_text(tmp_path):
    async with served(tmp_path) as web:
        await three(web)

        by_id = await web.get(f"/api/similar?id={A}")
        by_path = await web.get("/api/similar?path=dynamic/a.md")
        by_text = await web.post("/api/similar", {"text": RIVER})

        assert by_id["items"][0]["id"] == B and by_id["items"][0]["similarity"] > 0.8
        assert by_path["items"] == by_id["items"]
        assert {one["id"] for one in by_text["items"][:2]} == {A, B}
        assert (await web.post("/api/similar", {"text": " "}, 400))["error"]["field"] == "text"


async def test_breath_debug_tells_the_fate_of_every_candidate(tmp_path):
    async with served(tmp_path) as web:
        await three(web)

        asked = await web.get("/api/breath-debug?q=printer&limit=1")
        surfacing = await web.get("/api/breath-debug")

        assert {one["id"] for one in asked["candidates"]} == {A, B, C}
        assert sum(asked["by_fate"].values()) == 3
        assert next(one for one in asked["candidates"] if one["id"] == C)["fate"] == "kept"
        assert asked["threshold"] == 50 and abs(sum(asked["most"].values()) - 100) < 0.1
        assert surfacing["mode"] == "surface" and surfacing["candidates"][0]["id"] == A


async def test_the_network_joins_what_is_alike_and_nothing_else(tmp_path):
    async with served(tmp_path) as web:
        await three(web)

        graph = await web.get("/api/network")

        names = [node["id"] for node in graph["nodes"]]
        assert {frozenset((names[one], names[other])) for one, other, _ in graph["edges"]} == {frozenset((A, B))}
        assert (graph["total"], graph["without_embedding"]) == (3, 0)
        assert len((await web.get("/api/network?limit=2"))["nodes"]) == 2
        assert (await web.get("/api/network?similarity=2", 400))["error"]["field"] == "similarity"


async def test_hooks_give_the_text_of_the_tools(tmp_path):
    async with served(tmp_path) as web:
        await three(web)

        breath = await web.client.get("/breath-hook")
        dream = await web.client.get("/dream-hook")

        assert breath.headers["content-type"].startswith("text/plain")
        assert f"[bucket_id:{A}]" in breath.text and f"[bucket_id:{A}]" in dream.text
