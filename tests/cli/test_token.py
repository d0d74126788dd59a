from vaultd.config.paths import state_folder, token_file


def test_token_is_made_once_and_shown(run, vault, home):
    first, second = run("token"), run("token")

    assert first.exit_code == 0
    assert len(first.stdout.strip()) >= 32
    assert second.stdout == first.stdout
    assert token_file(state_folder(vault, home / "state")).read_text() == first.stdout


def test_new_token_takes_the_place_of_the_old(run, vault):
    old = run("token").stdout

    new = run("token", "--new").stdout

    assert new != old
    assert run("token").stdout == new


def test_token_that_is_set_by_a_variable_is_shown_and_not_renewed(run, vault):
    assert run("token", VAULTD_TOKEN="mine").stdout == "mine\n"

    refused = run("token", "--new", VAULTD_TOKEN="mine")

    assert refused.exit_code == 1
    assert refused.stderr == "vaultd: the token is set by VAULTD_TOKEN or the settings file; change it there\n"


def test_running_daemons_token_is_the_one_that_counts(run, daemon):
    assert run("token").stdout == "right\n"
    assert "until it is started again" in run("token", "--new").stderr
    assert run("token").stdout == "right\n"


def test_link_comes_from_the_daemon(run, daemon):
    result = run("token", "--link")

    assert result.stdout == "http://127.0.0.1:1/login?once=x\n"
    assert daemon.seen[-1] == ("POST", "/api/login-link", {})


def test_link_needs_a_daemon(run, vault):
    result = run("token", "--link")

    assert result.exit_code == 1
    assert result.stderr == f"vaultd: no daemon serves {vault}; start it with `vaultd serve`\n"


def test_link_and_new_exclude_each_other(run, vault):
    assert run("token", "--link", "--new").exit_code == 2
