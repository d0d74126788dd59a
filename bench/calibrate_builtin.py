"""Fits the built-in model's calibration and shows how well it holds.

    python bench/calibrate_builtin.py           writes vaultd/llm/data/e5_small_q4.json
    python bench/calibrate_builtin.py --report  precision and recall on the test pairs; writes docs/images/reliability.svg

Everything is computed by the reference engine (numpy) from text that comes with vaultd: the language means from the
sample vault's passages and from the sentences of the labelled pairs, half and half, since memories are both; the
similarity curves from the pairs of the split `fit`.
"""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import frontmatter
import numpy as np

from vaultd.core.text import share_of_cjk
from vaultd.index.passages import passages_of
from vaultd.llm.calibration import (
    BETA_MIXED,
    BETA_ONE_LANGUAGE,
    Calibration,
    builtin_calibration,
    fit_calibration,
    labelled_pairs,
    rounded,
)
from vaultd.llm.local import LocalEmbedder

ROOT = Path(__file__).parent.parent
DATA = ROOT / "vaultd" / "llm" / "data" / "e5_small_q4.json"
PLOT = ROOT / "docs" / "images" / "reliability.svg"
THRESHOLDS = (0.35, 0.5, 0.7, 0.85)
BINS = (0.0, 0.15, 0.35, 0.5, 0.7, 0.85, 1.0)
EXPECTED = {0.5: 0.5, 0.7: 0.8, 0.85: 0.95}  # similarity → share of related pairs, by definition
PROBE = (
    "今天把旧相册整理完了，发现外婆年轻时也爱写日记。 "
    "I put the old photo albums in order today and found that my grandmother kept a diary too."
)


def notes() -> list[str]:
    """The passages of the sample vault."""
    vault = Path(str(files("vaultd"))) / "data" / "sample_vault"
    bodies = [frontmatter.loads(path.read_text("utf-8")).content for path in sorted(vault.rglob("*.md"))]
    return [passage.text for body in bodies for passage in passages_of(body)]


def write(embedder: LocalEmbedder) -> None:
    """Fit, and write the data file."""
    pairs = [pair for pair in labelled_pairs() if pair.split == "fit"]
    probe = {"text": PROBE, "vector": rounded(embedder.embed_passages([PROBE])[0])}
    data = fit_calibration(embedder, pairs, notes()).as_json() | {"probe": probe}
    DATA.write_text(json.dumps(data, ensure_ascii=False) + "\n", "utf-8")
    print(f"{DATA}: {DATA.stat().st_size:,} bytes, from {len(pairs)} pairs")
    for beta, knots in data["curves"].items():
        print(f"beta {beta}: " + "  ".join(f"{value:.2f} at {cosine:.3f}" for cosine, value in knots))


class Check:
    """The test pairs: their labels, and their similarities in both ways of comparing."""

    def __init__(self, embedder: LocalEmbedder, calibration: Calibration, beta: float) -> None:
        pairs = [pair for pair in labelled_pairs() if pair.split == "test"]
        if beta == BETA_ONE_LANGUAGE:
            pairs = [pair for pair in pairs if "-" not in pair.lang]
        self.labels = np.array([pair.label for pair in pairs])
        a, b = [pair.a for pair in pairs], [pair.b for pair in pairs]

        def centred(vectors: np.ndarray, texts: list[str]) -> np.ndarray:
            return calibration.centre.centre(vectors, [share_of_cjk(text) for text in texts], beta)

        stored_b = centred(embedder.embed_passages(b), b)
        sides = {
            "memory and memory": centred(embedder.embed_passages(a), a),
            "query and memory": centred(np.stack([embedder.embed_query(text) for text in a]), a),
        }
        curve = calibration.similarity(beta)
        self.ways = {way: curve((side * stored_b).sum(axis=1)) for way, side in sides.items()}

    def print(self) -> None:
        """Precision and recall of "related" at each threshold, and how many of the others pass it."""
        related, unrelated, same = (self.labels == label for label in ("related", "unrelated", "same_topic"))
        for way, values in self.ways.items():
            print(f"  {way}: {related.sum()} related, {same.sum()} same topic, {unrelated.sum()} unrelated")
            for threshold in THRESHOLDS:
                found = values >= threshold
                precision = found[related].sum() / max(found.sum(), 1)
                print(
                    f"    ≥ {threshold:.2f}: precision {precision:.2f}  recall {found[related].mean():.2f}"
                    f"  same topic {found[same].mean():.2f}  unrelated {found[unrelated].mean():.2f}"
                )

    def shares(self, way: str) -> list[tuple[float, float, float]]:
        """(mean similarity, share of related pairs, its standard error) of each bin; both sides weigh the same."""
        values, related = self.ways[way], self.labels == "related"
        points = []
        for low, high in pairwise(BINS):
            inside = (values >= low) & ((values < high) | (high == 1.0))
            yes, no = (inside & related).sum() / related.sum(), (inside & ~related).sum() / (~related).sum()
            if inside.sum() >= 3:
                share = yes / (yes + no)
                points.append((float(values[inside].mean()), share, (share * (1 - share) / inside.sum()) ** 0.5))
        return points


def report(embedder: LocalEmbedder) -> None:
    """Print the check of both betas, and plot the one for mixed vaults."""
    for beta in (BETA_MIXED, BETA_ONE_LANGUAGE):
        check = Check(embedder, builtin_calibration(), beta)
        print(f"beta {beta}, test pairs" + (" in one language" if beta == BETA_ONE_LANGUAGE else ""))
        check.print()
        if beta == BETA_MIXED:
            plot(check)


def plot(check: Check) -> None:
    """Similarity against the share of related pairs among the test pairs, with one standard error."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "vaultd"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4.2), layout="constrained")
    axes.plot(list(EXPECTED), list(EXPECTED.values()), color="0.5", linestyle="--", marker="s", label="by definition")
    for (way, _), colour in zip(check.ways.items(), ("tab:blue", "tab:orange"), strict=True):
        x, y, error = zip(*check.shares(way), strict=True)
        axes.errorbar(x, y, error, color=colour, marker="o", capsize=3, label=way)
    axes.set(
        xlabel="similarity", ylabel="share of related pairs (both sides weighted alike)", xlim=(0, 1), ylim=(0, 1.05)
    )
    axes.set_title(f"{len(check.labels)} test pairs, Chinese, English and across", fontsize=10)
    axes.legend(loc="lower right")
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})
    print(PLOT)


def main() -> None:
    """Fit or report."""
    parser = argparse.ArgumentParser(description="The built-in model's calibration.")
    parser.add_argument("--report", action="store_true", help="check the fitted curves on the test pairs")
    embedder = LocalEmbedder(engine="numpy", checked=False)
    if parser.parse_args().report:
        report(embedder)
    else:
        write(embedder)


if __name__ == "__main__":
    main()
