"""A real browser on a real daemon's dashboard: Chromium, driven by Playwright."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.daemon import Daemon

AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text(encoding="utf-8")
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
TIMEOUT_MS = 20_000


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser: VAULTD_CHROMIUM, the system's chromium, or the one that Playwright fetched."""
    found = os.environ.get("VAULTD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Window:
    """A page that is logged in, and what happened in it."""

    page: Page
    daemon: Daemon
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a path and wait until the page has drawn itself."""
        self.page.goto(self.daemon.url + path)
        self.page.wait_for_selector("#page > *", state="attached")

    def serious_findings(self) -> list[str]:
        """What axe-core calls serious or critical on the page as it is."""
        self.page.evaluate(AXE)
        found = self.page.evaluate("async () => (await axe.run(document)).violations")
        return [
            f"{one['id']}: {node['html'][:160]} — {node['failureSummary'][:160]}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]


@contextlib.contextmanager
def window(
    browser: Browser, daemon: Daemon, *, language: str = "en", dark: bool = False, size: dict | None = None
) -> Iterator[Window]:
    """A logged-in page. At its end it must have had no error and asked no other host."""
    context = browser.new_context(
        locale={"en": "en-GB", "zh": "zh-CN"}[language],
        color_scheme="dark" if dark else "light",
        viewport=size or DESKTOP,
        timezone_id="Asia/Shanghai",
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    shown = Window(page, daemon)
    page.on("console", lambda m: shown.errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: shown.errors.append(str(error)))
    page.on("dialog", lambda dialog: (shown.dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: _note_foreign(shown, request.url))
    try:
        page.goto(daemon.get("/api/login-link", method="POST")["url"])
        page.wait_for_selector("nav.sidebar")
        yield shown
        assert not shown.errors, shown.errors
        assert not shown.foreign, shown.foreign
        assert not shown.dialogs, shown.dialogs
    finally:
        context.close()


def _note_foreign(shown: Window, url: str) -> None:
    if urlsplit(url).scheme in ("http", "https", "ws", "wss") and not url.startswith(shown.daemon.url + "/"):
        shown.foreign.append(url)
