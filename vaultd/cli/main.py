"""`vaultd`: the table of commands. A command's module is imported only when the command is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from click.exceptions import NoArgsIsHelpError

from vaultd.cli.output import Failure, complain
from vaultd.core.errors import VaultdError

FAILED: Final = 1

# name: (module and attribute, what it does in one line)
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("vaultd.cli.init:init", "Set up a vault: folders and settings."),
    "serve": ("vaultd.cli.serve:serve", "Serve the vault: MCP, REST API and dashboard."),
    "mcp": ("vaultd.cli.mcp:mcp", "Speak MCP on stdin and stdout, for clients that start it."),
    "status": ("vaultd.cli.status:status", "Tell whether a daemon runs, and how its index is."),
    "stop": ("vaultd.cli.stop:stop", "Stop the daemon of the vault."),
    "search": ("vaultd.cli.search:search", "Search memories and notes."),
    "add": ("vaultd.cli.add:add", "Keep a text as a memory."),
    "import": ("vaultd.cli.imports:import_", "Bring in conversations and notes from elsewhere."),
    "decay": ("vaultd.cli.decay:decay", "Run a forgetting cycle, or see what it would do."),
    "reindex": ("vaultd.cli.batch:reindex", "Read every note again, as if the index were new."),
    "reclassify": ("vaultd.cli.batch:reclassify", "Give memories without a topic area one."),
    "migrate": ("vaultd.cli.batch:migrate", "Move memories into the folders of their topic areas."),
    "calibrate": ("vaultd.cli.calibrate:calibrate", "Fit the similarities of another embedding model."),
    "token": ("vaultd.cli.token:token", "Show or renew the token, or print a login link."),
    "conflicts": ("vaultd.cli.conflicts:conflicts", "List what sync tools left to decide, and solve it."),
    "confirm-deletions": ("vaultd.cli.confirm:confirm_deletions", "Say that a mass deletion is meant."),
    "log": ("vaultd.cli.writelog:log", "Show what vaultd wrote."),
    "undo": ("vaultd.cli.writelog:undo", "Take a write back."),
    "lifecycle": ("vaultd.cli.lifecycle:lifecycle", "Choose the machine that forgets and moves."),
    "git": ("vaultd.cli.git:git", "Let git merge notes property by property."),
    "merge-file": ("vaultd.cli.mergefile:merge_file", "Merge two versions of a note (git calls this)."),
    "doctor": ("vaultd.cli.doctor:doctor", "Find what is wrong, and say how to mend it."),
    "config": ("vaultd.cli.config:config", "Show and change settings; set up MCP clients."),
    "hook": ("vaultd.cli.hook:hook", "What the hooks of agents call."),
    "service": ("vaultd.cli.service:service", "Have the daemon started when you log in."),
    "bench": ("vaultd.cli.bench:bench", "Measure this machine, on a vault made for it."),
    "demo": ("vaultd.cli.demo:demo", "Try vaultd on a sample vault."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-liners, and imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `vaultd --help`, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with a guess where the name is unknown."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no command is called {args[0]!r}{_guess(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what vaultd raises on purpose becomes one line and exit code 1."""
        try:
            return super().invoke(ctx)
        except VaultdError as exc:
            raise Failure(str(exc)) from exc

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = "vaultd",
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As click's, but wrong usage is one line as well, and a command may return its exit code."""
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as exc:
            if not standalone_mode:
                raise
            _tell(exc)
            sys.exit(exc.exit_code)
        except click.Abort:
            if not standalone_mode:
                raise
            complain("stopped")
            sys.exit(FAILED)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _tell(exc: click.ClickException) -> None:
    if isinstance(exc, NoArgsIsHelpError):
        exc.show()
    elif isinstance(exc, click.UsageError):
        where = exc.ctx.command_path if exc.ctx else "vaultd"
        said = exc.format_message()
        complain(f"{said}{'' if said.endswith(('.', '?')) else '.'} See `{where} --help`.")
    else:
        complain(exc.format_message())


def _guess(name: str) -> str:
    import difflib  # only for a mistake

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib import metadata

    try:
        version = metadata.version("vaultd")
    except metadata.PackageNotFoundError:
        version = "(from a checkout that is not installed)"
    click.echo(f"vaultd {version}")
    ctx.exit()


@click.group(
    name="vaultd",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command explains itself: vaultd COMMAND --help",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Long-term memory for language models, kept as Markdown notes in your Obsidian vault."""
