"""How long until an edit in Obsidian is seen in an open page of the dashboard: from the file's write to the changed text.

usage: python bench/live_page.py [--edits 20]

Needs Chromium. The clock of the page is the clock of this script: both run on this machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.browser import Window, chromium, window
from tests.e2e.daemon import serving

NOTE = "---\nid: 11aa22bb33cc\nname: Live\n---\nLine {number}\n"
SEEN = """(wanted) => new Promise((resolve) => {
  const seen = () => document.querySelector(".note")?.textContent.includes(wanted);
  const watcher = new MutationObserver(() => { if (seen()) { watcher.disconnect(); resolve(Date.now()); } });
  watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
})"""


def edit(shown: Window, place: Path, number: int) -> float:
    """Save the note with another line; the seconds until the page shows it."""
    wanted = f"Line {number}"
    shown.page.evaluate(f"window.seen_ = ({SEEN})('{wanted}'); null")
    began = time.time()
    place.write_text(NOTE.format(number=number), encoding="utf-8")
    return shown.page.evaluate("window.seen_") / 1000 - began


def measured(browser, folder: Path, edits: int) -> list[float]:
    """The seconds of so many edits, shortest first."""
    place = folder / "vault" / "dynamic" / "x" / "live.md"
    place.parent.mkdir(parents=True)
    place.write_text(NOTE.format(number=-1), encoding="utf-8")
    with (
        serving(folder / "vault", folder / "s", VAULTD_EMBEDDING__PROVIDER="none") as daemon,
        window(browser, daemon) as shown,
    ):
        daemon.wait(lambda status: status["ready"] and status["notes"] == 1)
        shown.open("/dashboard/memories/11aa22bb33cc")
        shown.page.locator(".note", has_text="Line -1").wait_for()
        return sorted(edit(shown, place, number) for number in range(edits))


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        found = [1000 * seconds for seconds in measured(browser, Path(folder), given.edits)]
    late = found[min(len(found) - 1, round(0.95 * len(found)))]
    print(f"{len(found)} edits: median {found[len(found) // 2]:.0f} ms, p95 {late:.0f} ms, longest {found[-1]:.0f} ms")


if __name__ == "__main__":
    main()
