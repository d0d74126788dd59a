import json

import click

from vaultd.cli.search import highlighted

HIT = {
    "id": "0123456789ab",
    "path": "dynamic/home/gasket_0123456789ab.md",
    "name": "The gasket",
    "kind": "dynamic",
    "domain": ["home"],
    "importance": 6,
    "resolved": False,
    "created": "2026-05-17T10:00:00+08:00",
    "fate": "semantic",
    "snippet": "The new gasket is in the drawer.",
}


def answers(daemon, path: str, *items, notices=(), words=()) -> None:
    daemon.answers["GET", path] = (200, {"items": list(items), "words": list(words), "notices": list(notices)})


def test_a_hit_is_told_with_what_it_takes_to_open_it(run, daemon):
    answers(daemon, "/api/search?q=gasket+drawer&limit=5", HIT, words=["gasket"])

    result = run("search", "gasket", "drawer")

    assert result.exit_code == 0
    assert result.stdout == (
        " 1. The gasket\n"
        "    0123456789ab · 2026-05-17 · home · importance 6 · by meaning\n"
        "    The new gasket is in the drawer.\n"
    )
    assert result.stderr == ""


def test_a_note_of_ones_own_is_named_by_its_path(run, daemon):
    answers(daemon, "/api/search?q=x&limit=5", {**HIT, "kind": "own", "path": "Journal/May.md", "fate": "own"})

    assert "Journal/May.md · 2026-05-17 · home · your note\n" in run("search", "x").stdout


def test_filters_go_to_the_daemon(run, daemon):
    answers(daemon, "/api/search?q=x&limit=3&domain=home&tags=a%2Cb&date_from=2026-05&date_to=2026", HIT)

    result = run("search", "x", "-n", "3", "--domain", "home", "--tags", "a,b", "--from", "2026-05", "--to", "2026")

    assert result.exit_code == 0, result.stderr


def test_json_is_the_daemons_answer(run, daemon):
    answers(daemon, "/api/search?q=x&limit=5", HIT)

    assert json.loads(run("search", "x", "--json").stdout)["items"] == [HIT]


def test_nothing_found_is_said_and_so_is_what_was_missing(run, daemon):
    answers(daemon, "/api/search?q=x&limit=5", notices=["no_embeddings"])

    result = run("search", "x")

    assert (result.exit_code, result.stdout) == (0, "Nothing found.\n")
    assert "Searched by words only" in result.stderr


def test_what_the_daemon_refuses_is_one_line(run, daemon):
    daemon.answers["GET", "/api/search?q=x&limit=5&date_from=soon"] = (
        400,
        {"error": {"code": "bad_input", "message": "date_from: 'soon' is no date"}},
    )

    result = run("search", "x", "--from", "soon")

    assert (result.exit_code, result.stderr) == (1, "vaultd: date_from: 'soon' is no date\n")


def test_words_are_lit_up_with_their_endings_and_overlapping_pairs_as_one():
    def marked(text: str) -> str:
        return click.style(text, bold=True, fg="yellow")

    assert highlighted("Travelling and travel", ["travel"]) == f"{marked('Travelling')} and {marked('travel')}"
    assert highlighted("看旅行者号", ["旅行", "行者", "旅"]) == f"看{marked('旅行者')}号"
    assert highlighted("a cat", ["a"]) == "a cat"
    assert highlighted("", ["x"]) == ""
