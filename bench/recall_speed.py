"""What a match costs without the question's embedding, on made-up notes: processor time of the whole `Matching.match`."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from vaultd.compose import compose
from vaultd.core.bucket import Kind, Role
from vaultd.core.note import FileStamp, Note, NotePath
from vaultd.core.query import Query
from vaultd.index.mirror import Content, Use
from vaultd.index.rows import Place, row_of
from vaultd.index.tokens import counted_words
from vaultd.index.vectors import PassageRef
from vaultd.settings import EmbeddingSettings, Settings, VaultSettings

DIMENSION = 384
WORDS_A_NOTE = 40
VOCABULARY = 30_000
RUNS = 40


def speed(sizes: list[int]) -> None:
    """Print medians for each number of notes: a hit, a miss, a misspelling, a filter by tag."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _measure(size, Path(folder))


def _measure(size: int, folder: Path) -> None:
    rng = random.Random(size)
    chance = np.random.default_rng(size)
    (folder / "vault").mkdir()
    settings = replace(
        Settings(),
        vault=replace(VaultSettings(), path=folder / "vault"),
        embedding=replace(EmbeddingSettings(), provider="none"),
    )
    core = compose(settings, folder / "state")
    now = datetime(2026, 5, 17, tzinfo=UTC)
    vocabulary = [f"{a}{b}{n}" for n in range(VOCABULARY // 900 + 1) for a in _SOUNDS for b in _SOUNDS][:VOCABULARY]
    weights = [1 / (rank + 10) for rank in range(VOCABULARY)]
    keys = []
    for number in range(size):
        body = " ".join(rng.choices(vocabulary, weights, k=WORDS_A_NOTE))
        created = now - timedelta(minutes=number * 37)
        path = NotePath(f"dynamic/{number:06}.md")
        properties = {"id": f"{number:012x}", "created": created.isoformat(), "tags": [vocabulary[number % 500]]}
        note = Note(path, properties, body, f"{number:032x}", FileStamp(1, 1, 1), None)
        counts, length = counted_words(body)
        key = number.to_bytes(16, "big")
        keys.append(key)
        row = row_of(note, Place(Role.BUCKET, Kind.DYNAMIC), f"{number:012x}", None)
        core.mirror.put(row, Content(counts, length, (PassageRef(key, 0, len(body)),)), Use(0.0, None))
    core.mirror.fold()
    vectors = chance.standard_normal((size, DIMENSION), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    core.mirror.add_vectors(keys, vectors, np.zeros(size, np.float32))
    asked = {
        "hit": " ".join(vocabulary[at] for at in (30, 400, 3_000, 9_000, 20_000)),
        "common words": " ".join(vocabulary[:8]),
        "miss": "quixotic zephyrs vanquish jumbled wyverns",
        "with dates": f"{vocabulary[300]} last spring on 3 May",
    }
    print(f"{size:,} notes, processor ms of a match (median of {RUNS}; wall in brackets)")
    for name, text in asked.items():
        _timed(core, name, Query(text=text), vectors[0], now)
    _timed(core, "hit, one tag", Query(text=asked["hit"], tags=(vocabulary[7],)), vectors[0], now)


def _timed(core: object, name: str, query: Query, vector: np.ndarray, now: datetime) -> None:
    matching = core.services.matching
    processor, wall = [], []
    for _ in range(RUNS):
        begun, at = time.thread_time(), time.perf_counter()
        matching.match(query, vector, now)
        processor.append(1_000 * (time.thread_time() - begun))
        wall.append(1_000 * (time.perf_counter() - at))
    print(f"  {name:14} {statistics.median(processor):6.2f}  ({statistics.median(wall):.2f})")


_SOUNDS = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"][:30]
