import json
import os

import pytest
from filelock import FileLock

from vaultd.config.paths import lock_file, runtime_file, state_folder
from vaultd.config.runtime import Runtime, named_as_holder, write_runtime


def test_status_says_where_the_daemon_is_and_how_the_index_is(run, daemon, vault):
    result = run("status")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"{vault} is served at http://127.0.0.1:")
    assert "(ready; process " in result.stdout
    assert "  notes                     1,234\n" in result.stdout
    assert "  waiting for an embedding  2\n" in result.stdout
    assert "  behind, seconds           0.2\n" in result.stdout
    assert "  embeddings by             e5 (out of memory)\n" in result.stdout
    assert "notes with problems" not in result.stdout


def test_status_shows_faults_where_there_are_any(run, daemon):
    daemon.status |= {"problems": 3, "held_deletions": 60, "missed": 0, "vault_available": False}

    result = run("status")

    assert "(vault not available; process " in result.stdout
    assert "  notes with problems       3\n" in result.stdout
    assert "  deletions held back       60\n" in result.stdout
    assert "missed" not in result.stdout


def test_status_while_the_first_index_runs_says_how_far_it_is(run, daemon):
    daemon.status |= {"ready": False, "notes": 400, "total": 10_000}

    assert "(indexing 400 of 10000; process " in run("status").stdout


def test_status_as_json_is_the_answer_with_the_place_of_the_daemon(run, daemon, vault):
    result = run("status", "--json")

    found = json.loads(result.stdout)
    assert found["vault"] == str(vault)
    assert found["url"] == f"http://127.0.0.1:{found['port']}"
    assert (found["notes"], found["pending"], found["failed"], found["lag_s"]) == (1234, 2, 0, 0.25)
    assert found["ready"] is True
    assert "token" not in found


def test_vault_is_named_by_option_as_well(run, daemon, vault, home):
    assert run("status", "--vault", str(vault), VAULTD_VAULT="").exit_code == 0
    assert run("status", "--vault", str(home)).exit_code == 1


def test_without_a_daemon_it_fails_and_says_what_to_do(run, vault):
    result = run("status", "--json")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == f"vaultd: no daemon serves {vault}; start it with `vaultd serve`\n"


def test_what_the_daemon_refuses_is_passed_on_in_one_line(run, daemon):
    daemon.answers["GET", "/api/status"] = (503, {"error": {"code": "starting", "message": "not\nready"}})

    result = run("status")

    assert (result.exit_code, result.stderr) == (1, "vaultd: not ready\n")


def test_answer_that_is_no_json_is_told(run, daemon):
    daemon.answers["GET", "/api/status"] = (500, b"<html>")

    result = run("status")

    assert (result.exit_code, result.stderr) == (
        1,
        "vaultd: the daemon answered 500 without JSON; look into its log\n",
    )


def test_token_of_a_daemon_that_was_started_otherwise_is_refused(run, daemon, vault, home):
    place = runtime_file(state_folder(vault, home / "state"))
    place.write_text(place.read_text().replace('"right"', '"wrong"'))

    result = run("status")

    assert (result.exit_code, result.stderr) == (1, "vaultd: the token is wrong\n")


@pytest.fixture
def holder(vault, home):
    """This process, with the lock of a daemon; its number."""
    state = state_folder(vault, home / "state")
    state.mkdir(parents=True)
    with FileLock(lock_file(state)), named_as_holder(state):
        yield os.getpid()


@pytest.mark.parametrize("command", [["status", "--json"], ["token", "--link"], ["confirm-deletions"]])
def test_a_daemon_that_is_only_starting_is_told(run, vault, holder, command):
    result = run(*command)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"vaultd: no daemon serves {vault} yet: one is starting (pid {holder})\n"


def test_a_daemon_that_does_not_answer_is_told_with_the_way_out(run, vault, home, holder):
    nobody_there = Runtime(holder, "http://127.0.0.1:1", 1, "t", str(vault), "2026-11-30T12:00:00+08:00")
    write_runtime(state_folder(vault, home / "state"), nobody_there)

    assert run("status").stderr == (
        f"vaultd: the daemon that serves {vault} (pid {holder}) does not answer; end it with `vaultd stop`\n"
    )
