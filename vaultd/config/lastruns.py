"""When each periodic job last ran, kept over restarts so that a missed one is made up for."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from pathlib import Path

from vaultd.core.properties import parse_moment
from vaultd.wholefile import write_whole


class Runs:
    """Name of a job → its last run, in a small JSON file; a file that can't be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(path.read_text(encoding="utf-8"))
            self._runs = {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def last(self, job: str) -> datetime | None:
        """When the job last ran; None for never."""
        return parse_moment(self._runs.get(job, ""))

    def note(self, job: str, when: datetime) -> None:
        """The job has run."""
        self._runs[job] = when.isoformat()
        with contextlib.suppress(OSError):
            write_whole(self._path, json.dumps(self._runs).encode())
