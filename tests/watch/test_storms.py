"""Storms of events, and none where some should be: the index equals the disk afterwards."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time

import pytest

from tests.running import running
from vaultd.core.errors import VaultUnavailable
from vaultd.watch.inbox import Inbox
from vaultd.watch.observer import VaultObserver

WAIT_S = 60.0


def fill(vault, count, *, folder="Notes", body="words of note"):
    (vault / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (vault / folder / f"{number}.md").write_text(f"{body} {number}\n")


async def until(condition):
    """Wait for what the watcher brings about."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.02)


async def test_a_checkout_there_and_back_computes_no_embedding_twice(tmp_path):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(tmp_path / "vault")]

    def run(*arguments):
        subprocess.run([*git, *arguments], check=True, capture_output=True)

    fill(tmp_path / "vault", 600)
    run("init", "-q", "-b", "main")
    run("add", "-A")
    run("commit", "-qm", "all")
    for number in range(500):
        (tmp_path / f"vault/Notes/{number}.md").write_text(f"other words {number}\n")
    run("commit", "-qam", "other")
    async with running(tmp_path, watch=True) as r:
        await r.embedded()
        run("checkout", "-q", "HEAD~1")
        await until(lambda: r.core.pipeline.counters.applied >= 1100)
        await r.core.pipeline.idle()
        await r.embedded()
        asked = len(r.embedder.passages)

        run("checkout", "-q", "main")
        await until(lambda: r.core.pipeline.counters.applied >= 1600)
        await r.core.pipeline.idle()
        await r.embedded()

        assert not await asyncio.to_thread(r.core.compare)
        assert len(r.embedder.passages) == asked == 1100


@pytest.mark.parametrize("ours", [True, False], ids=["memories", "own notes"])
async def test_a_renamed_folder_is_no_mass_deletion(tmp_path, ours):
    source, target = ("dynamic/a", "dynamic/b") if ours else ("A", "B")
    fill(tmp_path / "vault", 120, folder=source)
    async with running(tmp_path, watch=True) as r:
        await r.embedded()
        asked = len(r.embedder.passages)

        (r.vault / source).rename(r.vault / target)
        await until(lambda: sum(row.path.startswith(target) for row in r.core.mirror.rows()) == 120)
        await until(lambda: not any(row.path.startswith(source) for row in r.core.mirror.rows()))
        await r.core.pipeline.idle()
        await r.embedded()

        assert r.core.pipeline.held_deletions == 0
        assert len(r.ids()) == 120
        assert len(r.embedder.passages) == asked


async def test_most_notes_gone_at_once_are_kept_until_the_person_confirms(tmp_path):
    fill(tmp_path / "vault", 120)
    async with running(tmp_path) as r:
        for number in range(100):
            (r.vault / f"Notes/{number}.md").unlink()
        await r.reconcile()
        held, kept = r.core.pipeline.held_deletions, len(r.ids())
        confirmed = r.core.pipeline.confirm_deletions()
        await r.core.pipeline.idle()

        assert (held, kept, confirmed) == (100, 120, 100)
        assert r.core.pipeline.vault_available
        assert len(r.ids()) == 20


async def test_notes_that_come_back_need_no_confirmation(tmp_path):
    fill(tmp_path / "vault", 120)
    async with running(tmp_path) as r:
        (r.vault / "Notes").rename(tmp_path / "away")
        (r.vault / "other.md").write_text("still here\n")
        await r.reconcile()
        held = r.core.pipeline.held_deletions
        (tmp_path / "away").rename(r.vault / "Notes")
        await r.look(*(f"Notes/{number}.md" for number in range(120)))
        await r.core.pipeline.idle()

        assert held == 120
        assert r.core.pipeline.held_deletions == 0
        assert len(r.ids()) == 121


async def test_a_vault_that_is_unmounted_loses_nothing_and_is_there_again(tmp_path):
    fill(tmp_path / "vault", 60)
    async with running(tmp_path) as r:
        away = tmp_path / "away"
        r.vault.rename(away)
        with pytest.raises(VaultUnavailable):
            await asyncio.to_thread(r.core.compare)
        with pytest.raises(VaultUnavailable):
            await r.look("Notes/1.md")
        gone = r.core.pipeline.vault_available
        away.rename(r.vault)
        await r.core.pipeline.idle()

        assert not gone
        assert r.core.pipeline.vault_available
        assert len(r.ids()) == 60
        assert not await asyncio.to_thread(r.core.compare)


def watching(vault):
    """An observer over a vault, and the inbox it fills."""
    inbox, lost = Inbox(), threading.Event()
    observer = VaultObserver(vault, inbox, is_note=lambda p: p.endswith(".md"), is_folder=lambda p: True, lost=lost.set)
    return observer, inbox, lost


def hears(inbox, path):
    """Whether a touch of a path arrives within a while."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if any(touch.path == path for touch in inbox.take()):
            return True
        threading.Event().wait(0.01)
    return False


def test_a_watcher_that_ended_is_noticed_and_watches_again(tmp_path):
    observer, inbox, _ = watching(tmp_path)
    observer.start()
    for emitter in list(observer._observer.emitters):
        emitter.stop()
        emitter.join(5)
    alive = observer.alive

    observer.restart()
    (tmp_path / "a.md").write_text("a\n")

    assert not alive
    assert observer.alive
    assert hears(inbox, "a.md")
    observer.stop()


def test_a_moved_folder_asks_for_a_fresh_watch(tmp_path):
    observer, inbox, lost = watching(tmp_path)
    (tmp_path / "one").mkdir()
    observer.start()

    (tmp_path / "one").rename(tmp_path / "two")
    heard = hears(inbox, "two")

    assert heard
    assert lost.is_set()
    observer.stop()


def test_folders_made_and_filled_at_once_are_heard(tmp_path):
    observer, inbox, _ = watching(tmp_path)
    observer.start()

    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/deep.md").write_text("deep\n")

    deadline, seen = time.monotonic() + 10, set()
    while time.monotonic() < deadline and not seen & {"a", "a/b", "a/b/c", "a/b/c/deep.md"}:
        seen |= {touch.path for touch in inbox.take()}
        threading.Event().wait(0.01)
    assert seen & {"a", "a/b", "a/b/c", "a/b/c/deep.md"}
    observer.stop()
