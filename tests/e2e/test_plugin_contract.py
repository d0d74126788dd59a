"""The Obsidian plugin's own client, out of the build that we ship, against a real daemon."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, serving

NODE = shutil.which("node")
MAIN_JS = Path(str(files("vaultd") / "data" / "obsidian-plugin" / "main.js"))
DRIVER = Path(__file__).with_name("plugin_contract.cjs")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None, reason="the plugin's client needs Node to run outside Obsidian"),
]


class Plugin:
    """The plugin's client in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, method: str, *args: object) -> dict:
        """What a method of the client comes to: `value`, or `failing` with a `message`."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([method, *args]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def get(self, method: str, *args: object) -> object:
        """The value of a method that must not fail."""
        answer = self.ask(method, *args)
        assert "value" in answer, answer
        return answer["value"]


@contextmanager
def plugin(url: str, token: str) -> Iterator[Plugin]:
    """The client, pointed at a daemon."""
    assert NODE
    command = [NODE, str(DRIVER), str(MAIN_JS), url, token]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Plugin(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.fixture
def daemon(tmp_path_factory) -> Iterator[Daemon]:
    root = tmp_path_factory.mktemp("plugin")
    with serving(root / "vault", root / "state") as running:
        yield running


@pytest.fixture
def client(daemon) -> Iterator[Plugin]:
    with plugin(daemon.url, daemon.token) as running:
        yield running


def kept(daemon: Daemon, text: str, name: str) -> dict:
    """A memory written as a file, as a person would: nothing is merged into it."""
    path = f"dynamic/{name}.md"
    note_id = hashlib.sha256(name.encode()).hexdigest()[:12]
    (daemon.vault / "dynamic").mkdir(exist_ok=True)
    (daemon.vault / path).write_text(f"---\nid: '{note_id}'\nname: {name}\n---\n{text}\n", encoding="utf-8")
    daemon.wait(lambda _: any(one["id"] == note_id for one in daemon.get("/api/buckets")["items"]))
    daemon.wait(lambda status: status["pending"] == 0)
    return {"id": note_id, "path": path}


def test_status_and_trouble_of_a_calm_vault_are_understood(daemon, client):
    status = daemon.wait(lambda status: status["ready"])

    known = client.get("status")

    assert client.get("health") == status["version"]
    assert known["ready"] is True and known["vaultAvailable"] is True
    assert known["vault"] == str(daemon.vault)
    assert (known["waiting"], known["problems"], known["heldDeletions"]) == (0, 0, 0)
    assert client.get("trouble") == []


def test_notes_with_conflict_markers_and_conflict_copies_are_trouble(daemon, client):
    bad = daemon.vault / "dynamic" / "torn.md"
    copy = daemon.vault / "torn (conflicted copy 2026-05-17).md"
    bad.parent.mkdir(exist_ok=True)
    bad.write_text("one\n<<<<<<< ours\ntwo\n=======\nthree\n>>>>>>> theirs\n", encoding="utf-8")
    copy.write_text("two\n", encoding="utf-8")
    try:
        daemon.wait(lambda status: status["problems"] == 1)

        assert "dynamic/torn.md" in {one["path"] for one in client.get("trouble")}
        assert client.get("status")["problems"] == 1
    finally:
        bad.unlink()
        copy.unlink()
        daemon.wait(lambda status: status["problems"] == 0)


def test_a_memory_is_found_by_search_by_its_path_and_by_a_text(daemon, client):
    plum = kept(daemon, "The plum tree by the gate has to be pruned before the frost.", "plum")
    pear = kept(daemon, "Pear and plum trees are pruned in February, on a dry day.", "pear")

    hits = client.get("search", "prune the plum tree")
    alike = client.get("similarToNote", plum["path"])
    written = client.get("similarToText", "When do I cut the fruit trees?")

    assert {hit["id"] for hit in hits} >= {plum["id"], pear["id"]}
    assert "pruned" in hits[0]["snippet"]
    assert alike["id"] == plum["id"]
    assert [one["path"] for one in alike["items"]] == [pear["path"]]
    assert 0 < alike["items"][0]["similarity"] <= 1
    assert {one["id"] for one in written} == {plum["id"], pear["id"]}


def test_pin_resolve_and_restore_reach_the_file(daemon, client):
    memory = kept(daemon, "Return the ladder to the neighbour.", "ladder")

    assert client.get("change", memory["id"], {"resolved": True})["name"] == "ladder"
    assert daemon.get(f"/api/bucket/{memory['id']}")["resolved"] is True

    pinned = client.get("change", memory["id"], {"pinned": True})
    assert pinned["path"].startswith("permanent/")
    assert "pinned: true" in (daemon.vault / pinned["path"]).read_text(encoding="utf-8")

    client.get("change", memory["id"], {"pinned": False})
    archived = daemon.get(f"/api/bucket/{memory['id']}", method="PATCH", body={"archived": True})
    assert archived["path"].startswith("archive/")
    assert client.get("change", memory["id"], {"restore": True})["path"].startswith("dynamic/")


def test_the_open_note_is_told(daemon, client):
    client.get("activeFile", "dynamic/plan.md")

    active = daemon.get("/api/active-file", method="POST", body={"path": None})

    assert "dynamic/plan.md" in active["active"]


def test_the_link_to_the_dashboard_logs_in(daemon, client):
    link = client.get("loginLink")

    assert link.startswith(f"{daemon.url}/login?code=")


def test_an_unknown_note_a_wrong_token_and_nobody_at_the_port_are_told_apart(daemon, client):
    assert client.ask("similarToNote", "nowhere.md")["failing"] == "missing"
    with plugin(daemon.url, "wrong") as stranger:
        assert stranger.ask("status")["failing"] == "token"
        assert "value" in stranger.ask("health")
    with plugin("http://127.0.0.1:9", daemon.token) as lonely:
        assert lonely.ask("status")["failing"] == "offline"


def test_a_refusal_carries_the_daemons_words(client):
    refused = client.ask("search", "")

    assert refused == {"failing": "refused", "message": "q: say what to look for"}
