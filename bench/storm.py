"""A checkout of thousands of notes there and back under a real daemon. python bench/storm.py [--notes 10000]"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.e2e.daemon import Daemon, serving
from tests.model_server import EMBEDDING_MODEL, ModelServer

_WAIT_S = 900.0


def _git(vault: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", *identity, "-C", str(vault), *arguments], check=True, capture_output=True)


def _texts(server: ModelServer) -> list[str]:
    """What the model was asked for, its trial aside."""
    asked = [one.body["input"] for one in server.asked if one.path.endswith("/embeddings")]
    return [text for texts in asked for text in texts if "words of note" in text]


def _settled(daemon: Daemon, server: ModelServer, texts: int) -> float:
    """Seconds until the index equals the disk and every text has been embedded."""
    started = time.monotonic()
    while True:
        status = daemon.wait(lambda one: one["ready"] and not one["pending"] and not one["waiting"], _WAIT_S)
        if len(_texts(server)) >= texts and not status["lag_s"] and _is_equal(daemon):
            return round(time.monotonic() - started, 1)
        assert time.monotonic() - started < _WAIT_S, status
        time.sleep(0.2)


def _is_equal(daemon: Daemon) -> bool:
    return not any(one["where"] == "index" for one in daemon.get("/api/doctor")["findings"])


def storm(folder: Path, notes: int) -> dict[str, object]:
    """The figures."""
    vault, state = folder / "vault", folder / "state"
    for number in range(notes):
        place = vault / f"Notes/{number % 50}/{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"first words of note {number}\n")
    _git(vault, "init", "-q", "-b", "main")
    _git(vault, "add", "-A")
    _git(vault, "commit", "-qm", "one")
    for number in range(notes):
        (vault / f"Notes/{number % 50}/{number}.md").write_text(f"second words of note {number}\n")
    _git(vault, "commit", "-qam", "two")
    state.mkdir()
    with ModelServer() as server:
        (state / "config.yaml").write_text(
            f"embedding: {{provider: openai, base_url: '{server.url}', api_key: k, model: {EMBEDDING_MODEL}}}\n"
            "llm: {daily_request_cap: 0}\n"
        )
        with serving(vault, state) as daemon:
            first = _settled(daemon, server, notes)
            _git(vault, "checkout", "-q", "HEAD~1")
            there = _settled(daemon, server, 2 * notes)
            _git(vault, "checkout", "-q", "main")
            back = _settled(daemon, server, 2 * notes)
            status = daemon.status()
        texts = _texts(server)
    assert len(texts) == len(set(texts)) == 2 * notes, (len(texts), len(set(texts)))
    return {
        "notes": notes,
        "first index and embeddings, s": first,
        "there, s": there,
        "back, s": back,
        "embeddings asked for": len(texts),
        "embeddings computed twice": len(texts) - len(set(texts)),
        "found by comparing, not by events": status["missed"],
        "watcher restarts": status["watcher_restarts"],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vaultd-storm-") as folder:
        print(json.dumps(storm(Path(folder), given.notes), indent=1))


if __name__ == "__main__":
    main()
