"""The files by which a service manager starts the daemon: a systemd user unit, a launchd agent."""

from __future__ import annotations

import os
import plistlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

WATCHDOG_S: Final = 60  # without a word from the daemon's loop for so long, systemd starts it anew
RESTART_S: Final = 5


def unit_path(label: str) -> Path:
    """Where systemd looks for a user's unit."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "systemd" / "user" / f"{label}.service"


def systemd_unit(command: Sequence[str], *, vault: Path, environ: Mapping[str, str]) -> str:
    """A user unit that keeps the daemon running; see systemd.service(5)."""
    lines = [
        "[Unit]",
        f"Description=vaultd, memory in {_escaped(str(vault))}",
        "StartLimitIntervalSec=300",
        "StartLimitBurst=5",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(_quoted(word, in_command=True) for word in command)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environ.items()),
        f"WatchdogSec={WATCHDOG_S}",
        "Restart=on-failure",
        f"RestartSec={RESTART_S}",
        "RestartPreventExitStatus=0 2",  # served already, wrong settings: starting it again would change nothing
        "TimeoutStartSec=120",
        "TimeoutStopSec=15",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str, *, in_command: bool = False) -> str:
    """A word as systemd reads it; specifiers are off, and variables, which only commands have."""
    safe = _escaped(word).replace("$", "$$") if in_command else _escaped(word)
    if re.fullmatch(r"[\w@%+=:,./$-]+", safe, re.ASCII):
        return safe
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'


def agent_path(label: str) -> Path:
    """Where launchd looks for a user's agent."""
    return Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"


def launchd_agent(command: Sequence[str], *, label: str, log: Path, environ: Mapping[str, str]) -> str:
    """An agent that keeps the daemon running; see launchd.plist(5)."""
    agent: dict[str, object] = {
        "Label": label,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_S,
        "ProcessType": "Background",
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
        "Umask": 0o077,
    }
    if environ:
        agent["EnvironmentVariables"] = dict(environ)
    return plistlib.dumps(agent, sort_keys=False).decode()
