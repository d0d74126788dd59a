import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from vaultd.cli.main import cli

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_what_the_commands_say():
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts/cli_docs.py"), "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": "/nowhere"},
        check=False,
        timeout=120,
    )

    assert checked.returncode == 0, "run python scripts/cli_docs.py"


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it."""
    yield name, command
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), below)
            assert found is not None
            yield from commands(found, f"{name} {below}")


def test_every_command_shows_an_example_of_itself():
    named = [pair for pair in commands(cli, "vaultd") if pair[0] != "vaultd"]

    without = [name for name, command in named if f"  {name}" not in (command.help or "").partition("Examples:")[2]]

    assert without == []
