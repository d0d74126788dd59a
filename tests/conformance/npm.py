"""The npm programs that the checks run, installed once into a cache folder outside the repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PACKAGES = {
    "tools": ("node@22.23.3", "@modelcontextprotocol/inspector@2.12.0"),
    # in a folder of its own: its dependencies are not the inspector's
    "conformance": ("@modelcontextprotocol/conformance@0.2.0-alpha.12",),
    "agent": ("@anthropic-ai/claude-code@2.1.332",),
    "codex": ("@openai/codex@0.171.0",),
    "apps": ("@modelcontextprotocol/ext-apps@2.0.4", "@modelcontextprotocol/client@2.4.0", "jsdom@29.1.1"),
}


def cache() -> Path:
    """The folder of all of them."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vaultd-mcp-check"


def installed(name: str) -> Path:
    """The `node_modules` of a set of packages, installed if it is not there in these versions yet.

    Raises CalledProcessError, with npm's own words on standard error; FileNotFoundError without npm.
    """
    folder = cache() / name
    mark = folder / ".installed"
    wanted = "\n".join(PACKAGES[name])
    if not mark.is_file() or mark.read_text(encoding="utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *PACKAGES[name]]
        subprocess.run(command, check=True, cwd=folder, timeout=600)
        mark.write_text(wanted, encoding="utf-8")
    return folder / "node_modules"


def node() -> Path:
    """Node 22: the suite and the inspector do not run on an older one."""
    return installed("tools") / "node" / "bin" / "node"


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of such a program: our Node first, and a home that is thrown away."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VAULTD_", "OMBRE_"))}
    path = f"{node().parent}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"PATH": path, "HOME": str(home), "DISABLE_TELEMETRY": "1"} | more
