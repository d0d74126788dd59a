"""Events that the kernel drops: the index equals the disk all the same, and the status tells what was missed."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import serving
from tests.e2e.disks import removable_disk
from tests.e2e.talk import found, said
from tests.model_server import EMBEDDING_MODEL, ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

NOTES = 60
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
EVENTS_A_SAVE = 2  # modified, closed


def configured(state, server):
    state.mkdir()
    (state / "config.yaml").write_text(
        f"embedding: {{provider: openai, base_url: '{server.url}', api_key: k, model: {EMBEDDING_MODEL}}}\n"
    )


def texts_asked(server):
    """Every text that the model was asked for, but for the daemon's own probes."""
    inputs = [asked.body["input"] for asked in server.asked if asked.path.endswith("/embeddings")]
    return [text for one in inputs for text in (one if isinstance(one, list) else [one]) if "words of note" in text]


def ready(status):
    return status["ready"] and not status["pending"] and not status["waiting"]


def overflow(vault):
    """More saves than the queue holds, into notes that are as they were at the end."""
    place = vault / "Notes/0.md"
    text = place.read_bytes()
    for _ in range(int(QUEUE.read_text()) // EVENTS_A_SAVE + 500):
        place.write_bytes(text)


@pytest.mark.skipif(sys.platform != "linux", reason="the queue and its limit are Linux's")
def test_a_kernel_queue_that_overflows_costs_no_note_and_no_embedding(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    (vault / "Notes").mkdir(parents=True)
    for number in range(NOTES):
        (vault / f"Notes/{number}.md").write_text(f"words of note {number}\n")
    with ModelServer() as server:
        configured(state, server)
        with serving(vault, state) as daemon:
            before = daemon.wait(ready)
            os.kill(daemon.process.pid, signal.SIGSTOP)
            overflow(vault)
            # nobody hears of these: the queue is full
            for number in range(5):
                (vault / f"Notes/{number}.md").write_text(f"other words of note {number}\n")
                (vault / f"Notes/{number + 10}.md").unlink()
                (vault / f"New {number}").mkdir()
                (vault / f"New {number}/{number}.md").write_text(f"new words of note {number}\n")
            (vault / "Notes/20.md").rename(vault / "moved.md")
            os.kill(daemon.process.pid, signal.SIGCONT)

            daemon.wait(lambda _: len(texts_asked(server)) == NOTES + 10)
            after = daemon.wait(ready)
            found = daemon.get("/api/doctor")["findings"]
            later = vault / "New 0/later.md"
            later.write_text("later words of note\n")
            daemon.wait(lambda status: ready(status) and status["notes"] == NOTES + 1)
        asked = texts_asked(server)
        log = (state / "daemon.log").read_text()

    assert before["missed"] == 0
    assert after["missed"] == 4 + 5 + 5 + 2  # of the first note the queue still knew
    assert after["watcher_restarts"] >= 1
    assert [one["what"][:10] for one in found if one["where"] in ("index", "watcher")] == ["16 changes"]
    assert sorted(asked) == sorted(set(asked))
    assert len(asked) == NOTES + 5 + 5 + 1
    assert "differences that no event announced" in log


def test_a_folder_that_is_moved_out_and_in_again_is_followed(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    (vault / "Notes/deep").mkdir(parents=True)
    for number in range(NOTES):
        (vault / f"Notes/deep/{number}.md").write_text(f"words of note {number}\n")
        (vault / f"{number}.md").write_text(f"root words of note {number}\n")
    with ModelServer() as server:
        configured(state, server)
        with serving(vault, state) as daemon:
            daemon.wait(ready)
            shutil.move(vault / "Notes", tmp_path / "away")
            held = daemon.wait(lambda status: status["held_deletions"])
            shutil.move(tmp_path / "away", vault / "Back")
            daemon.wait(lambda status: ready(status) and (status["held_deletions"], status["notes"]) == (0, 2 * NOTES))
            found = daemon.get("/api/doctor")["findings"]
            (vault / "Back/deep/1.md").write_text("seen words of note\n")
            daemon.wait(lambda status: ready(status) and any("seen words" in one for one in texts_asked(server)))
        asked = texts_asked(server)

    assert held["held_deletions"] == NOTES
    assert not [one for one in found if one["where"] == "index"]
    assert sorted(asked) == sorted(set(asked))


async def test_a_vault_whose_disk_is_taken_out_and_put_back_is_kept_and_followed_again(tmp_path):
    with removable_disk(tmp_path) as disk:
        vault = disk.place
        (vault / "dynamic/a").mkdir(parents=True)
        for number in range(NOTES):
            (vault / f"dynamic/a/{number}.md").write_text(f"words of note {number}\n")
        with ModelServer() as server:
            configured(tmp_path / "state", server)
            with serving(vault, tmp_path / "state") as daemon:
                daemon.wait(ready)
                async with daemon.client() as client:
                    disk.take_out()
                    refused = await client.call_tool("hold", {"content": "a thought about the harbour"})
                    kept = daemon.wait(lambda status: not status["vault_available"])
                    answer = await said(client, "breath", query="note 7")
                    left_there = list(vault.iterdir())
                    disk.put_in()
                    daemon.wait(lambda status: status["vault_available"] and ready(status))
                    (vault / "dynamic/a/1.md").write_text("a lighthouse in the words of note 1\n")
                    await found(client, "lighthouse", "a lighthouse", tries=900)
                    daemon.wait(ready)
                    again = daemon.status()
            asked = texts_asked(server)

    assert refused.is_error and "is not there" in refused.content[0].text
    assert left_there == []
    assert kept["notes"] == again["notes"] == NOTES
    assert "笔记库不可用" in answer
    assert sorted(asked) == sorted(set(asked))
