"""The README's road, walked by somebody new: from an empty account to the first recalled memory in a real client."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_S = 120.0


@pytest.fixture
def account(tmp_path):
    """The environment of an account that has nothing; its daemon is ended afterwards."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VAULTD_", "OMBRE_", "XDG_", "LC_", "LANG"))}
    yield kept | {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "LANG": "en_US.UTF-8"}
    for file in tmp_path.glob(".local/state/vaultd/*/runtime.json"):
        os.kill(json.loads(file.read_text())["pid"], signal.SIGTERM)
        deadline = time.monotonic() + 10
        while file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not file.exists()


def vaultd(account, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "vaultd", *args],
        env=account,
        cwd=account["HOME"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the daemon in Linux's state folder")
async def test_from_nothing_to_the_first_recalled_memory(account, tmp_path):
    vaultd(account, "init", "--vault", "Notes", "--with-base", "--yes")
    vaultd(account, "config", "client", "cursor", "--write")
    entry = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["vaultd"]

    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=account, cwd=str(tmp_path))
    async with Client(stdio_client(parameters, errlog=subprocess.DEVNULL)) as client:
        kept = await client.call_tool("hold", {"content": "The rice cooker's gasket is in the second drawer"})
        assert not kept.is_error, kept
        recalled = await client.call_tool("breath", {"query": "where is the gasket"})
    assert "second drawer" in recalled.content[0].text

    (note,) = (tmp_path / "Notes/dynamic").rglob("*.md")
    note.write_text(note.read_text().replace("second drawer", "blue box"))
    deadline = time.monotonic() + 30
    while "blue box" not in (found := vaultd(account, "search", "gasket")) and time.monotonic() < deadline:
        pass  # each look is a process, which paces the tries
    assert "blue box" in found

    assert json.loads(vaultd(account, "decay", "--dry-run", "--json"))["checked"] == 1
    assert "blue box" in vaultd(account, "hook", "session-start")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the daemon in Linux's state folder")
def test_old_notes_come_in_are_sorted_and_go_back_where_they_were(account, tmp_path):
    vaultd(account, "init", "--vault", "Notes", "--yes")
    (tmp_path / "talk.md").write_text(
        "# Bread\n\nUser: which recipe for bread?\n\nAssistant: flour, water, a day in the kitchen.\n"
    )

    assert "1 conversation" in vaultd(account, "import", "talk.md", "--mode", "notes", "--dry-run")
    assert vaultd(account, "import", "status") == "No imports yet.\n"
    assert "memories: 1 new" in vaultd(account, "import", "talk.md", "--mode", "notes", "--yes")
    (came,) = json.loads(vaultd(account, "import", "results", "--json"))
    assert came["name"] == "Bread"
    (note,) = (tmp_path / "Notes/dynamic").rglob("*.md")
    before = note.read_bytes()

    done = json.loads(vaultd(account, "reclassify", "--json"))
    assert done["steps"][0]["after"] == ["food"]
    assert not note.exists()

    vaultd(account, "undo", done["undo"])
    assert note.read_bytes() == before
    assert "1 notes read" in vaultd(account, "reindex")
