"""The last lines of the log, for a person who looks at the dashboard."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

LINES_KEPT: Final = 300
LONGEST_LINE: Final = 2_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log."""

    at: datetime
    level: str
    source: str
    text: str


class LogTail(logging.Handler):
    """Keeps the last lines in memory."""

    def __init__(self, lines: int = LINES_KEPT) -> None:
        super().__init__()
        self._lines: deque[LogLine] = deque(maxlen=lines)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit their message
            text = str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            text += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        at = datetime.fromtimestamp(record.created, UTC)
        self._lines.append(LogLine(at, record.levelname, record.name, text[:LONGEST_LINE]))

    def lines(self, limit: int = LINES_KEPT) -> tuple[LogLine, ...]:
        """The newest lines, newest first."""
        return tuple(reversed(list(self._lines)[-limit:]))
