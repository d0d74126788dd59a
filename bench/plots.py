"""Draw what was measured, from the figures kept in bench/figures: python -m bench.plots. Needs matplotlib.

road-*.json     of `bench.road --json`, one a size of vault
peers-*.jsonl   of `bench.peers`, one a size of vault
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import matplotlib.ticker  # as mpl.ticker

FIGURES = Path(__file__).parent / "figures"
IMAGES = Path(__file__).parent.parent / "docs" / "images"
OURS, OTHERS = "#6d5ae6", "#9aa0a6"


def roads() -> list[dict]:
    found = [json.loads(file.read_text(encoding="utf-8")) for file in FIGURES.glob("road-*.json")]
    return sorted(found, key=lambda figures: figures["notes"])


def peers() -> list[dict]:
    """The newest run of each target at each size; phases of several runs are put together."""
    last: dict[tuple[str, int], dict] = {}
    for file in sorted(FIGURES.glob("peers-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            last.setdefault((run["target"], run["n"]), {}).update({k: v for k, v in run.items() if v is not None})
    return list(last.values())


def growth() -> None:
    """Wall times of the road by size of vault."""
    names = {
        "breath(query) of an unknown word": "question, a miss",
        "breath(query), embedding cached": "question",
        "breath()": "what surfaces",
        "hold": "hold",
        "save by rename → found": "saved by rename → found",
        "save in place → found": "saved in place → found",
    }
    measured = roads()
    figure, axes = plt.subplots(figsize=(7, 3.8))
    for name, label in names.items():
        axes.plot([m["notes"] for m in measured], [m[name]["p50_ms"] for m in measured], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="notes in the vault", ylabel="median, ms")
    axes.set_ylim(2, 1_000)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes.legend(fontsize=8, ncol=3, loc="upper center")
    axes.grid(alpha=0.2, which="both")
    figure.tight_layout()
    figure.savefig(IMAGES / "growth.svg", metadata={"Date": None})


def beside_peers() -> None:
    """Three figures of one run, shorter is better."""
    runs = [run for run in peers() if run["n"] == 1_000 and run["target"] != "null"]
    shown = (
        (
            "first index, CPU ms a note",
            lambda run: 1000 / statistics.median(c["notes_per_cpu_s"] for c in run["cold"]),
        ),
        (
            "question, server CPU ms",
            lambda run: statistics.median(s["srv_cpu_p50_ms"] for s in run["search"]),
        ),
        ("saved → found, median ms", lambda run: run["edit"]["p50_ms"]),
    )
    figure, panels = plt.subplots(1, len(shown), figsize=(9, 2.2))
    for axes, (title, value_of) in zip(panels, shown, strict=True):
        values = {run["target"]: value_of(run) for run in runs}
        values = {name: value for name, value in values.items() if value is not None}
        bars = axes.barh(list(values), list(values.values()), color=[OURS if n == "vaultd" else OTHERS for n in values])
        axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)
        axes.set_title(title, fontsize=9)
        axes.set_xlim(0, 1.25 * max(values.values()))
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(IMAGES / "peers.svg", metadata={"Date": None})


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "vaultd"
    growth()
    beside_peers()


if __name__ == "__main__":
    main()
