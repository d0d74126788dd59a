"""Recalls are counted without writing a note, survive a restart, and reach the notes when they are due."""

import json
import time

import pytest

from tests.e2e.daemon import serving
from tests.e2e.talk import said

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

NOTES = 20


def fill(vault):
    for number in range(NOTES):
        place = vault / f"dynamic/日常/{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        day = f"2026-{1 + number // 2:02d}-{1 + 14 * (number % 2):02d}"  # far apart: no recall ripples to another
        place.write_text(
            f"---\nid: a{number:011x}\nname: walk {number}\ntype: dynamic\ndomain: [日常]\nimportance: 5\n"
            f"created: {day}T12:00:00+00:00\nlast_active: {day}T12:00:00+00:00\n---\nriver {number}\n"
        )


def configured(state, journal):
    state.mkdir(exist_ok=True)
    (state / "config.yaml").write_text(f"embedding: {{provider: none}}\njournal: {{{journal}}}\n")


def files(vault):
    return {place: (place.stat().st_mtime_ns, place.read_bytes()) for place in vault.glob("dynamic/**/*.md")}


def counts(daemon):
    return [item["activation_count"] for item in daemon.get("/api/buckets?limit=200")["items"]]


def journal(vault):
    """The lines of all journals, once they are there."""
    deadline = time.monotonic() + 60
    while not (
        lines := [text for place in vault.glob(".vaultd/machines/*/*.jsonl") for text in place.read_text().splitlines()]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [json.loads(text) for text in lines]


async def recall(daemon):
    async with daemon.client() as client:
        answer = await said(client, "breath", query="river walk", max_results=NOTES)
    assert answer.count("river ") == NOTES


async def test_a_recall_of_twenty_notes_writes_no_note_and_is_remembered_over_a_restart(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    fill(vault)
    configured(state, "project_every: auto")
    before = files(vault)
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        await recall(daemon)
        lines = journal(vault)
        daemon.get(
            "/api/doctor/fix", method="POST"
        )  # a round, in which nothing is due: no note is quiet for long enough
        at_once = counts(daemon)
        after = files(vault)
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        again = counts(daemon)

    assert after == before
    assert at_once == again == [1] * NOTES
    assert sorted(line["id"] for line in lines) == [f"a{number:011x}" for number in range(NOTES)]


async def test_with_project_every_zero_a_recall_reaches_the_notes_and_a_lost_journal_costs_nothing_then(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    fill(vault)
    configured(state, "project_every: 0, quiet_s: 0")
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        await recall(daemon)
        daemon.get("/api/doctor/fix", method="POST")
        journal(vault)
    texts = [raw.decode() for _, raw in files(vault).values()]
    for place in vault.glob(".vaultd/machines/*/*.jsonl"):
        place.write_bytes(place.read_bytes()[:-20] + b'\n{"id": "torn')
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        torn = counts(daemon)
    for place in vault.glob(".vaultd/machines/*/*.jsonl"):
        place.unlink()
    with serving(vault, state) as daemon:
        daemon.wait(lambda status: status["ready"])
        lost = counts(daemon)

    assert all("activation_count: 1\n" in text for text in texts)
    assert torn == lost == [1] * NOTES
