import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def texts(daemon):
    daemon.answers |= {
        ("GET", "/breath-hook"): (200, "=== 浮现记忆 ===\nthe gasket".encode()),
        ("GET", "/dream-hook"): (200, b"what was new\n"),
    }
    return daemon


def test_a_session_begins_with_what_surfaces_and_what_wants_reflecting_on(run, texts):
    result = run("hook", "session-start")

    assert (result.exit_code, result.stdout) == (0, "=== 浮现记忆 ===\nthe gasket\n\nwhat was new\n")


@pytest.mark.parametrize("name", ["VAULTD_HOOK_SKIP", "OMBRE_HOOK_SKIP"])
def test_it_can_be_kept_silent(run, texts, name):
    result = run("hook", "session-start", **{name: "1"})

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert not texts.seen


def test_a_daemon_elsewhere_is_asked_with_the_token_that_is_set(run, texts, home):
    port = texts.port

    result = run(
        "hook",
        "session-start",
        VAULTD_HOOK_URL=f"http://127.0.0.1:{port}/",
        VAULTD_TOKEN="right",
        VAULTD_VAULT=str(home),
    )

    assert "the gasket" in result.stdout


def test_what_fails_is_said_aside_and_the_session_begins_all_the_same(run, texts):
    texts.answers["GET", "/dream-hook"] = (503, {"error": {"message": "no index"}})

    result = run("hook", "session-start")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "/dream-hook answered 503" in result.stderr


def test_without_a_vault_the_session_begins_all_the_same(run, home):
    result = run("hook", "session-start")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "no vault is set" in result.stderr


@pytest.mark.slow
def test_a_daemon_that_hangs_holds_nobody_up(run, vault):
    gate = threading.Event()

    class Hangs(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            gate.wait(30)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hangs)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    begun = time.monotonic()

    result = run("hook", "session-start", VAULTD_HOOK_URL=f"http://127.0.0.1:{server.server_port}")

    took = time.monotonic() - begun
    gate.set()
    server.shutdown()
    thread.join()
    server.server_close()
    assert result.exit_code == 0
    assert took < 8
    assert "no answer within 8 s" in result.stderr


@pytest.mark.slow
def test_while_the_first_index_is_made_the_session_hears_that_memories_come_in_a_moment(run, texts):
    texts.status |= {"ready": False, "notes": 0, "total": 3000}
    begun = time.monotonic()

    result = run("hook", "session-start", VAULTD_LANGUAGE="en")

    assert result.stdout == "(vaultd is starting; its memories are there in a moment: call breath.)\n"
    assert time.monotonic() - begun < 4


@pytest.mark.slow
def test_what_is_in_the_index_is_told_although_it_is_not_ready(run, texts):
    texts.status |= {"ready": False, "notes": 40, "total": 3000}

    assert "the gasket" in run("hook", "session-start").stdout
