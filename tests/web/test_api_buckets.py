"""`/api/buckets` and `/api/bucket/{id}`."""

from __future__ import annotations

import pytest

from tests.web.served import bucket, served

A, B, C = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"


async def three(one) -> None:
    await one.write("dynamic/work/a.md", bucket(A, "The river walk", importance=8, domain=["work"], tags=["river"]))
    await one.write(
        "dynamic/home/b.md",
        bucket(B, "Bread and salt", importance=3, domain=["home"], created="2026-11-25T08:00:00+00:00"),
    )
    await one.write("archive/home/c.md", bucket(C, "An old bicycle", type="archived", domain=["home"]))


def ids(page: dict) -> list[str]:
    return [item["id"] for item in page["items"]]


async def test_the_archive_is_listed_only_when_asked_for(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)

        assert set(ids(await web.get("/api/buckets"))) == {A, B}
        assert ids(await web.get("/api/buckets?kind=archived")) == [C]
        assert set(ids(await web.get("/api/buckets?kind=archived,dynamic"))) == {A, B, C}


async def test_filters_narrow_the_list_and_facets_count_it(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)

        page = await web.get("/api/buckets?domain=home")
        assert ids(page) == [B]
        assert page["facets"]["domains"] == [{"name": "work", "count": 1}, {"name": "home", "count": 1}]
        assert page["facets"]["kinds"]["archived"] == 1
        assert ids(await web.get("/api/buckets?tag=river")) == [A]
        assert ids(await web.get("/api/buckets?q=bread")) == [B]
        assert ids(await web.get("/api/buckets?state=resolved")) == []


async def test_a_minus_turns_the_order_around(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)

        assert ids(await web.get("/api/buckets?sort=created")) == [B, A]
        assert ids(await web.get("/api/buckets?sort=-created")) == [A, B]
        assert ids(await web.get("/api/buckets?sort=name")) == [B, A]
        assert ids(await web.get("/api/buckets?sort=importance")) == [A, B]


@pytest.mark.parametrize("sort", ["score", "importance", "-created", "name"])
async def test_pages_hold_every_memory_once_while_the_list_changes(tmp_path, sort):
    async with served(tmp_path) as web:
        for i in range(12):
            await web.one.write(f"dynamic/x/{i}.md", bucket(f"f{i:011x}", f"note {i % 4}", importance=1 + i % 3))

        seen, cursor, path = [], "", f"/api/buckets?sort={sort}&limit=5"
        for turn in range(3):
            page = await web.get(f"{path}&cursor={cursor}")
            seen += ids(page)
            cursor = page["cursor"]
            if turn == 0:  # the memory at which the page ended is deleted meanwhile
                (web.one.vault / next(row.path for row in web.one.core.mirror.rows() if row.id == seen[-1])).unlink()
                await web.one.reconcile()

        assert sorted(seen) == [f"f{i:011x}" for i in range(12)]
        assert cursor == ""


async def test_a_wrong_parameter_is_named(tmp_path):
    async with served(tmp_path) as web:
        for path, field in (
            ("sort=age", "sort"),
            ("limit=many", "limit"),
            ("cursor=zzz", "cursor"),
            ("kind=x", "kind"),
        ):
            error = (await web.get(f"/api/buckets?{path}", 400))["error"]

            assert (error["code"], error["field"]) == ("bad_input", field)
            assert set(error) == {"code", "message", "field"}


async def test_one_memory_comes_with_its_file_and_an_etag(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)

        answer = await web.client.get(f"/api/bucket/{A}")
        data = answer.json()

        assert data["text"] == "The river walk"
        assert data["raw"] == web.one.read("dynamic/work/a.md")
        assert answer.headers["etag"] == data["etag"]
        assert (await web.get("/api/bucket/dddddddddddd", 404))["error"]["code"] == "no_such_memory"


async def test_a_change_touches_its_own_line_and_can_be_undone(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        before = web.one.read("dynamic/work/a.md")

        changed = await web.patch(f"/api/bucket/{A}", {"importance": 9})

        assert web.one.read("dynamic/work/a.md") == before.replace("importance: 8", "importance: 9")
        await web.post("/api/undo", {"entry": changed["undo"]})
        assert web.one.read("dynamic/work/a.md") == before
        assert (await web.get(f"/api/bucket/{A}"))["importance"] == 8


async def test_a_memory_that_changed_meanwhile_is_left_alone_and_both_versions_are_shown(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        known = (await web.get(f"/api/bucket/{A}"))["etag"]
        path = "dynamic/work/a.md"
        await web.one.write(path, web.one.read(path).replace("The river walk\n", "The river walk, and rain\n"))
        theirs = web.one.read(path)

        answer = await web.patch(f"/api/bucket/{A}", {"text": "Mine"}, 409, headers={"If-Match": known})

        assert web.one.read(path) == theirs
        assert answer["error"]["theirs"]["raw"] == theirs
        assert answer["error"]["yours"] == {"text": "Mine"}
        fresh = answer["error"]["theirs"]["etag"]
        await web.patch(f"/api/bucket/{A}", {"text": "Mine"}, headers={"If-Match": fresh})
        assert web.one.read(path).endswith("\n\nMine\n")


async def test_archiving_deleting_and_restoring_can_be_undone(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)

        done = await web.patch(f"/api/bucket/{A}", {"archived": True})
        assert done["kind"] == "archived"
        await web.post("/api/undo", {"entry": done["undo"]})
        assert (await web.get(f"/api/bucket/{A}"))["kind"] == "dynamic"

        gone = await web.call("DELETE", f"/api/bucket/{B}")
        assert ids(await web.get("/api/buckets")) == [A]
        await web.post("/api/undo", {"entry": gone["undo"]})
        assert set(ids(await web.get("/api/buckets"))) == {A, B}

        assert (await web.patch(f"/api/bucket/{C}", {"restore": True}))["kind"] == "dynamic"


async def test_a_pinned_memory_is_not_archived(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        await web.patch(f"/api/bucket/{A}", {"pinned": True})

        error = (await web.patch(f"/api/bucket/{A}", {"archived": True}, 400))["error"]

        assert error["field"] == "archived"


async def test_unknown_and_wrong_fields_change_nothing(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        before = web.one.read("dynamic/work/a.md")

        for body in ({"colour": "red"}, {"importance": 12}, {"valence": "high"}, {"resolved": "yes"}, {}, {"text": 5}):
            await web.patch(f"/api/bucket/{A}", body, 400)
        await web.call("PATCH", f"/api/bucket/{A}", 400, content=b"{not json")
        await web.call("PATCH", f"/api/bucket/{A}", 400, content=b"[1]")

        assert web.one.read("dynamic/work/a.md") == before


async def test_an_older_version_is_shown_and_put_back(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        await web.patch(f"/api/bucket/{A}", {"text": "A new walk"})

        versions = (await web.get(f"/api/bucket/{A}"))["history"]
        shown = await web.get(f"/api/bucket/{A}/history/{versions[0]['id']}")
        await web.post(f"/api/bucket/{A}/history/{versions[0]['id']}/revert")

        assert "-The river walk" in shown["diff"] and "+A new walk" in shown["diff"]
        assert (await web.get(f"/api/bucket/{A}"))["text"] == "The river walk"


async def test_a_new_memory_is_kept_and_says_what_was_assumed(tmp_path):
    async with served(tmp_path) as web:
        made = await web.post("/api/buckets", {"text": "Walked along the canal", "domain": "walks, water"}, 201)

        whole = await web.get(f"/api/bucket/{made['id']}")
        assert (made["outcome"], whole["domain"]) == ("new", ["walks", "water"])
        assert (await web.post("/api/buckets", {"text": "  "}, 400))["error"]["field"] == "content"


async def test_a_page_that_did_not_change_is_not_sent_again(tmp_path):
    async with served(tmp_path) as web:
        await three(web.one)
        first = await web.client.get("/api/buckets")

        again = await web.client.get("/api/buckets", headers={"If-None-Match": first.headers["etag"]})

        assert (again.status_code, again.content) == (304, b"")
        await web.patch(f"/api/bucket/{A}", {"importance": 2})
        third = await web.client.get("/api/buckets", headers={"If-None-Match": first.headers["etag"]})
        assert third.status_code == 200


async def test_a_long_list_is_sent_compressed_to_other_machines_alone(tmp_path):
    async with served(tmp_path) as web:
        for i in range(20):
            await web.one.write(f"dynamic/{i}.md", bucket(f"{i:012x}", "one of many that are much alike"))

        far = {"X-Forwarded-For": "203.0.113.7"}
        zipped = await web.client.get("/api/buckets", headers={"Accept-Encoding": "gzip", **far})
        plain = await web.client.get("/api/buckets", headers={"Accept-Encoding": "gzip"})
        asked = await web.client.get("/api/buckets", headers={"Accept-Encoding": "identity", **far})

        assert zipped.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers | asked.headers
        assert int(zipped.headers["content-length"]) < len(plain.content) / 4 and zipped.json() == plain.json()
