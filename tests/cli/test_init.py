import re

import pytest
import yaml

FOLDERS = {"permanent", "dynamic", "feel", "archive", "cards", "inbox", "conversations", ".vaultd"}


def test_init_makes_folders_identity_and_settings(run, home):
    result = run("init", "--vault", "Notes", "--yes")

    assert result.exit_code == 0
    assert {item.name for item in (home / "Notes").iterdir()} == FOLDERS
    identity = yaml.safe_load((home / "Notes/.vaultd/vault.yaml").read_text())
    assert re.fullmatch("[0-9a-f]{16}", str(identity["id"]))
    assert (home / ".config/vaultd/config.yaml").read_text() == f"vault:\n  path: {home / 'Notes'}\n"
    assert "`vaultd serve`" in result.stdout


def test_everything_is_shown_before_it_is_made_and_no_means_no(run, home):
    result = run("init", "--vault", "Notes", input="n\n")

    assert result.exit_code == 1
    assert "This will be made:" in result.stdout
    assert f"folders in {home / 'Notes'}: permanent, dynamic" in result.stdout
    assert "vault.path" in result.stdout
    assert list(home.iterdir()) == []


def test_folder_is_asked_for_and_yes_is_the_default(run, home):
    result = run("init", input="Notes\n\n")

    assert result.exit_code == 0
    assert (home / "Notes/dynamic").is_dir()


def test_obsidians_folder_is_proposed_when_we_stand_in_it(run, home):
    (home / ".obsidian").mkdir()

    result = run("init", "--yes")

    assert result.exit_code == 0
    assert (home / "dynamic").is_dir()


def test_notes_that_are_there_stay_and_a_subfolder_may_hold_the_memories(run, home):
    note = home / "Notes" / "mine.md"
    note.parent.mkdir()
    note.write_bytes(b"mine\r\n")

    run("init", "--vault", "Notes", "--root", "AI/Memories", "--language", "en", "--yes")

    assert note.read_bytes() == b"mine\r\n"
    assert {item.name for item in (home / "Notes/AI/Memories").iterdir()} == FOLDERS
    assert run("config", "get", "memory.root").stdout == "AI/Memories\n"
    assert run("config", "get", "language").stdout == "en\n"


def test_second_time_has_nothing_to_do(run, home):
    run("init", "--vault", "Notes", "--yes")
    identity = (home / "Notes/.vaultd/vault.yaml").read_text()

    result = run("init", "--vault", "Notes", "--yes")

    assert result.stdout.startswith("Everything is there already.\n")
    assert (home / "Notes/.vaultd/vault.yaml").read_text() == identity


def test_wrong_subfolder_is_refused_before_anything_is_made(run, home):
    result = run("init", "--vault", "Notes", "--root", "../out", "--yes")

    assert result.exit_code == 1
    assert 'memory.root: "../out" is not allowed' in result.stderr
    assert list(home.iterdir()) == []


def test_folder_that_cannot_be_made_is_one_line(run, home):
    (home / "Notes").write_text("a file")

    result = run("init", "--vault", str(home / "Notes" / "below"), "--yes")

    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_a_base_for_obsidian_is_written_once_and_a_persons_edit_of_it_stays(run, home):
    run("init", "--vault", "Notes", "--with-base", "--yes")
    base = home / "Notes/Memories.base"
    assert yaml.safe_load(base.read_text())["views"]

    base.write_text("mine")
    assert run("init", "--vault", "Notes", "--with-base", "--yes").exit_code == 0

    assert base.read_text() == "mine"


def test_the_plugin_is_put_where_obsidian_looks_and_an_older_one_is_renewed(run, home):
    folder = home / "Notes/.obsidian/plugins/vaultd"
    assert run("init", "--vault", "Notes", "--with-plugin", "--yes").exit_code == 0
    assert {item.name for item in folder.iterdir()} == {"main.js", "manifest.json", "styles.css"}
    built = (folder / "main.js").read_bytes()

    (folder / "main.js").write_text("an older build")
    (folder / "data.json").write_text('{"port": 8001}')
    again = run("init", "--vault", "Notes", "--with-plugin", "--yes")

    assert again.exit_code == 0
    assert (folder / "main.js").read_bytes() == built
    assert (folder / "data.json").read_text() == '{"port": 8001}'


def test_the_settings_file_that_is_named_is_made_and_no_other_is_read(run, home):
    run("init", "--vault", "Notes", "--root", "Memories", "--yes")

    result = run("init", "--vault", "Other", "--yes", VAULTD_CONFIG=str(home / "other.yaml"))

    assert result.exit_code == 0, result.stderr
    assert (home / "other.yaml").read_text() == f"vault:\n  path: {home / 'Other'}\n"
    assert (home / "Other/dynamic").is_dir()
    assert run("config", "set", "language", "en", "--config", "third.yaml").exit_code == 0


@pytest.mark.parametrize(
    ("name", "value", "language"),
    [
        ("LANG", "en_US.UTF-8", "en"),
        ("LC_ALL", "de_DE.UTF-8", "en"),
        ("LANG", "zh_CN.UTF-8", "zh"),
        ("LANG", "C.UTF-8", "zh"),
    ],
)
def test_answers_are_in_the_accounts_language_at_first(run, home, name, value, language):
    run("init", "--vault", "Notes", "--yes", **{name: value})

    assert run("config", "get", "language").stdout == f"{language}\n"


def test_a_language_that_was_chosen_stays(run, home):
    run("init", "--vault", "Notes", "--language", "zh", "--yes")

    run("init", "--vault", "Other", "--yes", LANG="en_US.UTF-8")

    assert run("config", "get", "language").stdout == "zh\n"
