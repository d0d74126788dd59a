"""Draw docs/images/decay.svg and recency.svg from the formulas themselves. Needs matplotlib."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vaultd.core.bucket import Bucket, Kind
from vaultd.core.card import Category
from vaultd.core.emotion import Emotion
from vaultd.scoring.constants import ARCHIVE_BELOW, DecayWeights
from vaultd.scoring.decay import decay_score
from vaultd.scoring.final import CATEGORY_CODES, CardColumns, recencies
from vaultd.scoring.match import time_parts

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_memory(importance: int, activations: float, arousal: float, *, resolved: bool = False) -> Bucket:
    return Bucket(
        id="0" * 12, path="", name="", kind=Kind.DYNAMIC, domain=(), tags=(), emotion=Emotion(0.5, arousal),
        importance=importance, activation_count=activations, created=NOW, last_active=NOW, resolved=resolved,
    )  # fmt: skip


def save(figure: Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(Path(__file__).parent.parent / "docs" / "images" / name, metadata={"Date": None})


def decay() -> None:
    lines = {
        "importance 9, recalled 10 times": a_memory(9, 10, 0.3),
        "importance 5, excited (arousal 0.8)": a_memory(5, 0, 0.8),
        "importance 5": a_memory(5, 0, 0.3),
        "importance 5, resolved": a_memory(5, 0, 0.3, resolved=True),
    }
    days = [d / 4 for d in range(4 * 100)]
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for label, memory in lines.items():
        axes.plot(days, [decay_score(memory, NOW + timedelta(days=d), DecayWeights()) for d in days], label=label)
    axes.axhline(ARCHIVE_BELOW, color="grey", linestyle=":", label="to the archive")
    axes.set(yscale="log", xlabel="days since it was last active", ylabel="decay score", ylim=(0.02, 60))
    axes.legend(fontsize=8)
    axes.grid(alpha=0.2)
    save(figure, "decay.svg")


def recency() -> None:
    days = np.arange(0.0, 120.0, 0.25)
    now = NOW.timestamp()
    then = now - days * 86_400
    kind = np.full(len(days), CATEGORY_CODES[Category.PREFERENCE], dtype=np.uint8)
    cards = CardColumns(category=kind, importance=np.full(len(days), 5.0), last_active=then)
    figure, axes = plt.subplots(figsize=(7, 3))
    axes.plot(days, time_parts(then, now), label="time, in the match score of memories")
    axes.plot(days, recencies(cards, now, "step"), label="recency of cards (step, the default)")
    axes.plot(days, recencies(cards, now, "smooth"), linestyle="--", label="recency of cards (smooth)")
    axes.set(xlabel="days since the last use", ylim=(0, 1.05))
    axes.legend(fontsize=8)
    axes.grid(alpha=0.2)
    save(figure, "recency.svg")


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "vaultd"
    decay()
    recency()


if __name__ == "__main__":
    main()
