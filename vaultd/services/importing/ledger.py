"""What is in the memory already, so that a newer export brings in only what is new in it.

One line a thread: its conversation, how many turns, and a digest of them. A thread that begins with the same turns goes
on behind them; a thread that differs is a new one. One line a note that was kept whole: its id, and a digest of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from vaultd.services.importing.jobs import StepLog
from vaultd.services.importing.places import Places
from vaultd.services.importing.spool import Talk
from vaultd.services.importing.turns import Format, WholeNote


class Entry(TypedDict):
    """A line of the ledger."""

    format: str
    id: str
    turns: int
    digest: str


def entry_of(format_: Format, talk: Talk, places: Places) -> Entry:
    """What to note once all of these turns are in the memory."""
    return Entry(format=format_.value, id=talk.id, turns=len(places), digest=places.chain())


def entry_of_note(note: WholeNote) -> Entry:
    """What to note once a note is in the memory."""
    digest = hashlib.blake2b(note.raw, digest_size=16).hexdigest()
    return Entry(format=Format.OMBRE.value, id=note.id, turns=1, digest=digest)


class Ledger:
    """Reads the ledger once; lines added to it later are seen by the next one."""

    def __init__(self, path: Path) -> None:
        self._seen: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for line in StepLog(path).lines():
            self._add(line)

    def turns_known(self, format_: Format, talk: Talk, places: Places) -> int:
        """How many turns at a thread's start are in the memory already."""
        known = self._seen.get((format_.value, talk.id), ())
        for turns, digest in sorted(known, reverse=True):
            if turns <= len(places) and places.chain(turns) == digest:
                return turns
        return 0

    def knows(self, note: WholeNote) -> bool:
        """Whether a note is in the memory already, with these very bytes."""
        entry = entry_of_note(note)
        return (entry["turns"], entry["digest"]) in self._seen.get((entry["format"], entry["id"]), ())

    def _add(self, line: Mapping[str, Any]) -> None:
        try:
            key = (str(line["format"]), str(line["id"]))
            self._seen.setdefault(key, []).append((int(line["turns"]), str(line["digest"])))
        except (KeyError, TypeError, ValueError):
            return
