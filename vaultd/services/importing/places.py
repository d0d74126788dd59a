"""Where turns lie in a spool, and what is known of them: columns, some fifty bytes a turn."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final, overload

from vaultd.services.importing.turns import Speaker

_SPEAKERS: Final = (Speaker.USER, Speaker.ASSISTANT)
_NOBODY: Final = -1
_UNKNOWN: Final = math.nan


@dataclass(frozen=True, slots=True)
class Place:
    """One turn's place. `tokens` is an estimate; `digest` tells equal turns, 64 bits of a hash."""

    offset: int
    length: int
    role: Speaker
    when: datetime | None
    attachments: tuple[str, ...]
    tokens: int
    digest: int


class Places(Sequence[Place]):
    """Turns in an order. A place may also be empty, for a message in which nobody speaks."""

    def __init__(self) -> None:
        self._offsets = array("Q")
        self._lengths = array("L")
        self._roles = array("b")
        self._seconds = array("d")
        self._minutes = array("h")
        self._tokens = array("L")
        self._digests = array("Q")
        self._attachments: dict[int, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> Place: ...

    @overload
    def __getitem__(self, index: slice) -> Places: ...

    def __getitem__(self, index: int | slice) -> Place | Places:
        if isinstance(index, slice):
            return self.select(range(*index.indices(len(self))))
        at = range(len(self))[index]
        return Place(
            self._offsets[at],
            self._lengths[at],
            _SPEAKERS[self._roles[at]],
            self.when(at),
            self._attachments.get(at, ()),
            self._tokens[at],
            self._digests[at],
        )

    def append(self, place: Place) -> None:
        """Add a turn."""
        if place.attachments:
            self._attachments[len(self)] = place.attachments
        self._add(place.offset, place.length, _SPEAKERS.index(place.role), place.tokens, place.digest)
        offset = None if place.when is None else place.when.utcoffset()
        self._seconds.append(_UNKNOWN if place.when is None else place.when.timestamp())
        self._minutes.append(0 if offset is None else round(offset.total_seconds() / 60))

    def append_nobody(self) -> None:
        """Add a message in which nobody speaks."""
        self._add(0, 0, _NOBODY, 0, 0)
        self._seconds.append(_UNKNOWN)
        self._minutes.append(0)

    def _add(self, offset: int, length: int, role: int, tokens: int, digest: int) -> None:
        self._offsets.append(offset)
        self._lengths.append(length)
        self._roles.append(role)
        self._tokens.append(tokens)
        self._digests.append(digest)

    def select(self, wanted: Iterable[int]) -> Places:
        """Some of the turns, in the order given."""
        chosen = Places()
        for at in wanted:
            chosen.append(self[at])
        return chosen

    def when(self, at: int) -> datetime | None:
        """When a turn was, with the offset that it was written with."""
        seconds = self._seconds[at]
        return None if math.isnan(seconds) else datetime.fromtimestamp(seconds, _zone(self._minutes[at]))

    @property
    def bytes(self) -> int:
        """How long the turns' texts are together."""
        return sum(self._lengths)

    @property
    def speaks(self) -> list[int]:
        """1 where somebody speaks, 0 where nobody does."""
        return [int(role != _NOBODY) for role in self._roles]

    @property
    def seconds(self) -> list[float]:
        """When each turn was, in seconds since 1970; 0 where that is unknown."""
        return [0.0 if math.isnan(seconds) else seconds for seconds in self._seconds]

    @property
    def earliest(self) -> datetime | None:
        """When the first of the turns was."""
        return self._extreme(first=True)

    @property
    def latest(self) -> datetime | None:
        """When the last of the turns was."""
        return self._extreme(first=False)

    def _extreme(self, *, first: bool) -> datetime | None:
        known = (at for at, seconds in enumerate(self._seconds) if not math.isnan(seconds))
        at = (min if first else max)(known, key=self._seconds.__getitem__, default=None)
        return None if at is None else self.when(at)

    def chain(self, turns: int | None = None) -> str:
        """One digest of the first `turns` turns, or of all; equal runs of turns have equal ones."""
        return hashlib.blake2b(self._digests[:turns].tobytes(), digest_size=16).hexdigest()

    def lines(self) -> Iterator[str]:
        """A line a turn, for `read`."""
        for at in range(len(self)):
            when = None if math.isnan(self._seconds[at]) else [self._seconds[at], self._minutes[at]]
            line: list[Any] = [
                self._offsets[at],
                self._lengths[at],
                self._roles[at],
                when,
                self._tokens[at],
                self._digests[at],
            ]
            if at in self._attachments:
                line.append(list(self._attachments[at]))
            yield json.dumps(line)

    @classmethod
    def read(cls, lines: Iterable[str]) -> Places:
        """What `lines` wrote."""
        places = cls()
        for line in lines:
            offset, length, role, when, tokens, digest, *attachments = json.loads(line)
            if attachments:
                places._attachments[len(places)] = tuple(attachments[0])
            places._add(offset, length, role, tokens, digest)
            seconds, minutes = (_UNKNOWN, 0) if when is None else when
            places._seconds.append(seconds)
            places._minutes.append(minutes)
        return places


@lru_cache(maxsize=64)
def _zone(minutes: int) -> timezone:
    return timezone(timedelta(minutes=minutes))
