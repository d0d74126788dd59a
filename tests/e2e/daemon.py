"""A real daemon in a process of its own, and a real MCP client to speak to it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from vaultd.cli.demo import prepare

START_TIMEOUT_S = 60.0


@dataclass
class Daemon:
    """A running daemon."""

    process: subprocess.Popen
    vault: Path
    url: str
    token: str

    def get(self, path: str, *, method: str = "GET", body: object = None) -> object:
        """A REST call with the token; the JSON that comes back."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def status(self) -> dict:
        return self.get("/api/status")

    def wait(self, condition, timeout_s: float = START_TIMEOUT_S) -> dict:
        """Until the status fulfils a condition."""
        deadline = time.monotonic() + timeout_s
        while True:
            status = self.status()
            if condition(status):
                return status
            assert time.monotonic() < deadline, status
            time.sleep(0.05)

    def settled(self) -> None:
        """Until all notes are indexed, embeddings included."""
        self.wait(lambda status: status["ready"] and status["pending"] == 0, 180)

    @contextlib.asynccontextmanager
    async def client(self, **options):
        """An MCP client over streamable HTTP."""
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), **options) as client,
        ):
            yield client


def environment(state: Path, **more: str) -> dict[str, str]:
    """The environment of a daemon that knows of nothing outside the test."""
    config = state / "config.yaml"
    config.touch()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VAULTD_", "OMBRE_"))}
    return kept | {"VAULTD_STATE_DIR": str(state), "VAULTD_CONFIG": str(config)} | more


@contextlib.contextmanager
def serving(vault: Path, state: Path, *options: str, log: Path | None = None, **env: str) -> Iterator[Daemon]:
    """A daemon over a vault; ends it by a signal and checks that it ended well."""
    vault.mkdir(parents=True, exist_ok=True)
    state.mkdir(parents=True, exist_ok=True)
    log = log or state / "daemon.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "vaultd", "serve", "--vault", str(vault), "--port", "0", *options],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(state, **env),
        )
    try:
        yield _connected(process, vault, state, log)
        process.terminate()
        assert process.wait(10) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@contextlib.contextmanager
def demonstration(folder: Path, **env: str) -> Iterator[Daemon]:
    """A daemon over the sample vault, all of it indexed."""
    prepare(folder, today=datetime.now(UTC).date())
    with serving(folder / "vault", folder / "s", **env) as started:
        started.settled()
        yield started


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _connected(process: subprocess.Popen, vault: Path, state: Path, log: Path) -> Daemon:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        for file in state.glob("*/runtime.json"):
            with contextlib.suppress(ValueError, KeyError, OSError):
                runtime = json.loads(file.read_text())
                if runtime["pid"] == process.pid:
                    daemon = Daemon(process, vault, runtime["url"], runtime["token"])
                    daemon.status()
                    return daemon
        time.sleep(0.05)
    raise AssertionError(log.read_text())
