"""MCP clients: where each keeps its settings, and what it needs there to reach a vault.

Places and forms as the clients' own documentation gives them in November 2026.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vaultd.cli.clientfiles import Written, merge_json, merge_toml

SERVER: Final = "vaultd"  # the name under which clients list us


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client reaches the daemon: by a process that it starts, or by address and token."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    token: str = ""

    @classmethod
    def by_process(cls, vault: Path, config: Path | None, env: Mapping[str, str]) -> Connection:
        """Start `vaultd mcp` with absolute paths: clients have neither our folder nor our search path."""
        command, *before = executable()
        options = ("--config", str(config.absolute())) if config else ()
        args = (*before, "mcp", "--vault", str(vault.absolute()), *options)
        return cls(command=command, args=args, env=env)

    @property
    def authorization(self) -> dict[str, str]:
        """The header that carries the token."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def process(self) -> dict[str, object]:
        """The form that all clients share for a process to start."""
        entry: dict[str, object] = {"command": self.command, "args": list(self.args)}
        return entry | ({"env": dict(self.env)} if self.env else {})


@dataclass(frozen=True, slots=True)
class Client:
    """One MCP client. `entry` makes our part of its file; `http` tells whether it takes an address there."""

    path: Callable[[], Path]
    entry: Callable[[Connection], dict[str, object]]
    table: str = "mcpServers"
    toml: bool = False
    http: bool = True
    hint: Callable[[Connection], str] | None = None


def executable() -> list[str]:
    """The absolute command that runs this vaultd."""
    name = "vaultd.exe" if sys.platform == "win32" else "vaultd"
    beside = Path(sys.executable).parent / name
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "vaultd"]


def snippet(client: Client, connection: Connection) -> str:
    """What belongs into the client's file, ready to paste."""
    entry = client.entry(connection)
    if client.toml:
        return merge_toml("", client.table, SERVER, entry)
    return json.dumps({client.table: {SERVER: entry}}, ensure_ascii=False, indent=2) + "\n"


def write_client(client: Client, connection: Connection) -> Written:
    """Merge our entry into the client's file, with a backup of it. Raises SettingsError."""
    merge = merge_toml if client.toml else merge_json
    return Written.into(client.path(), lambda text: merge(text, client.table, SERVER, client.entry(connection)))


def _plain(connection: Connection) -> dict[str, object]:
    if connection.url:
        return {"url": connection.url, "headers": connection.authorization}
    return connection.process


def _claude_code(connection: Connection) -> dict[str, object]:
    if connection.url:
        return {"type": "http", "url": connection.url, "headers": connection.authorization}
    return {"type": "stdio", **connection.process}


def _gemini(connection: Connection) -> dict[str, object]:
    if connection.url:
        return {"httpUrl": connection.url, "headers": connection.authorization}
    return connection.process


def _codex(connection: Connection) -> dict[str, object]:
    if connection.url:
        return {"url": connection.url, "http_headers": connection.authorization}
    return connection.process


def _claude_code_hint(connection: Connection) -> str:
    if connection.url:
        words = ["--transport", "http", SERVER, connection.url]
        words += ["--header", f"Authorization: Bearer {connection.token}"]
    else:
        env = [word for name, value in connection.env.items() for word in ("--env", f"{name}={value}")]
        words = [*env, SERVER, "--", connection.command, *connection.args]
    return f"Or by its own command:\n{shlex.join(['claude', 'mcp', 'add', '--scope', 'user', *words])}"


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _claude_desktop_path() -> Path:
    name = "claude_desktop_config.json"
    if sys.platform == "darwin":
        return _home("Library", "Application Support", "Claude", name)
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _home("AppData", "Roaming")) / "Claude" / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or _home(".config")) / "Claude" / name


def _claude_code_path() -> Path:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(own) / ".claude.json" if own else _home(".claude.json")


def _codex_path() -> Path:
    return Path(os.environ.get("CODEX_HOME") or _home(".codex")) / "config.toml"


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-desktop": Client(path=_claude_desktop_path, entry=_plain, http=False),
    "claude-code": Client(path=_claude_code_path, entry=_claude_code, hint=_claude_code_hint),
    "cursor": Client(path=lambda: _home(".cursor", "mcp.json"), entry=_plain),
    "codex": Client(path=_codex_path, entry=_codex, table="mcp_servers", toml=True),
    "gemini": Client(path=lambda: _home(".gemini", "settings.json"), entry=_gemini),
}
