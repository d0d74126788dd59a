import json

KEPT = {
    "outcome": "new",
    "id": "0123456789ab",
    "name": "The gasket",
    "path": "dynamic/未分类/The gasket_0123456789ab.md",
    "notices": [],
}


def sent(daemon) -> dict:
    return next(body for method, path, body in daemon.seen if (method, path) == ("POST", "/api/buckets"))


def test_words_on_the_command_line_become_a_memory(run, daemon):
    daemon.answers["POST", "/api/buckets"] = (201, KEPT)

    result = run("add", "the", "gasket", "--domain", "home", "--importance", "7", "--valence", "0", "--pin")

    assert result.stdout == f"0123456789ab  The gasket: kept\n  {KEPT['path']}\n"
    assert sent(daemon) == {
        "text": "the gasket",
        "pinned": True,
        "source": "vaultd add",
        "domain": "home",
        "importance": 7,
        "valence": 0.0,
    }


def test_a_file_and_standard_input_do_as_well(run, daemon, home):
    daemon.answers["POST", "/api/buckets"] = (201, KEPT)
    (home / "talk.md").write_bytes("\ufeff好的\n".encode())

    run("add", "--file", "talk.md")
    assert sent(daemon)["text"] == "好的\n"

    daemon.seen.clear()
    run("add", "-", input="from a pipe")
    assert sent(daemon)["text"] == "from a pipe"


def test_json_is_the_daemons_answer_and_notices_go_beside_it(run, daemon):
    daemon.answers["POST", "/api/buckets"] = (201, {**KEPT, "notices": [{"code": "no_model"}]})

    assert json.loads(run("add", "x", "--json").stdout)["id"] == "0123456789ab"
    assert "No chat model is set" in run("add", "x").stderr


def test_a_file_that_is_no_text_or_not_there_is_one_line(run, daemon, home):
    (home / "photo.jpg").write_bytes(b"\xff\xd8")

    assert run("add", "-f", "photo.jpg").stderr == ("vaultd: photo.jpg: is not UTF-8 text (byte 0); save it as UTF-8\n")
    assert run("add", "-f", "gone.md").stderr == "vaultd: gone.md: cannot be read (No such file or directory)\n"


def test_a_text_twice_is_wrong_usage(run, daemon):
    assert run("add", "x", "--file", "y").exit_code == 2


def test_a_dry_run_says_what_would_become_of_it(run, daemon):
    answer = {"outcome": "merged", "id": "0123456789ab", "name": "gasket", "path": "dynamic/home/gasket.md"}
    daemon.answers["POST", "/api/buckets?dry_run=true"] = (200, answer | {"notices": []})

    result = run("add", "--dry-run", "the gasket")

    assert result.stdout == "gasket: is the older memory that it would be joined to\n  dynamic/home/gasket.md\n"
