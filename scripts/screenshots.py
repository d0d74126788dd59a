"""Pictures of the dashboard on the sample vault, for the documentation: `make screenshots` → docs/images/.

Needs Chromium (VAULTD_CHROMIUM, `chromium` on the path, or `playwright install chromium`) and a font with Chinese.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.browser import DESKTOP, PHONE, chromium, window
from tests.e2e.daemon import demonstration

SETTLED_MS = 1_200

# name, path, language, dark, size
SHOTS = (
    ("memories", "/dashboard/memories/{id}", "en", False, DESKTOP),
    ("memories-dark", "/dashboard/memories/{id}", "en", True, DESKTOP),
    ("memories-zh", "/dashboard/memories/{id}", "zh", False, DESKTOP),
    ("breath", "/dashboard/breath?q=grandmother in hospital", "en", False, DESKTOP),
    ("network", "/dashboard/network", "en", False, DESKTOP),
    ("network-dark", "/dashboard/network", "zh", True, DESKTOP),
    ("cards", "/dashboard/cards", "en", False, DESKTOP),
    ("chat", "/dashboard/chat", "en", False, DESKTOP),
    ("import", "/dashboard/import", "en", False, DESKTOP),
    ("settings", "/dashboard/settings", "en", False, DESKTOP),
    ("health", "/dashboard/health", "en", False, DESKTOP),
    ("phone-memories", "/dashboard/memories", "en", False, PHONE),
    ("phone-memory-dark", "/dashboard/memories/{id}", "zh", True, PHONE),
    ("settings-dark", "/dashboard/settings", "zh", True, DESKTOP),
    ("phone-health-dark", "/dashboard/health", "en", True, PHONE),
    ("phone-network", "/dashboard/network", "zh", False, PHONE),
    ("phone-breath", "/dashboard/breath?q=外婆住院", "zh", False, PHONE),
)


def main() -> None:
    """Take the pictures, all or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these pictures")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "Notes"
        with demonstration(demo) as daemon, chromium() as browser:
            chosen = daemon.get("/api/search?q=grandmother&limit=1")["items"][0]["id"]
            for name, path, language, dark, size in SHOTS:
                if given.names and name not in given.names:
                    continue
                with window(browser, daemon, language=language, dark=dark, size=size) as w:
                    w.open(path.format(id=chosen))
                    w.page.wait_for_timeout(SETTLED_MS)
                    if "network" in name:
                        w.page.locator('canvas[data-settled="true"]').wait_for()
                    w.page.screenshot(path=given.to / f"{name}.png")
                    print(name)


if __name__ == "__main__":
    main()
