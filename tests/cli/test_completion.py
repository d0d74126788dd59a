import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vaultd.cli.main import COMMANDS


@pytest.fixture
def path(home, monkeypatch) -> Path:
    """A folder with a `vaultd` to complete, first on the search path."""
    folder = home / "bin"
    folder.mkdir()
    program = folder / "vaultd"
    # as the script that installers write: its own name is what it is called by
    program.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' -c \"import sys; sys.argv[0] = 'vaultd'; from vaultd.__main__ import main; main()\" \"$@\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return folder


def sourced(shell: str) -> str:
    done = subprocess.run(
        ["vaultd"],
        env={**os.environ, "_VAULTD_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_it_can_read(path, shell, home):
    script = sourced(shell)

    assert "_VAULTD_COMPLETE" in script
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False, timeout=60)
        assert checked.returncode == 0, checked.stderr


def test_commands_options_and_choices_are_completed(path, run):
    def completed(words: str) -> set[str]:
        environ = {
            "_VAULTD_COMPLETE": "bash_complete",
            "COMP_WORDS": f"vaultd {words}",
            "COMP_CWORD": str(len(words.split()) + words.endswith(" ")),
        }
        done = subprocess.run(
            ["vaultd"], env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=60
        )
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    assert {"search", "serve", "service"} <= completed("se")
    assert "--dry-run" in completed("decay --d")
    assert {"claude-desktop", "codex"} <= completed("config client c")
    assert "review" in completed("import re")


def test_every_command_shows_an_example(run):
    without = {"merge-file"}  # git calls it, nobody else
    for name in COMMANDS:
        text = run(name, "--help").stdout
        assert name in without or "Examples:" in text, name
