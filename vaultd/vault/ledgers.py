"""What the machines wrote down in a vault: their journals and write logs, and which lines of them can't be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from vaultd.vault.tally import parse_line

JOURNAL_NAME: Final = "activations.jsonl"


@dataclass(frozen=True, slots=True)
class Ledger:
    """One file of a machine. `broken` are line numbers; `copy`: a sync tool put it beside the machine's own file."""

    machine: str
    place: Path
    changed: datetime
    broken: tuple[int, ...] = ()
    copy: bool = False
    log: bool = False


def ledgers(state_dir: Path) -> Iterator[Ledger]:
    """Every journal and write log in a vault's state folder; what can't be opened is passed over."""
    for place in sorted(state_dir.glob("machines/*/activations*.jsonl")):
        yield from _looked_at(place, place.parent.name, parse_line, copy=place.name != JOURNAL_NAME)
    for place in sorted(state_dir.glob("log/*.jsonl")):
        yield from _looked_at(place, place.name.partition(".")[0], dict, log=True)


def _looked_at(
    place: Path, machine: str, read: Callable[[dict[str, object]], object], *, copy: bool = False, log: bool = False
) -> Iterator[Ledger]:
    try:
        lines = place.read_bytes().split(b"\n")
        changed = datetime.fromtimestamp(place.stat().st_mtime, UTC)
    except OSError:
        return
    broken = tuple(number for number, line in enumerate(lines, 1) if line and not _is_whole(line, read))
    yield Ledger(machine, place, changed, broken, copy, log)


def _is_whole(line: bytes, read: Callable[[dict[str, object]], object]) -> bool:
    try:
        read(json.loads(line))
    except (ValueError, TypeError, AttributeError, KeyError):
        return False
    return True
