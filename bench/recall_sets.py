"""Sets of memories and questions, and how a ranking is scored: nDCG@10, recall, MRR, with bootstrap intervals.

    <set>.notes.jsonl[.gz]     {"id", "scope", "lang", "ts", "text", "title"?}       a scope is one vault
    <set>.queries.jsonl[.gz]   {"id", "scope", "lang", "ts", "text", "gold": [note ids]}

nDCG: Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with gains of 0 and 1.
"""

from __future__ import annotations

import calendar
import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

METRICS = ("recall@1", "recall@5", "recall@10", "hit@5", "ndcg@10", "mrr")
DRAWS, SEED = 2_000, 7
_MOMENT = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:T(\d\d):(\d\d))?")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory of a set."""

    id: str
    ts: str
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the memories that answer it."""

    id: str
    set: str
    scope: str
    lang: str
    ts: str
    text: str
    gold: frozenset[str]


@dataclass(slots=True)
class Sets:
    """Memories by scope, and questions."""

    memories: dict[str, list[Memory]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    def of_scope(self, scope: str) -> list[Question]:
        """The questions to one scope."""
        return [question for question in self.questions if question.scope == scope]


def names_in(folder: Path) -> list[str]:
    """The sets that a folder holds."""
    return sorted({path.name.split(".")[0] for path in folder.glob("*.notes.jsonl*")})


def load(folder: Path, names: Sequence[str], cross: str = "") -> Sets:
    """Sets by name. `cross` "zh2en" asks the questions of sets in the first language of memories in the second."""
    sets = Sets()
    for name in names:
        label, notes_of, swap = name, name, ("", "")
        if cross:
            first, second = cross.split("2")
            if not name.endswith(f"_{first}"):
                continue
            stem = name.removesuffix(first)
            label, notes_of, swap = f"{stem}{cross}", f"{stem}{second}", (f"/{first}/", f"/{second}/")
        known: set[str] = set()
        for note in _rows(folder, f"{notes_of}.notes.jsonl"):
            memory = Memory(note["id"], note["ts"], note["text"], note.get("title", ""))
            sets.memories.setdefault(note["scope"], []).append(memory)
            known.add(memory.id)
        for row in _rows(folder, f"{name}.queries.jsonl"):
            gold = frozenset(known.intersection(one.replace(*swap, 1) if cross else one for one in row["gold"]))
            scope = row["scope"].replace(*swap, 1) if cross else row["scope"]
            if gold:
                sets.questions.append(Question(row["id"], label, scope, row["lang"], row["ts"], row["text"], gold))
    return sets


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    plain = folder / name
    raw = plain.read_bytes() if plain.exists() else gzip.decompress(Path(f"{plain}.gz").read_bytes())
    yield from (json.loads(line) for line in raw.decode().split("\n") if line.strip())


def moment(ts: str) -> datetime | None:
    """A set's moment in UTC; a month stands for its last day; None for ""."""
    found = _MOMENT.match(ts)
    if found is None:
        return None
    year, month = int(found[1]), int(found[2])
    day = int(found[3]) if found[3] else calendar.monthrange(year, month)[1]
    return datetime(year, month, day, int(found[4] or 0), int(found[5] or 0), tzinfo=UTC)


def scored(ranked: Sequence[str], gold: frozenset[str]) -> list[float]:
    """The METRICS of one ranking, each 0…1."""
    right = [one in gold for one in dict.fromkeys(ranked)]
    gain = sum(1 / math.log2(place + 2) for place, is_right in enumerate(right[:10]) if is_right)
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    first = next((1 / (place + 1) for place, is_right in enumerate(right) if is_right), 0.0)
    recalls = [sum(right[:k]) / len(gold) for k in (1, 5, 10)]
    return [*recalls, float(any(right[:5])), gain / best, first]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean in percent with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:5.1f} [{self.low:5.1f},{self.high:5.1f}]"


def means_by_set(scores: Floats, labels: Sequence[str]) -> dict[str, Floats]:
    """Set → mean of each metric in percent; "all" is the mean of the sets' means."""
    places = _places(labels)
    means = {label: 100 * scores[at].mean(axis=0) for label, at in places.items()}
    return {"all": np.mean(list(means.values()), axis=0), **means}


def estimates(scores: Floats, labels: Sequence[str]) -> dict[str, list[Estimate]]:
    """Set → estimate of each metric; for "all", questions are drawn anew within each set."""
    rng = np.random.default_rng(SEED)
    places = _places(labels)
    draws: dict[str, Floats] = {}
    for label, at in places.items():
        rows = 100 * scores[at]
        draws[label] = np.array([rows[rng.integers(0, len(rows), len(rows))].mean(axis=0) for _ in range(DRAWS)])
    draws = {"all": np.mean(list(draws.values()), axis=0), **draws}
    means = means_by_set(scores, labels)
    out: dict[str, list[Estimate]] = {}
    for label, drawn in draws.items():
        low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
        out[label] = [Estimate(*map(float, one)) for one in zip(means[label], low, high, strict=True)]
    return out


def _places(labels: Sequence[str]) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for at, label in enumerate(labels):
        places[label].append(at)
    return places
