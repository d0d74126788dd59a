"""Slowing down whoever guesses: a wait that doubles with each wrong try, kept per address."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

FREE_TRIES: Final = 5
"""Wrong tries that cost nothing: people mistype."""

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 300.0

FORGET_AFTER_S: Final = 3600.0
"""An address that has not tried for this long starts afresh."""

MOST_ADDRESSES: Final = 1024
"""Addresses kept; past it the one that has been quiet longest is dropped."""


@dataclass(slots=True)
class _Record:
    failures: int
    last_s: float
    until_s: float


class Throttle:
    """Counts wrong tries by address. Success does not clear the count: on one machine all clients share an address."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def wait_s(self, address: str | None) -> float:
        """Seconds until the next try from this address is looked at; 0 when it may try now."""
        if not self._records:
            return 0.0
        record = self._records.get(_key(address))
        return 0.0 if record is None else max(0.0, record.until_s - self._clock().timestamp())

    def failed(self, address: str | None) -> float:
        """Count one wrong try; returns the wait in seconds that follows from it."""
        key, now_s = _key(address), self._clock().timestamp()
        record = self._records.pop(key, None)
        if record is None or now_s - record.last_s > FORGET_AFTER_S:
            record = _Record(failures=0, last_s=now_s, until_s=now_s)
        record.failures += 1
        record.last_s = now_s
        wait_s = 0.0
        if record.failures > FREE_TRIES:
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(record.failures - FREE_TRIES - 1, 16))
        record.until_s = now_s + wait_s
        self._records[key] = record
        if len(self._records) > MOST_ADDRESSES:
            self._records.popitem(last=False)
        return wait_s


def _key(address: str | None) -> str:
    """One host as a rule owns a whole IPv6 /64, so that counts as one address."""
    if address is None:
        return ""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))


class Meter:
    """So many calls from one address in so much time: counts in windows that begin with an address's first call."""

    def __init__(self, most: int, window_s: float, *, clock: Callable[[], datetime]) -> None:
        self._most = most
        self._window_s = window_s
        self._clock = clock
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait_s(self, address: str | None) -> float:
        """Seconds until this address may call again; 0 when it may now."""
        began_s, calls = self._windows.get(_key(address), (0.0, 0))
        left_s = began_s + self._window_s - self._clock().timestamp()
        return left_s if calls >= self._most and left_s > 0.0 else 0.0

    def count(self, address: str | None) -> None:
        """Note one call."""
        key, now_s = _key(address), self._clock().timestamp()
        began_s, calls = self._windows.pop(key, (now_s, 0))
        self._windows[key] = (now_s, 1) if now_s - began_s >= self._window_s else (began_s, calls + 1)
        if len(self._windows) > MOST_ADDRESSES:
            self._windows.popitem(last=False)
