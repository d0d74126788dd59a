"""Writes docs/cli.md from the commands themselves.

python scripts/cli_docs.py           write it
python scripts/cli_docs.py --check   leave with 1 where it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from vaultd.cli.main import COMMANDS, cli

TARGET = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """\
# The command line

Made from the commands by `scripts/cli_docs.py`; a test holds it true.

Every command explains itself with `--help`. The vault is named by `--vault`, by `VAULTD_VAULT` or by the settings file, in
this order. Commands that need the daemon start it when none runs; it goes on in the background. Where a script might ask,
there is `--json`: the answer on standard output, everything about it on standard error. Progress is a bar on a terminal and
plain lines elsewhere. Exit codes: 0 done, 1 failed (one line says what to do), 2 wrong usage.

Shell completion: `eval "$(_VAULTD_COMPLETE=bash_source vaultd)"` in `.bashrc`, with `zsh_source` in `.zshrc`, and
`_VAULTD_COMPLETE=fish_source vaultd | source` in fish's `config.fish`.
"""


def document() -> str:
    """The whole page."""
    parts = [HEAD, "| command | what it does |\n| --- | --- |"]
    parts[1] += "".join(f"\n| [`vaultd {name}`](#vaultd-{name}) | {about} |" for name, (_, about) in COMMANDS.items())
    root = click.Context(cli, info_name="vaultd", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        parts += sections(command, root, name, level=2)
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def sections(command: click.Command, parent: click.Context, name: str, *, level: int) -> Iterator[str]:
    """A command's section, and those of the commands below it."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100, terminal_width=100)
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from sections(found, context, below, level=level + 1)


def main() -> int:
    """Write or check; the exit code."""
    text = document()
    if "--check" in sys.argv:
        return 0 if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
