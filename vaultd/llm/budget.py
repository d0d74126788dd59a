"""How many requests to remote models a day may cost."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from vaultd.core.errors import CapReached
from vaultd.wholefile import write_whole

log = logging.getLogger(__name__)

KEPT_DAYS: Final = 31  # of counts, for the dashboard


class RequestBudget:
    """Counts requests by day in a JSON file, `{"2026-05-01": 12, …}`, and refuses them beyond a cap.

    One object serves every remote model, from any thread. A file that cannot be read counts as empty, and one that
    cannot be written is logged: money is at stake, but a full disk must not silence the models. `daily_cap` may be
    changed while running; 0 means no cap.
    """

    def __init__(self, path: Path, daily_cap: int, *, today: Callable[[], date]) -> None:
        self.daily_cap = daily_cap
        self._path = path
        self._today = today
        self._lock = threading.Lock()
        self._counts = _read(path)

    def spend(self, requests: int = 1) -> None:
        """Count requests that are about to be sent. Raises CapReached, and counts nothing, if they pass the cap."""
        with self._lock:
            today = self._today()
            used = self._counts.get(today, 0) + requests
            if 0 < self.daily_cap < used:
                raise CapReached(
                    f"the daily cap of {self.daily_cap} requests to remote models is used up; "
                    "it starts anew tomorrow, or raise llm.daily_request_cap"
                )
            self._counts[today] = used
            self._forget_before(today - timedelta(days=KEPT_DAYS - 1))
            self._write()

    @property
    def used_today(self) -> int:
        """Requests counted today."""
        with self._lock:
            return self._counts.get(self._today(), 0)

    @property
    def left_today(self) -> int | None:
        """Requests that may still be sent today; None without a cap."""
        return max(self.daily_cap - self.used_today, 0) if self.daily_cap else None

    def by_day(self) -> dict[date, int]:
        """Requests of each of the last days that had any, oldest first."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def _forget_before(self, first: date) -> None:
        self._counts = {day: count for day, count in self._counts.items() if day >= first}

    def _write(self) -> None:
        encoded = json.dumps({day.isoformat(): count for day, count in sorted(self._counts.items())}, indent=1)
        try:
            write_whole(self._path, encoded.encode())
        except OSError as exc:
            log.warning("today's request count cannot be kept in %s: %s", self._path, exc)


def _read(path: Path) -> dict[date, int]:
    try:
        counts = json.loads(path.read_text("utf-8"))
        return {date.fromisoformat(day): max(int(count), 0) for day, count in counts.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as exc:
        log.warning("the request counts in %s cannot be read and start anew: %s", path, exc)
        return {}
