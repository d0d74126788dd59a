"""What an import brought in, read back from its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vaultd.services.importing.hands import KeptAs
from vaultd.services.importing.patterns import Remembered
from vaultd.services.importing.progress import piece_read
from vaultd.services.importing.review import Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """One memory of an import. `near` are ids of memories that say much the same, with their similarity 0…1."""

    id: str
    name: str
    outcome: KeptAs
    source: str
    near: tuple[tuple[str, float], ...] = ()
    verdict: Verdict | None = None


def results_of(lines: Iterable[Mapping[str, Any]], verdicts: Mapping[str, Verdict]) -> Iterator[Result]:
    """The memories in a log, in the order in which they were kept; one that was kept twice over a crash comes once."""
    seen: set[tuple[int, int]] = set()
    for line in lines:
        if line["t"] != "kept" or (line["n"], line["i"]) in seen:
            continue
        seen.add((line["n"], line["i"]))
        near = tuple((str(note_id), float(similarity)) for note_id, similarity in line.get("near", ()))
        yield Result(
            line["id"], line["name"], KeptAs(line["outcome"]), line.get("source", ""), near, verdicts.get(line["id"])
        )


def outcomes_of(results: Iterable[Result]) -> dict[str, KeptAs]:
    """What became of each memory: new where the import made it, however often it added to it later."""
    outcomes: dict[str, KeptAs] = {}
    for result in results:
        if outcomes.get(result.id) is not KeptAs.NEW:
            outcomes[result.id] = result.outcome
    return outcomes


def remembered(lines: Iterable[Mapping[str, Any]]) -> Iterator[Remembered]:
    """The memories in a log with their texts, for patterns."""
    pieces: dict[tuple[int, int], Any] = {}
    for line in lines:
        if line["t"] == "split":
            pieces.update({(line["n"], at): raw for at, raw in enumerate(line["pieces"])})
        elif line["t"] == "done":
            for key in [key for key in pieces if key[0] == line["n"]]:
                del pieces[key]
        elif line["t"] == "kept" and (line["n"], line["i"]) in pieces:
            piece = piece_read(pieces.pop((line["n"], line["i"])))
            yield Remembered(line["id"], line["name"], piece.content, piece.tags, piece.domain, piece.when)
