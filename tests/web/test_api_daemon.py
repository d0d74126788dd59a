"""Settings, health, forgetting, the active file, imports; and that nothing answers without a token."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from pathlib import Path

import pytest
from starlette.routing import Route

import vaultd.web
from tests.fakes import FakeAnalyst
from tests.web.served import bucket, served
from vaultd.core.errors import ModelRefused
from vaultd.embedding import budget_of, embedding_model
from vaultd.llm.analyst import Annotation
from vaultd.settings import KEYS, ChatModelSettings, EmbeddingSettings, Settings

A = "aaaaaaaaaaaa"
SECRET = "sk-not-to-be-seen"


def setting(data: dict, name: str) -> dict:
    return next(one for section in data["sections"] for one in section["settings"] if one["name"] == name)


async def test_every_setting_is_shown_and_no_secret(tmp_path):
    with_key = Settings(llm=ChatModelSettings(api_key=SECRET))
    async with served(tmp_path, settings=with_key) as web:
        data = await web.get("/api/config")

        assert {one["name"] for section in data["sections"] for one in section["settings"]} == set(KEYS)
        assert SECRET not in json.dumps(data)
        assert setting(data, "llm.api_key")["is_set"] and not setting(data, "gateway.api_key")["is_set"]


async def test_a_hot_setting_is_in_force_at_once(tmp_path):
    async with served(tmp_path) as web:
        data = await web.post("/api/config", {"matching.fuzzy_threshold": 70})

        assert data["changed"] == ["matching.fuzzy_threshold"]
        assert web.one.core.settings().match_weights.threshold == 70
        assert (await web.get("/api/breath-debug?q=x"))["threshold"] == 70


async def test_what_cannot_be_written_or_is_not_allowed_is_refused_by_name(tmp_path):
    async with served(tmp_path) as web:
        for values, field in (
            ({"server.port": 9000}, "server.port"),
            ({"decay.threshold": "much"}, "decay.threshold"),
            ({"matching.fuzzy_threshold": 60, "matching.nonsense": 1}, "matching.nonsense"),
        ):
            error = (await web.post("/api/config", values, 400))["error"]
            assert (error["code"], error["field"]) == ("bad_setting", field)

        assert web.one.core.settings() == dataclasses.replace(Settings(), vault=web.one.core.settings().vault)


async def test_models_are_tried_and_say_what_is_wrong(tmp_path):
    said = Annotation("By the river", ("walks",), 0.7, 0.3, ())
    async with served(tmp_path, analyst=FakeAnalyst(annotate=[said, ModelRefused("the key is wrong")])) as web:
        good = await web.post("/api/config/test", {"what": "chat"})
        bad = await web.post("/api/config/test", {"what": "chat"})
        embedding = await web.post("/api/config/test", {"what": "embedding"})

        assert good["ok"] and "By the river" in good["message"]
        assert not bad["ok"] and bad["message"] == "the key is wrong"
        assert embedding["ok"] and "64" in embedding["message"]
        await web.post("/api/config/test", {"what": "luck"}, 400)


async def test_health_names_bad_notes_with_their_line_and_what_is_fading(tmp_path):
    async with served(tmp_path) as web:
        await web.one.write("dynamic/bad.md", "---\nid: bbbbbbbbbbbb\nname: [open\n---\n\nstill found\n")
        await web.one.write("dynamic/a.md", bucket(A, "long ago", created="2026-09-01T08:00:00+00:00", importance=5))

        data = await web.get("/api/health")

        problem = data["problems"][0]
        assert problem["path"] == "dynamic/bad.md" and problem["line"] and problem["reason"]
        assert [one["id"] for one in data["forecast"]] == [A]
        assert data["spend"]["used_today"] == 0 and data["status"]["notes"] == 2


def test_no_embedding_model_is_no_fault_where_a_person_wants_none(tmp_path):
    wish = Settings(embedding=EmbeddingSettings(provider="none"))
    lacking = Settings(embedding=EmbeddingSettings(provider="openai"))

    none, broken = (embedding_model(one, budget_of(one, tmp_path)) for one in (wish, lacking))

    assert (none.embedder, none.why) == (None, "")
    assert broken.embedder is None and broken.why


async def test_forgetting_is_previewed_and_run(tmp_path):
    async with served(tmp_path) as web:
        await web.one.write("dynamic/a.md", bucket(A, "long ago", created="2026-05-01T08:00:00+00:00", importance=3))

        preview = await web.get("/api/decay/preview")
        assert preview["to_archive"] == [A] and (web.one.vault / "dynamic/a.md").exists()
        done = await web.post("/api/decay/run")

        assert (done["archived"], done["auto_resolved"]) == (1, 1)
        assert (await web.get(f"/api/bucket/{A}"))["kind"] == "archived"


async def test_the_open_note_is_active_for_two_minutes(tmp_path):
    async with served(tmp_path) as web:
        await web.post("/api/active-file", {"path": "dynamic/a.md"})

        active = web.one.core.services.active
        assert active.is_active("dynamic/a.md") and not active.is_active("dynamic/b.md")
        web.one.clock.advance(seconds=121)
        assert not active.is_active("dynamic/a.md")
        await web.post("/api/active-file", {"path": 5}, 400)


async def test_an_import_from_upload_to_review(tmp_path):
    async with served(tmp_path) as web:
        text = b"# Spring\n\nWe planted tomatoes on the balcony and named each of them.\n"
        job = await web.call("POST", "/api/import/upload?filename=spring.md", 201, content=text)
        found = await web.post(f"/api/import/{job['id']}/preflight", {"mode": "notes"})
        assert found["chunks"] == 1 and not list(web.one.vault.rglob("*.md"))

        await web.post(f"/api/import/{job['id']}/start", {"mode": "notes"}, 202)
        await web.one.core.services.importer.wait()

        status = await web.get(f"/api/import/status?job={job['id']}")
        results = (await web.get(f"/api/import/results?job={job['id']}"))["items"]
        assert status["state"] == "done" and len(results) == 1
        reviewed = await web.post("/api/import/review", {"job": job["id"], "decisions": {results[0]["id"]: "pin"}})
        assert reviewed["done"] == {results[0]["id"]: "pin"}
        assert (await web.get(f"/api/bucket/{results[0]['id']}"))["pinned"]
        assert "words" in await web.get(f"/api/import/patterns?job={job['id']}")


OPEN = {"/health", "/login"}
FOR_CONNECTORS = {"/authorize", "/register", "/token", "/revoke"}  # these ask for what only a connector has
DESCRIBED = "/.well-known/"
ANY_METHOD = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}  # of a route that names none


@pytest.mark.parametrize("public_url", ["", "http://127.0.0.1:8000"])
async def test_no_route_answers_without_the_token(tmp_path, public_url):
    async with served(tmp_path, public_url=public_url) as web:
        await web.one.write("dynamic/a.md", bucket(A, "nobody else may read this"))
        checked = 0
        for route in web.app.routes:
            if not isinstance(route, Route) or route.path in OPEN or route.path.startswith(DESCRIBED):
                continue
            path = re.sub(r"\{[^}]*\}", A, route.path)
            for method in (route.methods or ANY_METHOD) - {"HEAD"}:
                answer = await web.stranger.request(method, path, headers={"Origin": "http://127.0.0.1:8000"})
                expected = (400, 401, 403) if route.path in FOR_CONNECTORS else (401, 303)
                assert answer.status_code in expected, (method, path, answer.status_code)
                assert "nobody else" not in answer.text
                checked += 1

        assert checked > 60
        for path in (
            "/anything",
            "/mcp",
            "/mcp/",
            "/static/../api/buckets",
            "/api/buckets/",
            "//api/buckets",
            "/v1/models",
        ):
            assert (await web.stranger.get(path)).status_code in (401, 303, 404), path
            assert "nobody else" not in (await web.stranger.get(path)).text
        assert (await web.stranger.get("/health")).status_code == 200


async def test_the_description_names_every_route_of_the_api(tmp_path):
    async with served(tmp_path) as web:
        document = await web.get("/openapi.json")

        described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
        served_ = {
            (method, route.path)
            for route in web.app.routes
            if isinstance(route, Route) and route.path.startswith(("/api/", "/breath-hook", "/dream-hook"))
            for method in route.methods - {"HEAD"}
        }
        assert served_ - described == {("POST", "/api/login-link")}  # for the command line alone
        ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
        assert len(ids) == len(set(ids))
        for path, methods in document["paths"].items():
            for operation in methods.values():
                named = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
                assert named == set(re.findall(r"\{(\w+)\}", path))


async def test_an_error_of_our_own_tells_nothing_of_the_inside(tmp_path):
    async with served(tmp_path) as web:
        web.one.core.services.memory_list._mirror = None

        error = (await web.get("/api/buckets", 500))["error"]

        assert error["code"] == "internal" and "Mirror" not in error["message"]


def test_the_pages_say_the_same_in_both_languages():
    folder = Path(vaultd.web.__file__).parent / "static" / "js" / "text"

    def words(name: str) -> set[str]:
        return set(
            re.findall(
                r'(?:^|[,{\s])"?([a-z][\w.]*)"?: (?:"|\{ one)',
                (folder / name).read_text(encoding="utf-8"),
                re.MULTILINE,
            )
        )

    assert words("en.js") - {"one", "many"} == words("zh.js") - {"one", "many"}
    assert words("settings-zh.js") == set(KEYS)


def test_what_the_doctor_says_is_said_in_chinese_too():
    folder = Path(vaultd.web.__file__).parent
    chinese = (folder / "static" / "js" / "text" / "findings-zh.js").read_text(encoding="utf-8")
    sentences = {
        node.value
        for name in ("doctor.py", "surroundings.py", "conflicts.py")
        for tree in [ast.parse((folder.parent / "services" / name).read_text(encoding="utf-8"))]
        for place in ast.walk(tree)
        if isinstance(place, ast.Assign | ast.Return | ast.Yield | ast.Call)
        for node in ast.iter_child_nodes(place)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1
    }

    assert len(sentences) > 15
    assert [one for one in sentences if f'"{one}": "' not in chinese] == []
