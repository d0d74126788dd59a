"""An import with a chat model in a real browser: paused, left, found again, gone on with; then patterns and the review."""

from __future__ import annotations

import json
import threading

import pytest

from tests.e2e.browser import chromium, window
from tests.e2e.daemon import serving
from tests.model_server import CHAT_MODEL, Asked, ModelServer, Reply, good_answer

pytestmark = pytest.mark.e2e

CONVERSATIONS = 6
GARDEN = "The tomatoes on the balcony grow well. We water the tomatoes each evening. My sister sings to them."


class Gate:
    """Answers well, but lets a request for memories through only when told to."""

    def __init__(self) -> None:
        self.let_through = threading.Semaphore(0)
        self.closing = threading.Event()

    def __call__(self, asked: Asked) -> Reply:
        if asked.task == "split":
            while not self.let_through.acquire(timeout=0.05):
                if self.closing.is_set():
                    break
        return good_answer(asked)


def export() -> str:
    """Conversations in the form of Claude's export, each a part of its own."""
    return json.dumps(
        [
            {
                "uuid": f"c{n}",
                "name": f"Garden {n}",
                "created_at": f"2026-05-0{n + 1}T08:00:00Z",
                "chat_messages": [
                    {
                        "uuid": f"m{n}-{i}",
                        "sender": sender,
                        "text": f"Week {n}, day {i}. {GARDEN}",
                        "created_at": f"2026-05-0{n + 1}T08:{i:02}:00Z",
                    }
                    for i, sender in enumerate(("human", "assistant") * 6)
                ],
            }
            for n in range(CONVERSATIONS)
        ]
    )


def test_an_import_is_paused_found_again_after_a_reload_and_reviewed(tmp_path):
    gate = Gate()
    source = tmp_path / "conversations.json"
    source.write_text(export(), encoding="utf-8")
    with ModelServer() as model:
        model.default = gate
        env = {"VAULTD_BASE_URL": model.url, "VAULTD_API_KEY": "k", "VAULTD_LLM__MODEL": CHAT_MODEL}
        env["VAULTD_EMBEDDING__PROVIDER"] = "none"
        try:
            with serving(tmp_path / "vault", tmp_path / "s", **env) as daemon, chromium() as browser:
                daemon.wait(lambda status: status["ready"])
                with window(browser, daemon) as w:
                    _import(w, gate, source)
                jobs = daemon.get("/api/import/status")["items"]
                assert [(job["state"], job["done"] == job["chunks"]) for job in jobs] == [("done", True)]
        finally:
            gate.closing.set()


def _import(w, gate: Gate, source) -> None:
    page = w.page
    w.open("/dashboard/import")
    page.locator("#import-file").set_input_files(str(source))
    page.locator(".preflight").wait_for()
    page.get_by_role("button", name="Start").click()
    page.locator(".job-state.running").wait_for()

    page.get_by_role("button", name="Pause").click()
    gate.let_through.release(1)  # what was asked already is kept
    page.locator(".job-state.paused").wait_for()
    page.reload()
    page.locator(".job-state.paused").wait_for()
    assert w.serious_findings() == []

    gate.let_through.release(1_000)
    page.get_by_role("button", name="Resume").click()
    page.locator(".job-state.done").wait_for()
    page.reload()
    page.get_by_text("Patterns", exact=True).click()
    page.locator("a.chip", has_text="tomatoes").first.wait_for()
    page.get_by_text("Review", exact=True).click()
    boxes = page.locator(".review input[type=checkbox]")
    boxes.first.wait_for()
    boxes.first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Space")  # the focus is where it was
    page.keyboard.press("Space")
    page.get_by_text("1 selected").wait_for()
    page.get_by_role("button", name="Noise").click()
    page.locator(".review li.noise").wait_for()
    assert w.serious_findings() == []
