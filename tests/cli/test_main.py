import importlib
import os
import subprocess
import sys

import click
import pytest

from vaultd.cli.main import COMMANDS

HEAVY = {"mcp", "lancedb", "pyarrow", "openai", "starlette", "uvicorn", "numpy", "rich", "apscheduler", "pydantic"} | {
    "asyncio",
    "urllib.request",
}


def test_help_names_every_command_with_its_line(run):
    result = run("--help")

    assert result.exit_code == 0
    for name, (_, about) in COMMANDS.items():
        assert name in result.stdout
        assert about in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_explains_itself(run, name):
    result = run(name, "--help")

    assert result.exit_code == 0
    assert f"Usage: vaultd {name}" in result.stdout
    module, _, attribute = COMMANDS[name][0].partition(":")
    assert isinstance(getattr(importlib.import_module(module), attribute), click.Command)


def test_wrong_usage_is_one_line_and_exit_code_2(run):
    cases = {
        ("statsu",): "vaultd: no command is called 'statsu'; did you mean 'status'? See `vaultd --help`.\n",
        ("xyzzy",): "vaultd: no command is called 'xyzzy'. See `vaultd --help`.\n",
        ("status", "--jsno"): "vaultd: No such option '--jsno'. Did you mean '--json'? See `vaultd status --help`.\n",
        ("serve", "--port", "x"): (
            "vaultd: Invalid value for '--port': 'x' is not a valid integer. See `vaultd serve --help`.\n"
        ),
    }
    for args, expected in cases.items():
        result = run(*args)
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", expected)


def test_failure_is_one_line_and_exit_code_1(run):
    result = run("status")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "vaultd: no vault is set; use --vault DIR or VAULTD_VAULT, or make one with `vaultd init`\n"
    )


def test_wrong_setting_stops_every_command_before_it_starts(run):
    for args in (("serve",), ("mcp",), ("status",), ("token",)):
        result = run(*args, VAULTD_PORT="x")
        assert result.exit_code == 1
        assert result.stderr == 'vaultd: server.port: "x" is not allowed; use 0…65535 (VAULTD_PORT)\n'


def test_no_command_at_all_shows_the_help(run):
    result = run()

    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_version_is_printed(run):
    result = run("--version")

    assert result.exit_code == 0
    assert result.stdout.startswith("vaultd ")


def test_as_a_process_it_leaves_with_the_same_codes(home):
    environ = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONPATH": os.pathsep.join(sys.path)}

    def code(*args: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "vaultd", *args], env=environ, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert code("config", "path") == (0, f"{home / '.config/vaultd/config.yaml'}\n", "")
    assert code("status")[0] == 1
    assert code("nonsense")[0] == 2


def test_light_commands_import_nothing_heavy():
    light = "status stop mcp serve token config search add writelog conflicts doctor decay hook"
    names = ", ".join(f"vaultd.cli.{name}" for name in light.split())
    code = f"import vaultd.__main__, {names}, sys; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)

    assert not HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_offered(run, shell):
    result = run(_VAULTD_COMPLETE=f"{shell}_source")

    assert result.exit_code == 0
    assert "_VAULTD_COMPLETE" in result.stdout


def test_completion_finds_commands(run):
    result = run(_VAULTD_COMPLETE="bash_complete", COMP_WORDS="vaultd sta", COMP_CWORD="1")

    assert "plain,status" in result.stdout


def test_completion_finds_settings(run):
    result = run(_VAULTD_COMPLETE="bash_complete", COMP_WORDS="vaultd config get matching.to", COMP_CWORD="3")

    assert result.stdout == "plain,matching.topic\n"
