"""The models that an OpenAI-compatible endpoint offers, asked without a client library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Final

from vaultd.core.errors import ModelBadAnswer, ModelRefused, ModelUnavailable, SettingsError

TIMEOUT_S: Final = 20.0
_REFUSED: Final = frozenset({401, 403})


def list_models(base_url: str, api_key: str, section: str) -> list[str]:
    """The ids of the models at `base_url`, sorted. `section` is the settings' section, for messages.

    Raises SettingsError where no address is set, ModelRefused, ModelUnavailable, ModelBadAnswer.
    """
    if not base_url:
        raise SettingsError(f"{section}.base_url: no endpoint is set; set it first")
    request = urllib.request.Request(f"{base_url}/models", headers={"Accept": "application/json"})
    if api_key:
        request.add_header("Authorization", f"Bearer {api_key}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            found: Any = json.loads(answer.read())
    except urllib.error.HTTPError as exc:
        exc.close()  # it is the answer as well, and holds the connection
        if exc.code in _REFUSED:
            raise ModelRefused(f"{base_url} refused the key ({exc.code}); check {section}.api_key") from exc
        raise ModelUnavailable(f"{base_url}/models answered {exc.code}; check {section}.base_url") from exc
    except OSError as exc:
        raise ModelUnavailable(f"{base_url} cannot be reached ({_reason(exc)}); check {section}.base_url") from exc
    except ValueError as exc:
        raise ModelBadAnswer(f"{base_url}/models did not answer with JSON; check {section}.base_url") from exc
    listed = found.get("data") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ModelBadAnswer(f"{base_url}/models gave no list of models; check {section}.base_url")
    return sorted(str(item["id"]) for item in listed if isinstance(item, dict) and "id" in item)


def _reason(exc: OSError) -> str:
    return str(exc.reason if isinstance(exc, urllib.error.URLError) else exc)
