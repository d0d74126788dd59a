"""How well memories are found: the product's own road on sets of memories and questions.

    python bench/recall.py --data FOLDER [--sets a,b] [--cross zh2en] [--cache FILE] [--shuffle] [--save RUN.jsonl]
    python bench/recall.py --data FOLDER --daemon        the same through running daemons and breath(query)
    python bench/recall.py --data FOLDER --stray         questions of one vault asked of another: how much is shown
    python bench/recall.py --twins                       how often texts that are not the same would be joined
    python bench/recall.py --speed 10000,100000          time of a match without the question's embedding

Each scope becomes a vault: one Markdown note a memory, with `created`, `last_active`, and `name` where it has a title.
The notes are decoded, indexed and embedded as ever; questions are asked at the set's own time (through the daemon: now).
Embeddings are kept in `--cache`, so that only the first run takes long.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from recall_rivals import Rivals
from recall_sets import METRICS, Memory, Question, Sets, estimates, load, means_by_set, moment, names_in, scored

import vaultd.embedding as composing
from vaultd.compose import compose
from vaultd.core.query import Query
from vaultd.engine import Core
from vaultd.index.passages import passages_of
from vaultd.llm.calibration import labelled_pairs
from vaultd.llm.embedder import Floats, embedding_key
from vaultd.llm.local import DIMENSION, NAME, LocalEmbedder
from vaultd.services.matching import Fate
from vaultd.settings import EmbeddingSettings, Settings, VaultSettings
from vaultd.vault import codec

SHOWN = 10
SEVEN = "locomo,locomo_obs,lifebench_zh,madial_en,madial_zh,memorybank_en,memorybank_zh"
Ask = Callable[[Question], list[str]]


class CachedEmbedder:
    """The built-in model, remembering on disk what it has embedded."""

    name = NAME
    dimension = DIMENSION

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._known = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self._known.execute("create table if not exists e (key blob primary key, vector blob)")
        self._model: LocalEmbedder | None = None

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """As LocalEmbedder."""
        rows = [
            self._of(f"passage\0{text}", lambda model, text=text: model.embed_passages([text])[0]) for text in texts
        ]
        return np.stack(rows) if rows else np.zeros((0, DIMENSION), np.float32)

    def embed_query(self, text: str) -> Floats:
        """As LocalEmbedder."""
        return self._of(f"query\0{text}", lambda model: model.embed_query(text))

    def load(self) -> None:
        """Nothing: what is known needs no model."""

    def close(self) -> None:
        """Keep what there is."""
        self._known.commit()

    def _of(self, what: str, embed: Callable[[LocalEmbedder], Floats]) -> Floats:
        key = bytes.fromhex(embedding_key(what, NAME))
        found = self._known.execute("select vector from e where key = ?", (key,)).fetchone()
        if found is not None:
            return np.frombuffer(found[0], np.float32)
        self._model = self._model or LocalEmbedder()
        vector = embed(self._model)
        self._known.execute("insert or ignore into e values (?, ?)", (key, vector.tobytes()))
        self._known.commit()
        return vector


def note_id(memory_id: str) -> str:
    """The id of a memory's note."""
    return hashlib.blake2b(memory_id.encode(), digest_size=6).hexdigest()


def write_vault(root: Path, memories: Sequence[Memory], *, shuffle: bool) -> None:
    """One note a memory. `shuffle`: file names do not follow the order in which the memories were told."""
    folder = root / "dynamic"
    folder.mkdir(parents=True)
    for number, memory in enumerate(memories):
        properties = {"id": note_id(memory.id), "created": memory.ts, "last_active": memory.ts}
        if memory.title:
            properties["name"] = memory.title
        stem = note_id(memory.id) if shuffle else f"{number:05}"
        (folder / f"{stem}.md").write_bytes(codec.new_note(properties, memory.text.rstrip() + "\n"))


def settings_for(root: Path) -> Settings:
    """The product's defaults on a vault."""
    return replace(Settings(), vault=replace(VaultSettings(), path=root), timezone="UTC")


def opened(root: Path, state: Path, embedder: CachedEmbedder | None) -> Core:
    """The product composed on a vault, indexed and embedded."""
    settings = settings_for(root)
    if embedder is None:
        settings = replace(settings, embedding=replace(EmbeddingSettings(), provider="none"))
    composing.LocalEmbedder = lambda: embedder  # type: ignore[assignment,misc]
    core = compose(settings, state)
    core.open_index()
    report = core.apply(list(core.reader.scan().stamps), lambda _: True)
    if core.queue is not None:
        core.queue.start()
        core.queue.offer(report.contents)
        if not core.queue.wait_idle(3_600):
            raise SystemExit("embeddings did not come")
    return core


def shown_for(core: Core, text: str, vector: Floats | None, now: datetime, limit: int = SHOWN) -> list[str]:
    """Ids in the order in which `breath` shows them."""
    matches = core.services.matching.match(Query.parse(text, max_results=limit), vector, now)
    return [one.id for one in matches.with_fate(Fate.KEPT) + matches.with_fate(Fate.SEMANTIC)]


def vector_of(core: Core, embedder: CachedEmbedder | None, text: str) -> Floats | None:
    """The question's vector, as the product has it."""
    if embedder is None:
        return None
    return core.services.meaning.centred(embedder.embed_query(text)[None, :], [text])[0]


def ranked_by_product(sets: Sets, embedder: CachedEmbedder | None, *, shuffle: bool) -> dict[str, list[str]]:
    """Question → memory ids in the product's order."""
    out: dict[str, list[str]] = {}
    for scope, memories in sets.memories.items():
        names = {note_id(memory.id): memory.id for memory in memories}
        with tempfile.TemporaryDirectory() as folder:
            write_vault(Path(folder) / "vault", memories, shuffle=shuffle)
            core = opened(Path(folder) / "vault", Path(folder) / "state", embedder)
            for question in sets.of_scope(scope):
                now = moment(question.ts) or core.clock()
                vector = vector_of(core, embedder, Query.parse(question.text).text)
                out[question.id] = [names[one] for one in shown_for(core, question.text, vector, now)]
            core.close()
    return out


def report(sets: Sets, runs: dict[str, dict[str, list[str]]], *, intervals: bool) -> None:
    """Print every run's figures per set, and the product's difference to the others, question by question."""
    labels = [question.set for question in sets.questions]
    table = {
        name: np.array([scored(run.get(question.id, []), question.gold) for question in sets.questions])
        for name, run in runs.items()
    }
    product = next(iter(table))
    for name, scores in table.items():
        means = means_by_set(scores, labels)
        print(f"\n{name}" + "".join(f"{metric:>11}" for metric in METRICS))
        for label, row in means.items():
            print(f"  {label:18}" + "".join(f"{value:11.1f}" for value in row))
    if not intervals:
        return
    print(f"\n{product}, nDCG@10 and recall@5 with 95 % intervals, and its difference in nDCG@10 to")
    print(" " * 20 + "".join(f"{head:>22}" for head in ("nDCG@10", "recall@5", *list(table)[1:])))
    own = estimates(table[product], labels)
    gaps = {name: estimates(table[product] - scores, labels) for name, scores in table.items() if name != product}
    for label, row in own.items():
        cells = [row[4], row[1], *(gap[label][4] for gap in gaps.values())]
        print(f"  {label:18}" + "".join(f"{cell!s:>22}" for cell in cells))


def stray(sets: Sets, embedder: CachedEmbedder | None, limit: int = 20) -> None:
    """Ask each vault its own questions and those of another one; print how many notes are shown."""
    scopes = list(sets.memories)
    rng = random.Random(7)
    asked: dict[str, list[int]] = {"own": [], "another's": []}
    for at, scope in enumerate(scopes):
        others = [s for s in scopes if s.split("/")[0] != scope.split("/")[0]]
        own = sets.of_scope(scope)
        foreign = [question for other in others for question in sets.of_scope(other)]
        with tempfile.TemporaryDirectory() as folder:
            write_vault(Path(folder) / "vault", sets.memories[scope], shuffle=False)
            core = opened(Path(folder) / "vault", Path(folder) / "state", embedder)
            for kind, questions in (("own", own), ("another's", foreign)):
                for question in rng.sample(questions, min(40, len(questions))):
                    vector = vector_of(core, embedder, question.text)
                    asked[kind].append(len(shown_for(core, question.text, vector, core.clock(), limit)))
            core.close()
        print(f"  {at + 1}/{len(scopes)} {scope}", file=sys.stderr)
    for kind, counts in asked.items():
        none = sum(1 for count in counts if not count) / len(counts)
        middle = statistics.median(counts)
        print(
            f"{kind} questions: {len(counts)}, shown mean {statistics.mean(counts):.1f} median {middle:g}, none {none:.0%}"
        )


def twins(embedder: CachedEmbedder) -> None:
    """Texts of the calibration pairs against notes made of their partners just now: how many would be joined."""
    pairs = labelled_pairs()
    with tempfile.TemporaryDirectory() as folder:
        now = datetime.now(UTC)
        notes = [Memory(f"{at}", now.isoformat(timespec="seconds"), pair.b, "") for at, pair in enumerate(pairs)]
        write_vault(Path(folder) / "vault", notes, shuffle=False)
        core = opened(Path(folder) / "vault", Path(folder) / "state", embedder)
        best: dict[str, list[float]] = {}
        for pair in pairs:
            raw = embedder.embed_passages([passages_of(pair.a)[0].text])[0]
            vector = core.services.meaning.centred(raw[None, :], [pair.a])[0]
            found = core.services.matching.match(Query(text=pair.a, limit=5), vector, now, likeness=True)
            best.setdefault(pair.label, []).append(max(one.parts.total for one in found.candidates))
        core.close()
    threshold = settings_for(Path(folder)).merge.threshold
    for label, scores in best.items():
        joined = sum(score > threshold for score in scores)
        print(f"{label:12} {len(scores)} texts, joined {joined}, best score median {statistics.median(scores):.1f}")


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default=SEVEN)
    parser.add_argument("--cross", default="", choices=["", "zh2en", "en2zh"])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "vaultd-recall.sqlite")
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--stray", action="store_true")
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--speed", default="")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    if options.speed:
        from recall_speed import speed

        speed([int(size) for size in options.speed.split(",")])
        return 0
    if options.twins:
        twins(CachedEmbedder(options.cache))
        return 0
    if options.data is None:
        parser.error("give --data, --twins or --speed")
    names = names_in(options.data) if options.sets == "all" else options.sets.split(",")
    sets = load(options.data, names, options.cross)
    embedder = None if options.words_only else CachedEmbedder(options.cache)
    if options.stray:
        stray(sets, embedder)
        return 0
    started = time.perf_counter()
    if options.daemon:
        from recall_daemon import ranked_by_daemons

        runs = {"vaultd, daemon": ranked_by_daemons(sets, shuffle=options.shuffle)}
    else:
        runs = {"vaultd": ranked_by_product(sets, embedder, shuffle=options.shuffle)}
    if options.save:
        rows = (json.dumps({"query_id": i, "ranked_ids": r}) for i, r in next(iter(runs.values())).items())
        options.save.write_text("\n".join(rows) + "\n")
    if options.rivals:
        runs |= Rivals(sets, embedder).runs()
    report(sets, runs, intervals=options.intervals)
    print(f"\n{len(sets.questions)} questions, {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
