import json
from pathlib import Path

import pytest

from vaultd.config.example import example
from vaultd.config.paths import state_folder


@pytest.fixture
def file(home) -> Path:
    return home / ".config" / "vaultd" / "config.yaml"


def test_show_lists_every_setting_and_where_it_comes_from(run, file):
    run("config", "set", "language", "en")

    result = run("config", "show", VAULTD_PORT="8123", VAULTD_API_KEY="sk-secret")

    assert result.exit_code == 0
    lines = {line.split()[0]: line.split(maxsplit=1)[1:] for line in result.stdout.splitlines()}
    assert lines["language"] == [f"en   ({file} line 1)"]
    assert lines["server.port"] == ["8123   (VAULTD_PORT)"]
    assert lines["llm.api_key"] == ["(set)   (VAULTD_API_KEY)"]
    assert lines["matching.topic"] == ["best"]
    assert "sk-secret" not in result.stdout


def test_show_changed_leaves_out_the_defaults(run):
    result = run("config", "show", "--changed", VAULTD_PORT="8123")

    assert result.stdout == "  server.port  8123   (VAULTD_PORT)\n"


def test_show_as_json_describes_each_setting_and_masks_secrets(run):
    result = run("config", "show", "--json", VAULTD_API_KEY="sk-secret", VAULTD_VAULT__EXCLUDE="a, b")

    found = json.loads(result.stdout)
    assert found["llm.api_key"]["value"] == "(set)"
    assert found["embedding.api_key"]["value"] == ""
    assert found["vault.exclude"]["value"] == ["a", "b"]
    assert found["matching.topic"] == {
        "value": "best",
        "default": "best",
        "source": "default",
        "allowed": "best | fuzzy",
        "about": "best: words, meaning or fuzzy names, whichever fits best; fuzzy: fuzzy names alone",
        "live": True,
    }
    assert "sk-secret" not in result.stdout


def test_set_writes_one_line_and_get_reads_it(run, file):
    result = run("config", "set", "merge.threshold", "80")

    assert result.exit_code == 0
    assert result.stdout == f"{file}: merge.threshold is now 80\n"
    assert file.read_text() == "merge:\n  threshold: 80\n"
    assert run("config", "get", "merge.threshold").stdout == "80\n"


def test_set_keeps_the_persons_comments(run, file):
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nlanguage: en  # why\n")

    run("config", "set", "language", "zh")

    assert file.read_text() == "# mine\nlanguage: zh  # why\n"


def test_set_refuses_what_is_not_allowed_and_writes_nothing(run, file):
    cases = {
        ("language", "fr"): 'vaultd: language: "fr" is not allowed; use zh | en\n',
        ("langage", "en"): "vaultd: langage is not a setting; did you mean language?\n",
        ("embedding.provider", "openai"): "vaultd: embedding.base_url: needed for embeddings by an endpoint; ",
        ("llm.api_key", "k"): "vaultd: llm.api_key: a secret is not kept in config.yaml; set VAULTD_API_KEY instead\n",
    }
    for (key, value), message in cases.items():
        result = run("config", "set", key, value)
        assert result.exit_code == 1
        assert result.stderr.startswith(message)
    assert not file.exists()


def test_set_tells_of_a_variable_that_wins(run):
    result = run("config", "set", "server.port", "8001", VAULTD_PORT="8002")

    assert "The variable VAULTD_PORT is set and wins over the file." in result.stderr


def test_folder_is_kept_as_an_absolute_path(run, file, home):
    run("config", "set", "vault.path", "Notes")

    assert file.read_text() == f"vault:\n  path: {home / 'Notes'}\n"


def test_named_file_is_used_by_all(run, home):
    run("config", "set", "--config", "my.yaml", "language", "en")

    assert (home / "my.yaml").read_text() == "language: en\n"
    assert run("config", "get", "--config", "my.yaml", "language").stdout == "en\n"
    assert run("config", "path", "--config", "my.yaml").stdout == f"{home / 'my.yaml'}\n"
    assert run("config", "get", "language", VAULTD_CONFIG="my.yaml").stdout == "en\n"


def test_path_names_the_state_folder_of_the_vault_on_request(run, vault, home):
    named = Path(run("config", "path", "--state").stdout.strip())

    assert named == state_folder(vault, home / "state")


def test_get_masks_secrets_and_refuses_unknown_names(run):
    assert run("config", "get", "llm.api_key", VAULTD_API_KEY="sk-secret").stdout == "(set)\n"
    assert run("config", "get", "llm.key").exit_code == 1


def test_example_is_printed_whole(run):
    assert run("config", "example").stdout == example()


@pytest.fixture
def settled(run, home, daemon) -> str:
    """The settings file that a running daemon has read, too."""
    run("config", "set", "vault.path", str(home / "Notes"))
    file = str(home / ".config/vaultd/config.yaml")
    daemon.answers |= {("GET", "/api/config"): (200, {"file": file}), ("POST", "/api/config"): (200, {"changed": []})}
    return file


def test_a_running_daemon_goes_by_a_hot_setting_at_once(run, daemon, settled):
    result = run("config", "set", "matching.fuzzy_threshold", "60")

    assert daemon.seen[-1] == ("POST", "/api/config", {"matching.fuzzy_threshold": "60"})
    assert result.stderr == "The running daemon goes by it.\n"


def test_what_is_not_hot_or_of_another_file_waits_for_the_next_start(run, daemon, settled):
    waits = "The running daemon takes it up when it is started again.\n"

    assert run("config", "set", "server.port", "8123").stderr == waits
    assert run("config", "set", "language", "en", "--config", "other.yaml").stderr == waits
    assert not [method for method, path, _ in daemon.seen if method == "POST"]


def test_where_no_daemon_runs_nobody_is_spoken_of(run, home):
    assert run("config", "set", "language", "en").stderr == ""
