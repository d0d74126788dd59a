"""An import in a real daemon that is killed again and again: in the end everything is there, and nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.e2e.daemon import environment
from tests.llm.chat_setup import KEY
from tests.model_server import CHAT_MODEL, ModelServer, good_answer
from tests.services.importing.helpers import a_claude_export

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_S = 120.0
KILLS = 4
TALKS = 24
ANSWERS_A_LOOK, ANSWERS_ENOUGH = 6, 1_000
PLACES = ("Oslo", "Bergen", "Kiel", "Lucerne", "Ghent", "Porto")
THINGS = ("a brass kettle", "a torn map", "two tickets", "a green umbrella", "a jar of honey", "an old key")


def sentence(rng: random.Random, talk: int, turn: int) -> str:
    return (
        f"In {rng.choice(PLACES)} I bought {rng.choice(THINGS)} numbered {talk * 100 + turn:04d} "
        f"and left {rng.getrandbits(48):012x} with the porter."
    )


@pytest.fixture
def account(tmp_path):
    """Settings with a played chat model, and commands; the daemon is ended afterwards."""
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    with ModelServer() as model:
        environ = environment(
            state,
            VAULTD_VAULT=str(vault),
            VAULTD_EMBEDDING__PROVIDER="none",
            VAULTD_BASE_URL=model.url,
            VAULTD_API_KEY=KEY,
            VAULTD_LLM__MODEL=CHAT_MODEL,
        )

        def vaultd(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "vaultd", *words]
            return subprocess.run(
                command, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=tmp_path
            )

        yield vaultd, model
        assert vaultd("stop").returncode == 0


class Pace:
    """Lets the chat model answer so many times, and then no more before it is told."""

    def __init__(self, model: ModelServer) -> None:
        self._answers = threading.Semaphore(0)
        model.default = self._answer

    def _answer(self, asked):
        assert self._answers.acquire(timeout=PATIENCE_S)
        return good_answer(asked)

    def let(self, answers: int) -> None:
        self._answers.release(answers)


def kept(status: dict) -> int:
    return sum(status["kept"].values())


def test_an_import_outlives_its_daemon_and_repeats_nothing(account, tmp_path):
    vaultd, model = account
    pace = Pace(model)
    rng = random.Random(20261130)
    told = {number: [sentence(rng, number, turn) for turn in range(4)] for number in range(TALKS)}
    export = tmp_path / "conversations.json"
    export.write_bytes(a_claude_export([(f"t{number}", texts) for number, texts in told.items()]))
    begun = vaultd("import", str(export), "--yes", "--detach", "--json")
    assert begun.returncode == 0, begun.stderr
    job = json.loads(begun.stdout[begun.stdout.index("{") :])["id"]

    kills = 0
    deadline = time.monotonic() + PATIENCE_S
    while (status := json.loads(vaultd("import", "status", job, "--json").stdout))["state"] == "running":
        assert time.monotonic() < deadline, status
        if kills < KILLS and kept(status) > kills * TALKS // KILLS:
            with contextlib.suppress(ProcessLookupError):
                os.kill(json.loads(vaultd("status", "--json").stdout)["pid"], signal.SIGKILL)
            kills += 1
        pace.let(ANSWERS_A_LOOK if kills < KILLS else ANSWERS_ENOUGH)

    assert (status["state"], status["failed"]) == ("done", {})
    assert kills == KILLS
    notes = "\n".join(path.read_text(encoding="utf-8") for path in (tmp_path / "vault").rglob("*.md"))
    assert {text: notes.count(text) for texts in told.values() for text in texts if notes.count(text) != 1} == {}
    assert status["requests"] >= TALKS
    assert status["tokens_in"] > 0
