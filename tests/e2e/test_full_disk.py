"""A disk that is full, or read-only, under a running daemon: a clear error, nothing lost, and it goes on by itself."""

import contextlib
import json
import subprocess
import urllib.error

import pytest

from tests.e2e.daemon import serving
from tests.e2e.disks import small_disk
from tests.e2e.talk import found, refused, said

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

NOTE = (
    "---\nid: a1b2c3d4e5f6\nname: walk\ntype: dynamic\ndomain: [日常]\ntags: [a]\nimportance: 5\n"
    "created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-17T12:00:00+00:00\n---\nalong the river\n"
)
PLACE = "dynamic/日常/walk.md"
CONFIG = "embedding: {provider: none}\njournal: {quiet_s: 0, project_every: 0}\n"


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "4m") as place:
        yield place


def fill(disk):
    """Take all the room; what gives it back."""
    stuffing = disk / "stuffing.bin"
    with contextlib.suppress(OSError), stuffing.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return stuffing


def everything(vault):
    """All files but vaultd's own ledgers."""
    return {
        place.relative_to(vault).as_posix(): place.read_bytes()
        for place in vault.rglob("*")
        if place.is_file() and ".vaultd" not in place.parts
    }


@pytest.fixture
def at(disk, tmp_path):
    vault, state = disk / "vault", tmp_path / "state"
    (vault / PLACE).parent.mkdir(parents=True)
    (vault / PLACE).write_text(NOTE)
    state.mkdir()
    (state / "config.yaml").write_text(CONFIG)
    return vault, state


async def refuses_everything(daemon, client, vault, reason):
    """Each tool that writes says why it can't, reading goes on, and no byte of the vault changes."""
    before = everything(vault)
    assert reason in await refused(client, "hold", content="a new thought about the harbour " * 400)
    assert reason in await refused(client, "trace", bucket_id="a1b2c3d4e5f6", content="longer " * 2000)
    assert reason in await refused(client, "trace", bucket_id="a1b2c3d4e5f6", pinned=1)
    assert "along the river" in await said(client, "breath", query="river")
    findings = daemon.get("/api/doctor")["findings"]
    assert [one["where"] for one in findings if one["level"] == "error"] == ["vault"]
    with pytest.raises(urllib.error.HTTPError) as told:
        daemon.get("/api/doctor/fix", method="POST")
    assert reason in json.load(told.value)["error"]["message"]
    assert everything(vault) == before


async def works_again(daemon, client, vault):
    told = await said(client, "hold", content="a new thought about the lantern", domain="日常")
    await said(client, "trace", bucket_id="a1b2c3d4e5f6", pinned=1)
    assert "lantern" in await found(client, "lantern", "a new thought")
    daemon.get("/api/doctor/fix", method="POST")  # a round of housekeeping, as comes by itself every half minute
    text = next(vault.glob("permanent/**/walk.md")).read_text()
    findings = daemon.get("/api/doctor")["findings"]
    assert told
    assert text.endswith("---\nalong the river\n")
    assert "activation_count: 1\n" in text
    assert not list(vault.rglob(".vaultd-*.tmp"))
    assert not [one for one in findings if one["level"] == "error" or "can't be read" in one["what"]], findings


async def test_a_full_disk_refuses_in_clear_words_and_takes_everything_once_there_is_room(disk, at):
    vault, state = at
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        async with daemon.client() as client:
            stuffing = fill(disk)
            await refuses_everything(daemon, client, vault, "No space left on device")
            stuffing.unlink()
            await works_again(daemon, client, vault)


async def test_a_read_only_disk_likewise(disk, at):
    vault, state = at
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        async with daemon.client() as client:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            await refuses_everything(daemon, client, vault, "Read-only file system")
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            await works_again(daemon, client, vault)


async def test_where_the_index_finds_no_room_notes_are_written_and_found_all_the_same(tmp_path, disk):
    vault, state = tmp_path / "vault", disk / "state"
    (vault / PLACE).parent.mkdir(parents=True)
    (vault / PLACE).write_text(NOTE)
    state.mkdir()
    (state / "config.yaml").write_text(CONFIG)
    with serving(vault, state, log=tmp_path / "daemon.log") as daemon:
        daemon.wait(lambda status: status["ready"])
        async with daemon.client() as client:
            stuffing = fill(disk)
            await said(client, "hold", content="a new thought about the lantern " * 40)
            full = daemon.wait(lambda status: status["index_problem"])
            during = await said(client, "breath", query="lantern")
            told = [one for one in daemon.get("/api/doctor")["findings"] if one["where"] == "index"]
            stuffing.unlink()
            daemon.wait(lambda status: not status["index_problem"])
    with serving(vault, state, log=tmp_path / "daemon.log") as daemon:
        again = daemon.wait(lambda status: status["ready"])

    assert "the disk is full" in full["index_problem"]
    assert "a new thought about the lantern" in during
    assert [one["what"] for one in told] == [full["index_problem"]]
    assert again["notes"] == 2
