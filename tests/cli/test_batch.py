import json

STEP = {
    "id": "0123456789ab",
    "name": "Run",
    "before": ["未分类"],
    "after": ["exercise"],
    "path": "dynamic/未分类/run.md",
    "target": "dynamic/exercise/run.md",
}
DONE = {"steps": [STEP], "checked": 3, "left": 1, "failed": {}, "undo": "17", "dry_run": False}


def test_reindex_reads_all_notes_and_says_so(run, daemon):
    daemon.status["waiting"] = 0
    daemon.answers["POST", "/api/reindex"] = (202, {"notes": 1234})

    assert run("reindex").stdout == "1,234 notes read; 2 passages wait for embedding\n"


def test_reindex_of_embeddings_asks_only_for_those(run, daemon):
    daemon.status |= {"waiting": 0, "pending": 0}
    daemon.answers["POST", "/api/reindex?embeddings=true"] = (202, {"passages": 7})

    assert run("reindex", "--embeddings").stdout == "7 passages had no embedding; 0 wait for one now\n"
    assert json.loads(run("reindex", "--embeddings", "--json").stdout)["passages"] == 7


def test_reindex_fails_where_a_note_could_not_be_read(run, daemon):
    daemon.status |= {"waiting": 0, "failed": 2}
    daemon.answers["POST", "/api/reindex"] = (202, {"notes": 5})

    assert run("reindex").exit_code == 1
    assert run("reindex", "--detach").exit_code == 0


def test_sorting_tells_what_it_did_and_how_to_take_it_back(run, daemon):
    daemon.answers["POST", "/api/reclassify"] = (200, DONE)

    result = run("reclassify")

    assert result.stdout == "Run: exercise\n1 of 3 memories moved\ntake it back: vaultd undo 17\n"
    assert result.stderr == "1 say too little to be sorted; try --llm\n"


def test_a_dry_run_by_the_chat_model_is_asked_for(run, daemon):
    daemon.answers["POST", "/api/reclassify?llm=true&dry_run=true"] = (200, {**DONE, "undo": ""})

    result = run("reclassify", "--llm", "--dry-run")

    assert result.stdout == "Run: exercise\n1 of 3 memories would be moved\n"


def test_what_could_not_be_sorted_makes_the_command_fail(run, daemon):
    daemon.answers["POST", "/api/reclassify"] = (200, {**DONE, "failed": {"ffffffffffff": "in conflict"}})

    result = run("reclassify", "--json")

    assert (result.exit_code, json.loads(result.stdout)["undo"]) == (1, "17")
    assert "ffffffffffff: in conflict\n" in result.stderr


def test_moving_names_both_paths(run, daemon):
    daemon.answers["POST", "/api/migrate?dry_run=true"] = (200, {**DONE, "undo": ""})

    assert run("migrate", "--dry-run").stdout.startswith("dynamic/未分类/run.md → dynamic/exercise/run.md\n")


def test_a_refusal_is_one_line(run, daemon):
    daemon.answers["POST", "/api/migrate"] = (400, {"error": {"message": "another machine owns the life cycle"}})

    result = run("migrate")

    assert (result.exit_code, result.stderr) == (1, "vaultd: another machine owns the life cycle\n")


def test_a_dry_run_of_reindex_says_how_much_it_would_be(run, daemon):
    daemon.answers["POST", "/api/reindex?dry_run=true"] = (200, {"notes": 1234})

    assert run("reindex", "--dry-run").stdout == "1,234 notes would be read\n"
