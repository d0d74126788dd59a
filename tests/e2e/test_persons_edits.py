"""What a person does to notes in Obsidian, seen by a running daemon: a new note, a pin, a copy, a move, a deletion."""

import os
import re
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.daemon import serving
from tests.e2e.talk import found, said

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

CONFIG = "embedding: {provider: none}\njournal: {quiet_s: 0, project_every: 0}\n"  # nothing waits for quiet
NOTE = (
    "---\nid: {id}\nname: {name}\ntype: {kind}\ndomain: [日常]\ntags: [a]  # mine\nimportance: 5\nmood: 'fine'\n"
    "created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-17T12:00:00+00:00\n---\n{body}\n"
)


def put(vault, path, text):
    place = vault / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


def a_note(name, body, kind="dynamic"):
    return NOTE.format(id=name.encode().hex().ljust(12, "0")[:12], name=name, kind=kind, body=body)


@pytest.fixture
def daemon(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    state.mkdir()
    (state / "config.yaml").write_text(CONFIG)
    put(vault, "dynamic/日常/walk.md", a_note("walk", "along the river"))
    put(vault, "dynamic/日常/bread.md", a_note("bread", "flour and salt"))
    put(vault, "archive/日常/old.md", a_note("old", "the lantern", kind="archived"))
    with serving(vault, state) as started:
        started.wait(lambda status: status["ready"])
        yield started


def listed(daemon):
    items = daemon.get("/api/buckets?limit=200")["items"]
    return {item["path"]: item for item in items}


def when(daemon, condition):
    """The list of memories once it fulfils a condition."""
    seen = []

    def met(_):
        seen[:] = [listed(daemon)]
        return condition(seen[0])

    daemon.wait(met)
    return seen[0]


def keep_house(daemon):
    """A round, as comes by itself every half minute."""
    daemon.get("/api/doctor/fix", method="POST")
    return listed(daemon)


async def test_a_new_note_is_a_memory_at_once_and_gets_its_properties_when_quiet(daemon):
    text = "---\nmine: 1 # why\n---\nsaw a heron today\n"
    place = put(daemon.vault, "dynamic/birds/heron.md", text)
    async with daemon.client() as client:
        answer = await found(client, "heron", "saw a heron today")
        before = place.read_text()
    after = keep_house(daemon)["dynamic/birds/heron.md"]

    assert "heron" in answer
    assert before == text
    lines = place.read_text().split("\n")
    assert lines[1] == "mine: 1 # why"
    assert f"id: {after['id']}" in lines and "type: dynamic" in lines
    assert place.read_text().endswith("---\nsaw a heron today\n")
    assert re.fullmatch(r"[0-9a-f]{12}", after["id"])


async def test_a_card_that_was_written_by_hand_gets_a_number(daemon):
    place = put(daemon.vault, "cards/tea.md", "---\ntopic: [tea]\ntype: preference\nimportance: 6\n---\nno sugar\n")
    daemon.wait(lambda _: daemon.get("/api/cards")["cards"])
    keep_house(daemon)
    daemon.wait(lambda _: "id:" in place.read_text())
    (card,) = daemon.get("/api/cards")["cards"]

    assert re.fullmatch(r"\d{8}-\d{3}", card["id"])
    assert f"id: {card['id']}\n" in place.read_text()
    assert place.read_text().endswith("---\nno sugar\n")


async def test_pinned_typed_by_a_person_pins(daemon):
    place = daemon.vault / "dynamic/日常/walk.md"
    place.write_text(place.read_text().replace("tags:", "pinned: true\ntags:"))
    when(daemon, lambda items: items["dynamic/日常/walk.md"]["pinned"])
    after = keep_house(daemon)
    (path,) = (path for path, item in after.items() if item["name"] == "walk")

    assert path.startswith("permanent/")
    assert after[path]["importance"] == 10
    text = (daemon.vault / path).read_text()
    assert "importance: 10\n" in text and "tags: [a]  # mine\n" in text and "mood: 'fine'\n" in text


async def test_dragged_out_of_the_archive_a_memory_is_alive_again(daemon):
    (daemon.vault / "archive/日常/old.md").rename(daemon.vault / "dynamic/日常/old.md")
    when(daemon, lambda items: "dynamic/日常/old.md" in items and "archive/日常/old.md" not in items)
    after = keep_house(daemon)["dynamic/日常/old.md"]
    text = (daemon.vault / "dynamic/日常/old.md").read_text()

    assert after["kind"] == "dynamic"
    assert "type: dynamic\n" in text
    active = datetime.fromisoformat(re.search(r"last_active: (\S+)", text)[1])
    assert datetime.now(UTC) - active < timedelta(minutes=2)


async def test_deleted_and_brought_back_a_memory_has_its_id_and_its_recalls(daemon):
    place = daemon.vault / "dynamic/日常/bread.md"
    raw = place.read_bytes()
    async with daemon.client() as client:
        await said(client, "breath", query="flour salt")
    before = listed(daemon)["dynamic/日常/bread.md"]
    place.unlink()
    when(daemon, lambda items: "dynamic/日常/bread.md" not in items)
    place.write_bytes(raw)
    after = when(daemon, lambda items: "dynamic/日常/bread.md" in items)["dynamic/日常/bread.md"]

    assert before["activation_count"] == after["activation_count"] == 1
    assert before["id"] == after["id"]


async def test_a_copy_gets_an_id_of_its_own_and_the_note_that_was_known_keeps_its(daemon):
    before = listed(daemon)["dynamic/日常/walk.md"]["id"]
    shutil.copy(daemon.vault / "dynamic/日常/walk.md", daemon.vault / "dynamic/日常/a walk.md")
    when(daemon, lambda items: "dynamic/日常/a walk.md" in items)
    after = keep_house(daemon)

    assert after["dynamic/日常/walk.md"]["id"] == before
    own = after["dynamic/日常/a walk.md"]["id"]
    assert own != before
    assert f"id: {own}\n" in (daemon.vault / "dynamic/日常/a walk.md").read_text()


async def test_a_folder_that_is_moved_keeps_ids_and_is_followed_further(daemon):
    before = {item["id"] for item in listed(daemon).values()}
    (daemon.vault / "dynamic/日常").rename(daemon.vault / "dynamic/life")
    when(daemon, lambda items: {"dynamic/life/walk.md", "dynamic/life/bread.md"} <= items.keys())
    with (daemon.vault / "dynamic/life/walk.md").open("a") as file:
        file.write("and over the bridge\n")
        os.fsync(file.fileno())
    async with daemon.client() as client:
        answer = await found(client, "bridge", "over the bridge")
    after = keep_house(daemon)

    assert {item["id"] for item in after.values()} == before
    assert answer
