"""`vaultd hook`: what an agent's own hooks call. Quick, and never in the way: whatever fails, the session begins."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from vaultd.cli.options import load_settings, vault_of, vault_options
from vaultd.cli.output import note, say
from vaultd.cli.reach import found_or_started
from vaultd.cli.token import token_of
from vaultd.config.loading import Loaded
from vaultd.config.runtime import find_daemon
from vaultd.core.errors import VaultdError
from vaultd.settings import Settings

LONGEST_S: Final = 8.0  # from the start of the process; hosts give hooks longer, but a person waits
STARTING_S: Final = 4.0  # the same, where the daemon must be started first: it goes on by itself
_SPARE_S: Final = 1.0  # what starting Python took, and leaving takes
_FOR_TEXTS_S: Final = 1.5  # kept for the two texts while a daemon is still reading the vault
_LOOK_EVERY_S: Final = 0.1
_PATHS: Final = ("/breath-hook", "/dream-hook")
_STARTING: Final[Mapping[str, str]] = {
    "zh": "（vaultd 正在启动，记忆稍后可用；需要时调用 breath。）",
    "en": "(vaultd is starting; its memories are there in a moment: call breath.)",
}


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

    Within eight seconds and with exit code 0 in any case: a session never waits for its memory. Where no
    daemon runs, one is started, which goes on by itself; what it can say within four seconds is printed, else
    that memories are there in a moment. VAULTD_HOOK_SKIP=1 keeps it silent; VAULTD_HOOK_URL names a daemon
    elsewhere.

    For Claude Code, in ~/.claude/settings.json:

    \b
      {"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "vaultd hook session-start", "timeout": 10}]}]}}

    \b
    Examples:
      vaultd hook session-start
      VAULTD_HOOK_URL=http://127.0.0.1:8000 vaultd hook session-start
    """
    begun = time.monotonic() - _SPARE_S
    try:
        loaded = load_settings(config, vault)
        texts = [] if loaded.settings.hook.skip else _texts(loaded, begun)
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


def _texts(loaded: Loaded, begun: float) -> list[str]:
    """The two texts; where the daemon is only starting, what it can say already. Raises VaultdError."""
    there = _daemon(loaded.settings)
    starting = [_STARTING[loaded.settings.language]]
    wait_until = begun + STARTING_S - _FOR_TEXTS_S
    if there is not None:
        return _within(begun + LONGEST_S, lambda: _asked(*there, wait_until) or starting)

    def started() -> list[str]:
        runtime = found_or_started(loaded, quiet=True)
        return _asked(runtime.url, runtime.token, wait_until) or starting

    try:
        return _within(begun + STARTING_S, started)
    except TooSlow:
        return starting


def _asked(url: str, token: str, wait_until: float) -> list[str]:
    """The two texts, once the index is ready or time is up; none where nothing is in the index yet."""
    while (status := _status(url, token)).get("ready") is False and time.monotonic() < wait_until:
        time.sleep(_LOOK_EVERY_S)
    if status.get("ready") is False and not status.get("notes"):
        return []
    return [text for path in _PATHS if (text := _get(url, path, token).strip())]


def _status(url: str, token: str) -> Mapping[str, object]:
    try:
        found = json.loads(_get(url, "/api/status", token))
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}  # where it is not our daemon's answer, the texts tell


def _daemon(settings: Settings) -> tuple[str, str] | None:
    """Address and token of the daemon that is set, or that serves the vault; None where none does."""
    if settings.hook.url:
        return settings.hook.url.rstrip("/"), os.environ.get("VAULTD_TOKEN", "").strip() or token_of(settings)
    runtime = find_daemon(vault_of(settings), settings.state_dir)
    return None if runtime is None else (runtime.url, runtime.token)


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
