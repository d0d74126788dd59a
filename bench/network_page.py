"""The network page with thousands of nodes in a real browser: how long it takes to settle, and each frame's time meanwhile.

usage: python bench/network_page.py [--nodes 5000] [--a-node 3]

Needs Chromium. Nodes and edges are made up, in topics as in a person's vault; the page asks a real daemon for everything else.
Headless Chromium draws without a graphics card: the frame times are those of the slowest machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.browser import Window, chromium, window
from tests.e2e.daemon import serving

KINDS = ("dynamic",) * 16 + ("permanent", "feel", "feel", "archived")
TOPIC_SIZE = 40  # nodes
STEPS = 60
RECORDER = """
window.frames_ = [];
window.pictures_ = [];
(function turn(before) { requestAnimationFrame((now) => { if (before) window.frames_.push(now - before); turn(now); }); })(0);
const seen = new WeakSet(), drawn = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (picture, ...rest) {
  if (!seen.has(picture)) { seen.add(picture); window.pictures_.push(performance.now()); }
  return drawn.call(this, picture, ...rest);
};
"""


def network(count: int, a_node: int, seed: int = 5) -> dict:
    """An answer of `/api/network`: topics whose members are mostly joined with each other."""
    rng = random.Random(seed)
    nodes = [
        {
            "id": f"{i:012x}",
            "name": f"Memory number {i} of a long walk",
            "kind": rng.choice(KINDS),
            "domain": f"topic {i // TOPIC_SIZE}",
            "importance": rng.randint(1, 10),
            "valence": 0.5,
            "resolved": False,
            "pinned": False,
            "score": rng.uniform(0.3, 12.0),
        }
        for i in range(count)
    ]
    pairs = set()
    for i in range(count):
        first = i - i % TOPIC_SIZE
        for _ in range(a_node):
            near = rng.randrange(first, min(first + TOPIC_SIZE, count))
            other = near if rng.random() < 0.9 else rng.randrange(count)
            if other != i:
                pairs.add((min(i, other), max(i, other)))
    edges = [[one, other, round(rng.uniform(0.5, 0.9), 3)] for one, other in sorted(pairs)]
    return {"nodes": nodes, "edges": edges, "total": count, "without_embedding": 0}


def frames(shown: Window, what: str) -> None:
    """Print the times since the last call: of frames, and between freshly painted pictures, which frames move about."""
    times = sorted(shown.page.evaluate("window.frames_.splice(0)"))
    moments = shown.page.evaluate("window.pictures_.splice(0)")
    pictures = sorted(after - before for before, after in itertools.pairwise(moments)) or [0.0]
    middle, late = times[len(times) // 2], times[min(len(times) - 1, round(0.95 * len(times)))]
    print(
        f"{what:20} {len(times):4} frames: median {middle:5.1f}  p95 {late:5.1f}  longest {times[-1]:6.1f} ms;"
        f" {len(moments):4} new pictures: median {pictures[len(pictures) // 2]:5.1f} ms"
    )


def measure(count: int, a_node: int, picture: Path | None) -> None:
    """Open the page, wait until it has settled, pan, zoom and point."""
    answer = json.dumps(network(count, a_node))
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder)
        with (
            serving(place / "vault", place / "s", VAULTD_EMBEDDING__PROVIDER="none") as daemon,
            window(browser, daemon) as shown,
        ):
            page = shown.page
            page.route("**/api/network?**", lambda route: route.fulfill(body=answer, content_type="application/json"))
            page.add_init_script(RECORDER)
            began = time.perf_counter()
            shown.open("/dashboard/network")
            page.locator("canvas[data-drawn]").wait_for()
            print(f"{count:,} nodes; first picture after {time.perf_counter() - began:.1f} s", end=", ")
            page.locator('canvas[data-settled="true"]').wait_for(timeout=120_000)
            print(f"settled after {time.perf_counter() - began:.1f} s")
            frames(shown, "while settling")
            if picture is not None:
                page.screenshot(path=picture)
                frames(shown, "a screenshot")
            across, down = 900, 450
            page.mouse.move(across, down)
            page.mouse.down()
            for i in range(STEPS):
                page.mouse.move(across + 4 * (i % 20), down + 3 * (i % 30))
            page.mouse.up()
            frames(shown, "panning")
            for i in range(STEPS):
                page.mouse.wheel(0, -60 if i < STEPS // 2 else 60)
            frames(shown, "zooming in and out")
            for i in range(STEPS):
                page.mouse.move(500 + 8 * i, 300 + 4 * i)
            frames(shown, "pointing")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--a-node", type=int, default=3, help="edges that each node asks for")
    parser.add_argument("--picture", type=Path, help="where to put a picture of the settled network")
    given = parser.parse_args()
    measure(given.nodes, given.a_node, given.picture)


if __name__ == "__main__":
    main()
