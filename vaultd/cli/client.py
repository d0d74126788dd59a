"""The daemon's REST API as the commands use it. No heavy imports: `vaultd status` must be there at once."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode, urlsplit

from vaultd.config.runtime import Runtime
from vaultd.core.errors import VaultdError

TIMEOUT_S: Final = 60.0


class DaemonError(VaultdError):
    """The daemon refused a request or could not be reached; `status` is 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class DaemonClient:
    """Requests to one running daemon, with its token."""

    def __init__(self, runtime: Runtime, *, timeout_s: float = TIMEOUT_S) -> None:
        self._runtime = runtime
        self._timeout_s = timeout_s

    def get(self, path: str, query: Mapping[str, str | int | float] | None = None) -> Any:
        """The JSON answer of a GET. Raises DaemonError."""
        return self._request("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """The JSON answer of a POST with a JSON body. Raises DaemonError."""
        return self._request("POST", path, body or {})

    def patch(self, path: str, body: Mapping[str, object]) -> Any:
        """The JSON answer of a PATCH with a JSON body. Raises DaemonError."""
        return self._request("PATCH", path, body)

    def delete(self, path: str) -> Any:
        """The JSON answer of a DELETE. Raises DaemonError."""
        return self._request("DELETE", path, None)

    def upload(self, path: str, file: BinaryIO, headers: Mapping[str, str]) -> Any:
        """The JSON answer of a POST of a file as it is, however long. Raises DaemonError."""
        return _answer(*self._exchange("POST", path, file, {"Content-Type": "application/octet-stream", **headers}))

    def _request(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        if body is None:
            return _answer(*self._exchange(method, path, None, {}))
        payload = json.dumps(body, ensure_ascii=False).encode()
        return _answer(*self._exchange(method, path, payload, {"Content-Type": "application/json"}))

    def _exchange(
        self, method: str, path: str, payload: bytes | BinaryIO | None, more: Mapping[str, str]
    ) -> tuple[int, bytes]:
        parts = urlsplit(self._runtime.url)
        headers = {"Authorization": f"Bearer {self._runtime.token}", "Accept": "application/json", **more}
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=self._timeout_s)
        try:
            connection.request(method, path, payload, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as exc:
            raise DaemonError(
                f"the daemon at {self._runtime.url} does not answer ({exc or type(exc).__name__})"
            ) from exc
        finally:
            connection.close()


def _answer(status: int, text: bytes) -> Any:
    try:
        found = json.loads(text)
    except ValueError as exc:
        raise DaemonError(f"the daemon answered {status} without JSON; look into its log", status) from exc
    if status < http.client.BAD_REQUEST:
        return found
    error = found.get("error") if isinstance(found, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    raise DaemonError(str(message or f"the daemon answered {status}"), status)
