"""Draw docs/images/decay.svg from the formula itself. Needs matplotlib."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from vaultd.core.bucket import Bucket, Kind
from vaultd.core.emotion import Emotion
from vaultd.scoring.constants import ARCHIVE_BELOW, DecayWeights
from vaultd.scoring.decay import decay_score

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_memory(importance: int, activations: float, arousal: float, *, resolved: bool = False) -> Bucket:
    return Bucket(
        id="0" * 12, path="", name="", kind=Kind.DYNAMIC, domain=(), tags=(), emotion=Emotion(0.5, arousal),
        importance=importance, activation_count=activations, created=NOW, last_active=NOW, resolved=resolved,
    )  # fmt: skip


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "vaultd"
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
    figure.tight_layout()
    target = Path(__file__).parent.parent / "docs" / "images" / "decay.svg"
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
