"""`vaultd hook`: what an agent's own hooks call. Quick, and never in the way: whatever fails, the session begins."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from vaultd.cli.options import load_settings, vault_options
from vaultd.cli.output import note, say
from vaultd.cli.reach import found_or_started
from vaultd.cli.token import token_of
from vaultd.config.loading import Loaded
from vaultd.core.errors import VaultdError

LONGEST_S: Final = 8.0  # from the start of the process; hosts give hooks longer, but a person waits
_SPARE_S: Final = 1.0  # what starting Python took, and leaving takes
_FOR_TEXTS_S: Final = 2.0  # kept for the two texts while a daemon is still reading the vault
_LOOK_EVERY_S: Final = 0.1
_PATHS: Final = ("/breath-hook", "/dream-hook")


@click.group()
def hook() -> None:
    """What the hooks of agents call.

    \b
    Examples:
      vaultd hook session-start
    """


@hook.command(name="session-start")
@vault_options
def session_start(config: Path | None, vault: Path | None) -> None:
    """Print what surfaces and what wants reflecting on, for an agent whose session begins.

    Within eight seconds and with exit code 0 in any case: a session never waits for its memory. A daemon is
    started where none runs. VAULTD_HOOK_SKIP=1 keeps it silent; VAULTD_HOOK_URL names a daemon elsewhere.

    For Claude Code, in ~/.claude/settings.json:

    \b
      {"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "vaultd hook session-start", "timeout": 10}]}]}}
    """
    deadline = time.monotonic() + LONGEST_S - _SPARE_S
    try:
        loaded = load_settings(config, vault)
        texts = [] if loaded.settings.hook.skip else _within(deadline, lambda: _texts(loaded, deadline))
    except VaultdError as exc:
        note(f"vaultd: no memories at the start of this session ({exc})")
        return
    if texts:
        say("\n\n".join(texts))


class TooSlow(VaultdError):
    """No answer in time."""

    def __init__(self) -> None:
        super().__init__(f"no answer within {LONGEST_S:.0f} s; it is there with the next session")


def _within(deadline: float, work: Callable[[], list[str]]) -> list[str]:
    """The result of work that may hang, unless it takes longer. Raises TooSlow, and what the work raises."""
    results: list[list[str] | VaultdError] = []

    def run() -> None:
        try:
            results.append(work())
        except VaultdError as exc:
            results.append(exc)

    thread = threading.Thread(target=run, name="hook", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not results:
        raise TooSlow
    if isinstance(results[0], VaultdError):
        raise results[0]
    return results[0]


def _texts(loaded: Loaded, deadline: float) -> list[str]:
    url, token = _daemon(loaded)
    while time.monotonic() < deadline - _FOR_TEXTS_S and not _is_ready(_get(url, "/api/status", token)):
        time.sleep(_LOOK_EVERY_S)
    return [text for path in _PATHS if (text := _get(url, path, token).strip())]


def _is_ready(status: str) -> bool:
    try:
        found = json.loads(status)
    except ValueError:
        return True  # not our daemon's answer: then the texts tell
    return not isinstance(found, dict) or found.get("ready") is not False


def _daemon(loaded: Loaded) -> tuple[str, str]:
    settings = loaded.settings
    if settings.hook.url:
        return settings.hook.url.rstrip("/"), os.environ.get("VAULTD_TOKEN", "").strip() or token_of(settings)
    runtime = found_or_started(loaded, quiet=True)
    return runtime.url, runtime.token


def _get(url: str, path: str, token: str) -> str:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=LONGEST_S)
    try:
        connection.request("GET", parts.path.rstrip("/") + path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as exc:
        raise VaultdError(f"{url} does not answer: {exc or type(exc).__name__}") from exc
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise VaultdError(f"{url}{path} answered {answer.status}")
    return text
