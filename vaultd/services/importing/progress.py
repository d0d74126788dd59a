"""How far an import is, as its log tells: what was split, what was kept, what failed, what it cost.

{"t": "split", "n": 3, "pieces": […]}                                                   paid for, not yet kept
{"t": "begin", "n": 3, "i": 0}                                                          about to be kept
{"t": "kept", "n": 3, "i": 0, "id", "name", "outcome", "near": [[id, similarity]]}      kept
{"t": "refused", "n": 3, "i": 1, "reason"}                                              the memory does not take it
{"t": "try", "n": 3, "reason"}                  {"t": "failed", "n": 3, "reason"}       another try; given up
{"t": "stopped", "n": 3, "reason"}                                                      going on made no sense
{"t": "done", "n": 3}                                                                   all of it is kept

Any line may say what was spent since the line before it: "requests", "tokens_in", "tokens_out".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vaultd.core.properties import parse_moment
from vaultd.llm.analyst import Piece


def piece_written(piece: Piece) -> dict[str, Any]:
    """A piece as it stands in the log."""
    return {
        "name": piece.name,
        "content": piece.content,
        "domain": list(piece.domain),
        "valence": piece.valence,
        "arousal": piece.arousal,
        "tags": list(piece.tags),
        "importance": piece.importance,
        "when": None if piece.when is None else piece.when.isoformat(),
    }


def piece_read(raw: Mapping[str, Any]) -> Piece:
    """A piece from the log."""
    when: datetime | None = None if raw["when"] is None else parse_moment(raw["when"])
    return Piece(
        name=raw["name"],
        content=raw["content"],
        domain=tuple(raw["domain"]),
        valence=raw["valence"],
        arousal=raw["arousal"],
        tags=tuple(raw["tags"]),
        importance=raw["importance"],
        when=when,
    )


@dataclass(slots=True)
class ChunkProgress:
    """How far one chunk is."""

    pieces: tuple[Piece, ...] | None = None
    begun: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    failed: str = ""


@dataclass(slots=True)
class Progress:
    """How far an import is. Chunks that are done are but a number, so that a large import stays small."""

    done: set[int] = field(default_factory=set)
    open: dict[int, ChunkProgress] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    near: int = 0
    refused: int = 0
    tries: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    last_error: str = ""

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Progress:
        """What a log tells."""
        progress = cls()
        for line in lines:
            progress.take(line)
        return progress

    @property
    def failed(self) -> dict[int, str]:
        """Chunks that were given up, with the reason."""
        return {number: chunk.failed for number, chunk in self.open.items() if chunk.failed}

    def chunk(self, number: int) -> ChunkProgress:
        """How far a chunk is."""
        return self.open.setdefault(number, ChunkProgress())

    def take(self, line: Mapping[str, Any]) -> None:
        """Take one line of the log into account. Lines that come twice change nothing."""
        number = line.get("n")
        if not isinstance(number, int):
            return
        for key in ("requests", "tokens_in", "tokens_out"):
            setattr(self, key, getattr(self, key) + int(line.get(key, 0)))
        if line["t"] == "done":
            self.done.add(number)
            self.open.pop(number, None)
        elif number not in self.done:
            self._of_open(self.chunk(number), line)

    def _of_open(self, chunk: ChunkProgress, line: Mapping[str, Any]) -> None:
        match line["t"]:
            case "split":
                chunk.pieces = tuple(piece_read(raw) for raw in line["pieces"])
                chunk.failed = ""
            case "begin":
                chunk.begun.add(line["i"])
            case "kept" if line["i"] not in chunk.settled:
                chunk.settled.add(line["i"])
                self.kept[line["outcome"]] = self.kept.get(line["outcome"], 0) + 1
                self.near += bool(line.get("near"))
            case "refused" if line["i"] not in chunk.settled:
                chunk.settled.add(line["i"])
                self.refused += 1
                self.last_error = line["reason"]
            case "try":
                self.tries += 1
                self.last_error = line["reason"]
            case "stopped":
                self.last_error = line["reason"]
            case "failed":
                chunk.failed = self.last_error = line["reason"]
