import json

RESULT = {
    "checked": 12,
    "archived": 1,
    "auto_resolved": 2,
    "lowest_score": 0.2134,
    "failed": 0,
    "dry_run": False,
    "to_archive": ["0123456789ab"],
    "to_resolve": [],
    "reason": "",
}


def test_a_cycle_prints_its_five_figures_as_json(run, daemon):
    daemon.answers["POST", "/api/decay/run"] = (200, RESULT)

    found = json.loads(run("decay", "--json").stdout)

    assert found == {"checked": 12, "archived": 1, "auto_resolved": 2, "lowest_score": 0.2134, "failed": 0}


def test_a_dry_run_asks_for_one_and_names_the_memories(run, daemon):
    daemon.answers["POST", "/api/decay/run?dry_run=true"] = (200, RESULT)

    result = run("decay", "--dry-run")

    assert "1 would be archived, 2 would be marked resolved\n" in result.stdout
    assert "to archive: 0123456789ab\n" in result.stderr


def test_a_machine_that_does_not_own_the_life_cycle_fails(run, daemon):
    daemon.answers["POST", "/api/decay/run"] = (200, {**RESULT, "reason": "another machine owns the life cycle"})

    result = run("decay")

    assert (result.exit_code, result.stderr) == (1, "vaultd: another machine owns the life cycle\n")


def test_a_note_that_could_not_be_changed_makes_the_command_fail(run, daemon):
    daemon.answers["POST", "/api/decay/run"] = (200, {**RESULT, "failed": 1})

    assert run("decay", "--json").exit_code == 1


def test_a_forecast_lists_what_goes_and_when(run, daemon):
    coming = {"id": "0123456789ab", "name": "The gasket", "days": 3.5, "held": True}
    daemon.answers["GET", "/api/decay/preview?days=30"] = (200, {"forecast": [coming]})

    result = run("decay", "--forecast", "30")

    assert result.stdout == "in   3.5 days  0123456789ab  The gasket  (kept by decay.protect_importance_floor)\n"
