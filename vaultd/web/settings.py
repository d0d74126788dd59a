"""`/api/config`: all settings, masked; changed, the hot ones at once; endpoints of models tried out."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vaultd.core.errors import BadInput
from vaultd.services import Services
from vaultd.services.tuning import Shown
from vaultd.web.endpoints import Endpoint, answered, json_body, text_field


class Config:
    """Endpoints of settings."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def get(self, request: Request) -> Response:
        """All settings with their defaults and meaning; secrets masked."""
        return answered(request, self._all())

    async def change(self, request: Request) -> Response:
        """Put hot settings in force, write the others for the next start; secrets are never written to the file."""
        values = await json_body(request)
        if not values:
            raise BadInput('nothing to change; give settings by name, such as {"decay.threshold": 0.3}')
        changed = await self._services.tuning.change(values)
        return answered(request, {**self._all(), "changed": list(changed)})

    async def test(self, request: Request) -> Response:
        """Try the chat or the embedding model with a short text."""
        what = text_field(await json_body(request), "what", "")
        started = time.perf_counter()
        if what == "chat":
            said = await self._services.trial.chat()
        elif what == "embedding":
            said = await self._services.trial.embedding()
        else:
            raise BadInput("what: must be chat or embedding")
        elapsed = round((time.perf_counter() - started) * 1000)
        return answered(request, {"ok": said.ok, "message": said.message, "elapsed_ms": elapsed})

    def _all(self) -> dict[str, Any]:
        tuning = self._services.tuning
        return {
            "file": None if tuning.config is None else str(tuning.config),
            "sections": [
                {
                    "name": section.name,
                    "about": section.about,
                    "settings": [_setting(one) for one in section.settings],
                }
                for section in tuning.shown()
            ],
        }

    def endpoints(self) -> list[Endpoint]:
        """All endpoints of settings."""
        what = {"type": "object", "properties": {"what": {"type": "string", "enum": ["chat", "embedding"]}}}
        return [
            Endpoint("GET", "/api/config", self.get, "All settings, secrets masked"),
            Endpoint(
                "POST",
                "/api/config",
                self.change,
                "Change settings",
                "By dotted name. What is not hot is written to the file and `waits` for the next start; a secret holds "
                "until the daemon ends and is never written, so one that is not hot is refused.",
                body={"type": "object", "additionalProperties": True},
            ),
            Endpoint("POST", "/api/config/test", self.test, "Try the chat or the embedding model", body=what),
        ]


def _setting(one: Shown) -> dict[str, Any]:
    key = one.key
    return {
        "name": key.name,
        "about": key.about,
        "shape": key.shape.value,
        "allowed": key.allowed,
        "choices": list(key.choices),
        "low": key.low,
        "high": key.high,
        "value": one.value,
        "default": one.default,
        "is_set": one.is_set,
        "waits": one.waits,
        "next": one.next_value,
        "variable": one.variable,
        "hot": key.hot,
        "secret": key.secret,
        "variables": list(key.env),
    }
