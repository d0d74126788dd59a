import json

import pytest

JOB = "20261130-120000-0123abcd"
FOUND = {
    "format_name": "ChatGPT export",
    "conversations": 2,
    "turns": 1,
    "notes": 0,
    "first": "2026-05-01T10:00:00+08:00",
    "last": "2026-06-01T10:00:00+08:00",
    "titles": ["Tea"],
    "known_conversations": 1,
    "known_turns": 4,
    "known_notes": 0,
    "attachments": 3,
    "warnings": ["clock.html is left out"],
    "requests": 5,
    "tokens_in": 1500,
    "tokens_out": 500,
    "cost": None,
    "currency": "",
    "broken": "",
    "needs_model": True,
    "model_available": True,
}
STATUS = {
    "id": JOB,
    "filename": "export.json",
    "state": "done",
    "reason": "",
    "chunks": 2,
    "done": 2,
    "kept": {"new": 3, "merged": 1},
    "near": 1,
    "requests": 4,
    "tokens_in": 1200,
    "tokens_out": 300,
    "cost": 0.0012,
    "currency": "USD",
}


@pytest.fixture
def importing(daemon, home):
    (home / "export.json").write_text("[]")
    daemon.answers |= {
        ("POST", "/api/import/upload"): (201, {"id": JOB}),
        ("POST", f"/api/import/{JOB}/preflight"): (200, FOUND),
        ("POST", f"/api/import/{JOB}/start"): (202, STATUS),
        ("DELETE", f"/api/import/{JOB}"): (200, {"removed": JOB}),
        ("GET", f"/api/import/status?job={JOB}"): (200, STATUS),
        ("GET", "/api/import/status"): (200, {"items": [STATUS]}),
    }
    return daemon


def asked(daemon) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _ in daemon.seen if path.startswith("/api/import")]


def test_an_import_says_what_is_in_the_file_asks_and_tells_what_came_in(run, importing):
    result = run("import", "export.json", input="y\n")

    assert result.exit_code == 0, result.stderr
    assert result.stdout == (
        "ChatGPT export: 2 conversations, 1 turn\n"
        "  from 2026-05-01 to 2026-06-01\n"
        "  such as: Tea\n"
        "  brought in before, and left out: 1 conversation, 4 turns\n"
        "  noted by name, not taken over: 3 attachments\n"
        "  clock.html is left out\n"
        "  the chat model will be asked about 5 times (2,000 tokens), and once for each memory that joins an older one\n"
        "memories: 3 new, 1 joined to older ones\n"
        "1 say much the same as others\n"
        "the chat model was asked 4 times (1,500 tokens, 0.0012 USD)\n"
        f"go through them: vaultd import results {JOB}, or in the dashboard\n"
    )
    assert ("POST", "/api/import/upload", b"[]") in importing.seen


def test_a_dry_run_leaves_nothing_behind(run, importing):
    assert run("import", "--dry-run", "export.json").exit_code == 0

    assert asked(importing)[-1] == ("DELETE", f"/api/import/{JOB}")
    assert ("POST", f"/api/import/{JOB}/start") not in asked(importing)


def test_a_no_leaves_nothing_behind(run, importing):
    result = run("import", "export.json", input="n\n")

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "vaultd: stopped")
    assert asked(importing)[-1] == ("DELETE", f"/api/import/{JOB}")


def test_without_a_chat_model_the_way_out_is_named(run, importing):
    importing.answers["POST", f"/api/import/{JOB}/preflight"] = (200, {**FOUND, "model_available": False})

    result = run("import", "export.json", "--yes")

    assert result.exit_code == 1
    assert "add --mode notes for one note per conversation" in result.stderr
    assert asked(importing)[-1] == ("DELETE", f"/api/import/{JOB}")


def test_a_file_cut_off_is_imported_only_with_partial(run, importing):
    importing.answers["POST", f"/api/import/{JOB}/preflight"] = (
        200,
        {**FOUND, "broken": "the file ends in the middle"},
    )

    assert "--partial" in run("import", "export.json", "--yes").stderr
    assert run("import", "export.json", "--yes", "--partial").exit_code == 0


def test_an_import_that_did_not_end_well_says_how_to_go_on(run, importing):
    paused = {**STATUS, "state": "paused", "reason": "the daily request cap is used up"}
    importing.answers["GET", f"/api/import/status?job={JOB}"] = (200, paused)

    result = run("import", "export.json", "--yes", "--json")

    assert (result.exit_code, json.loads(result.stdout)["state"]) == (1, "paused")
    assert f"used up; go on with: vaultd import resume {JOB}" in result.stderr


def test_a_folder_goes_as_one_archive(run, importing, home):
    (home / "old notes").mkdir()
    (home / "old notes/a.md").write_text("hello")

    assert run("import", "old notes", "--yes", "--detach").stdout.endswith(
        f"{JOB} has begun; see: vaultd import status {JOB}\n"
    )
    (upload,) = [body for _, path, body in importing.seen if path == "/api/import/upload"]
    assert upload.startswith(b"PK")


def test_a_file_that_is_not_there_is_one_line(run, importing):
    assert run("import", "gone.zip").stderr == "vaultd: gone.zip: there is no such file or folder\n"


def test_the_newest_import_is_meant_where_none_is_named(run, importing):
    near = {
        "id": "0123456789ab",
        "outcome": "new",
        "name": "Tea",
        "near": [{"id": "ff", "similarity": 0.9}],
        "verdict": "pin",
    }
    importing.answers["GET", f"/api/import/results?job={JOB}"] = (200, {"items": [near]})

    assert run("import", "results").stdout == "0123456789ab  new     Tea  (much like ff)  [pin]\n"
    assert run("import", "status").stdout == f"{JOB}  export.json: done, 2 of 2 chunks\n"


def test_a_review_is_sent_in_one_piece(run, importing):
    importing.answers["POST", "/api/import/review"] = (200, {"done": {"aa": "keep", "bb": "noise"}, "failed": {}})

    assert run("import", "review", "--keep", "aa", "--noise", "bb, cc").stdout == "2 done\n"
    assert importing.seen[-1][2] == {"job": JOB, "decisions": {"aa": "keep", "bb": "noise", "cc": "noise"}}


def test_a_review_of_nothing_is_wrong_usage(run, importing):
    assert run("import", "review").exit_code == 2


def test_the_group_explains_itself(run, home):
    assert "vaultd import export.zip --dry-run" in run("import", "--help").stdout
    assert "Usage: vaultd import run" in run("import", "run", "--help").stdout
