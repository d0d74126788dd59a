import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vaultd.cli.main import cli
from vaultd.config.paths import state_folder
from vaultd.config.runtime import Runtime, write_runtime

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A machine account of its own: nothing set, nothing there."""
    for name in list(os.environ):
        if name.startswith(("VAULTD_", "OMBRE_", "CLAUDE_", "CODEX_")):
            monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "APPDATA", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def vault(home, monkeypatch) -> Path:
    folder = home / "Notes"
    folder.mkdir()
    monkeypatch.setenv("VAULTD_VAULT", str(folder))
    monkeypatch.setenv("VAULTD_STATE_DIR", str(home / "state"))
    return folder


@pytest.fixture
def run(home) -> Run:
    def runs(*args: str, input: str | None = None, **environ: str) -> Result:
        return CliRunner().invoke(cli, list(args), input=input, env=environ)

    return runs


class Daemon:
    """What the commands need of a daemon: answers by path, for the right token only."""

    def __init__(self) -> None:
        self.status: dict[str, object] = {
            "ready": True,
            "vault_available": True,
            "notes": 1234,
            "pending": 2,
            "failed": 0,
            "problems": 0,
            "lag_s": 0.25,
            "last_event": None,
            "embedding": {"model": "e5", "done": 7, "problem": "out of memory"},
        }
        self.answers: dict[tuple[str, str], tuple[int, object]] = {
            ("GET", "/api/status"): (200, self.status),
            ("POST", "/api/login-link"): (200, {"url": "http://127.0.0.1:1/login?once=x"}),
        }
        self.seen: list[tuple[str, str, object]] = []
        self.port = 0


@pytest.fixture
def daemon(vault, home) -> Iterator[Daemon]:
    fake = Daemon()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_json = self.headers.get("Content-Type") == "application/json"
            fake.seen.append((self.command, self.path, json.loads(body) if is_json else body or None))
            status, value = fake.answers.get((self.command, self.path), (404, {"error": {"message": "no such page"}}))
            if self.path == "/health":
                status, value = 200, {"status": "ok", "pid": os.getpid()}
            elif self.headers.get("Authorization") != "Bearer right":
                status, value = 401, {"error": {"message": "the token is wrong"}}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(value if isinstance(value, bytes) else json.dumps(value).encode())

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    port = fake.port = server.server_port
    started = "2026-11-30T12:00:00+08:00"
    write_runtime(
        state_folder(vault, home / "state"),
        Runtime(os.getpid(), f"http://127.0.0.1:{port}", port, "right", str(vault), started),
    )
    yield fake
    server.shutdown()
    thread.join()
    server.server_close()
