"""`vaultd service`: have the platform's service manager start the daemon and keep it running."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from vaultd.cli.clients import executable
from vaultd.cli.options import json_option, load_settings, state_of, vault_of, vault_options
from vaultd.cli.output import Failure, note, print_json, say
from vaultd.cli.serviceunits import agent_path, launchd_agent, systemd_unit, unit_path
from vaultd.config.files import write_text
from vaultd.config.loading import Loaded, secrets_in
from vaultd.config.paths import default_config_path, log_file
from vaultd.config.runtime import find_daemon
from vaultd.core.errors import BadInput
from vaultd.core.findings import Finding

COMMAND_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Unit:
    """The service of one vault: its name for the manager, its file, and what belongs into it."""

    label: str
    path: Path
    text: str
    systemd: bool

    @property
    def up(self) -> list[list[str]]:
        """The commands that make the manager start it, now and at each login."""
        if self.systemd:
            name = self.path.name
            return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", name]]
        return [["launchctl", "bootstrap", _domain(), str(self.path)]]

    @property
    def down(self) -> list[list[str]]:
        """The commands that stop it for good."""
        if self.systemd:
            return [["systemctl", "--user", "disable", "--now", self.path.name]]
        return [["launchctl", "bootout", f"{_domain()}/{self.label}"]]

    @property
    def asked(self) -> list[str]:
        """The command whose exit code says whether it runs."""
        if self.systemd:
            return ["systemctl", "--user", "is-active", "--quiet", self.path.name]
        return ["launchctl", "print", f"{_domain()}/{self.label}"]


@click.group()
def service() -> None:
    """Have the daemon started when you log in, and kept running.

    A systemd user unit on Linux, a launchd agent on macOS; nothing needs administrator's rights.

    \b
    Examples:
      vaultd service install --print
      vaultd service install
      vaultd service status
    """


@service.command()
@vault_options
@click.option("--print", "only_print", is_flag=True, help="Only show the file and where it would be.")
def install(config: Path | None, vault: Path | None, only_print: bool) -> None:
    """Install the service and start it.

    Secrets in the environment are not copied; keep them in the settings file.

    \b
    Examples:
      vaultd service install --vault ~/Notes --print
    """
    loaded = load_settings(config, vault)
    unit = unit_of(loaded)
    if only_print:
        note(f"For {unit.path}:")
        click.echo(unit.text, nl=False)
        return
    _need(unit.up[0][0])
    for name in secrets_in(os.environ):
        note(f"{name} is not copied: put it into the settings file, or the service goes without.")
    running = find_daemon(vault_of(loaded.settings), loaded.settings.state_dir)
    if running is not None and not _runs(unit):
        raise BadInput(f"a daemon (process {running.pid}) serves this vault already; end it first: vaultd stop")
    if unit.systemd is False and _runs(unit):
        _do(unit.down[0])
    write_text(unit.path, unit.text)
    for command in unit.up:
        _do(command)
    say(f"{unit.label} runs, now and at each login ({unit.path})")
    if unit.systemd:
        note("While nobody is logged in, too: loginctl enable-linger")


@service.command()
@vault_options
@json_option
def status(config: Path | None, vault: Path | None, as_json: bool) -> int:
    """Say whether the service is installed and runs; exit code 1 where not.

    \b
    Examples:
      vaultd service status
    """
    unit = unit_of(load_settings(config, vault))
    installed = unit.path.is_file()
    runs = installed and _runs(unit)
    changed = installed and unit.path.read_text(encoding="utf-8") != unit.text
    if as_json:
        print_json(
            {"name": unit.label, "file": str(unit.path), "installed": installed, "running": runs, "changed": changed}
        )
        return 0 if runs else 1
    if not installed:
        say("not installed; vaultd service install")
        return 1
    say(f"{unit.label} {'runs' if runs else 'is installed and does not run'} ({unit.path})")
    if changed:
        note("Its file is not what would be installed now; `vaultd service install` renews it.")
    return 0 if runs else 1


@service.command()
@vault_options
@click.option("--print", "only_print", is_flag=True, help="Only show what would be done.")
def uninstall(config: Path | None, vault: Path | None, only_print: bool) -> None:
    """Stop the service and take its file away.

    \b
    Examples:
      vaultd service uninstall --print
    """
    unit = unit_of(load_settings(config, vault))
    if only_print:
        for command in unit.down:
            say(" ".join(command))
        say(f"rm {unit.path}")
        return
    if not unit.path.is_file():
        say("not installed")
        return
    _need(unit.down[0][0])
    if _runs(unit):
        for command in unit.down:
            _do(command)
    unit.path.unlink(missing_ok=True)
    if unit.systemd:
        _do(unit.up[0])
    say(f"{unit.label} is gone")


def unit_of(loaded: Loaded) -> Unit:
    """The service for these settings. Raises BadInput where the platform has none that we know."""
    settings = loaded.settings
    vault, state = vault_of(settings).absolute(), state_of(settings)
    command = [*executable(), "serve", "--if-needed", "--vault", str(vault)]
    if loaded.exists and loaded.path != default_config_path():
        command += ["--config", str(loaded.path.absolute())]
    environ = {"VAULTD_STATE_DIR": str(settings.state_dir)} if settings.state_dir else {}
    digest = state.name.rpartition("-")[2]  # of the vault's real path: one service a vault
    if sys.platform == "darwin":
        label = f"vaultd.{digest}"
        text = launchd_agent(command, label=label, log=log_file(state), environ=environ)
        return Unit(label, agent_path(label), text, systemd=False)
    if sys.platform.startswith("linux"):
        label = f"vaultd-{digest}"
        return Unit(label, unit_path(label), systemd_unit(command, vault=vault, environ=environ), systemd=True)
    raise BadInput(f"no service manager is known here; have this run at login: {subprocess.list2cmdline(command)}")


def findings(loaded: Loaded) -> list[Finding]:
    """What is wrong with the service; nothing where none is installed, or the platform has none that we know."""
    try:
        unit = unit_of(loaded)
    except BadInput:
        return []
    if not unit.path.is_file():
        return []
    if unit.path.read_text(encoding="utf-8") != unit.text:
        what = "its file is not what would be installed now: another vaultd, vault or settings file"
        return [Finding("warning", what, f"service {unit.label}", "`vaultd service install` renews it")]
    if not _runs(unit):
        what = "it is installed and does not run"
        return [Finding("warning", what, f"service {unit.label}", f"ask its manager: {' '.join(unit.asked)}")]
    return []


def _domain() -> str:
    return f"gui/{os.getuid()}"  # type: ignore[attr-defined,unused-ignore]  # asked on macOS alone


def _need(program: str) -> None:
    if shutil.which(program) is None:
        raise BadInput(f"{program} is not there; `vaultd service install --print` shows what another manager needs")


def _runs(unit: Unit) -> bool:
    if shutil.which(unit.asked[0]) is None:
        return False
    return _ran(unit.asked).returncode == 0


def _do(command: list[str]) -> None:
    done = _ran(command)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(f"`{' '.join(command)}` failed: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Failure(f"`{' '.join(command)}` failed: {exc}") from exc
