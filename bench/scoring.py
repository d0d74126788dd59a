"""Processor time of the formulas over 100,000 buckets, of dates and of intents: medians of repeated runs, in milliseconds.

python bench/scoring.py [--buckets N] [--runs N] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from vaultd.core.query import Mood
from vaultd.scoring.constants import DecayWeights, DriftRules, MatchWeights, RippleRules, SurfaceRules
from vaultd.scoring.dates import date_terms, dates_in
from vaultd.scoring.decay import DecayColumns, cycle, decay_scores, forecast, ripple_targets
from vaultd.scoring.fuzzy import Head, fuzzy_topic, fuzzy_topics
from vaultd.scoring.intent import intent_by_words
from vaultd.scoring.intent_examples import EXAMPLES
from vaultd.scoring.match import kept, match_scores, rank_scores, topic_of
from vaultd.scoring.selection import drift, mmr, surfacing_order

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
NOW_S = NOW.timestamp()
WORDS = [
    "offer",
    "internship",
    "project",
    "morning",
    "coffee",
    "garden",
    "doctor",
    "sister",
    "piano",
    "rain",
    "exam",
    "travel",
    "budget",
    "kitchen",
    "letter",
]
SIGNS = "实习项目早上咖啡花园医生姐姐钢琴下雨考试旅行预算厨房信件朋友电影天空大海山路火车书房梦境"


def columns_of(count: int, rng: np.random.Generator) -> DecayColumns:
    """Buckets as they may lie in a vault after two years."""
    return DecayColumns(
        kind=rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 3], count).astype(np.uint8),
        importance=rng.integers(1, 11, count).astype(np.float32),
        activation_count=np.round(rng.exponential(3.0, count), 1),
        last_active=NOW_S - rng.exponential(90.0, count) * 86_400.0,
        arousal=rng.random(count).astype(np.float32),
        resolved=rng.random(count) < 0.2,
        digested=rng.random(count) < 0.1,
        pinned=rng.random(count) < 0.01,
        protected=rng.random(count) < 0.01,
    )


def names_of(count: int, rng: random.Random) -> list[str]:
    """Half English names of two to five words, half Chinese ones of four to ten characters."""
    return [
        " ".join(rng.choices(WORDS, k=rng.randint(2, 5)))
        if rng.random() < 0.5
        else "".join(rng.choices(SIGNS, k=rng.randint(4, 10)))
        for _ in range(count)
    ]


def tasks(count: int) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    rng, chance = np.random.default_rng(1), random.Random(1)
    columns = columns_of(count, rng)
    evidence = [rng.random(count) for _ in range(3)]
    created = NOW_S - rng.random(count) * 700 * 86_400
    made = np.sort(created)
    eligible = np.ones(count, dtype=np.bool_)
    decay, match = DecayWeights(), MatchWeights()
    names = names_of(count, chance)
    domains = [chance.sample(WORDS[:8], 1) for _ in range(count)]
    tags = [chance.sample(WORDS, 5) for _ in range(count)]
    heads = [Head(*head) for head in zip(names, domains, tags, strict=True)]
    scores = decay_scores(columns, NOW_S, decay)
    cards = rng.random((50, 50))

    def matched() -> object:
        topic = topic_of(*evidence)
        found = match_scores(
            topic.value,
            columns.arousal,
            columns.arousal,
            columns.last_active,
            columns.importance,
            mood=Mood(0.7, 0.5),
            now=NOW_S,
            weights=match,
        )
        return kept(found.total, match), rank_scores(found, topic.value, columns.resolved)

    def one_fuzzy() -> object:
        return fuzzy_topic("实习offer", name=names[0], domains=domains[0], tags=tags[0], body=SIGNS * 30, weights=match)

    return {
        "decay scores": lambda: decay_scores(columns, NOW_S, decay),
        "forgetting cycle": lambda: cycle(columns, NOW_S, decay),
        "forecast of 30 days": lambda: forecast(columns, NOW_S, decay, days=30),
        "ripple": lambda: ripple_targets(made, lambda row: bool(eligible[row]), 7, RippleRules()),
        "match scores with topic, threshold and rank": matched,
        "surfacing order": lambda: surfacing_order(columns, scores, rng=random.Random(1), rules=SurfaceRules()),
        "drift": lambda: drift(scores, eligible, rng=random.Random(0), rules=DriftRules(probability=1.0)),
        "fuzzy topics of names, domains and tags": lambda: fuzzy_topics("实习offer", heads, match),
        "fuzzy topic of one bucket with its body": one_fuzzy,
        "MMR of 10 out of 50 cards": lambda: mmr(cards[0], cards, limit=10),
        "dates in a question": lambda: dates_in("去年五月我们去了哪里", NOW),
        "date terms of a note": lambda: date_terms(NOW),
        "intents of 100 messages by words": lambda: [
            intent_by_words(text) for texts in EXAMPLES.values() for text in texts
        ],
    }


def median_ms(task: Callable[[], object], runs: int) -> float:
    """Median processor time of a run, in milliseconds."""
    times = []
    for _ in range(runs):
        began = time.process_time_ns()
        task()
        times.append((time.process_time_ns() - began) / 1e6)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buckets", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = {name: median_ms(task, arguments.runs) for name, task in tasks(arguments.buckets).items()}
    if arguments.json:
        print(json.dumps({"buckets": arguments.buckets, "cpu_ms": figures}))
        return
    print(f"{arguments.buckets} buckets, median processor time of {arguments.runs} runs")
    for name, figure in figures.items():
        print(f"{figure:10.3f} ms  {name}")


if __name__ == "__main__":
    main()
