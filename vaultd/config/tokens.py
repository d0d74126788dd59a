"""Tokens beside the owner's, each for one scope of cards; kept in the state folder, readable by its owner alone."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vaultd.config.files import PRIVATE
from vaultd.core.errors import SettingsError, StorageFull
from vaultd.wholefile import write_whole

FILE: Final = "scoped-tokens.json"
BYTES: Final = 32


def scoped_tokens(state: Path) -> Mapping[str, str]:
    """The tokens by scope. Raises SettingsError for a file that can't be read: nobody is let in by mistake."""
    place = state / FILE
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise SettingsError(f"{place} can't be read ({exc}); delete it to begin anew") from exc
    if not isinstance(found, dict) or not all(isinstance(value, str) and value for value in found.values()):
        raise SettingsError(f"{place} must hold scopes with their tokens; delete it to begin anew")
    return dict(found)


def token_of_scope(state: Path, scope: str) -> str:
    """The token of a scope; made at the first call. Raises SettingsError, StorageFull."""
    scope = " ".join(scope.split())
    if not scope:
        raise SettingsError("a scope needs a name, such as work")
    known = dict(scoped_tokens(state))
    if scope not in known:
        known[scope] = secrets.token_urlsafe(BYTES)
        _keep(state / FILE, known)
    return known[scope]


def _keep(place: Path, tokens: Mapping[str, str]) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(place, json.dumps(tokens, ensure_ascii=False).encode(), mode=PRIVATE)
    except OSError as exc:
        raise StorageFull(f"{place} can't be written: {exc.strerror}") from exc
