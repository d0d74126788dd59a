"""Cards and the chat page in a real browser, over a played chat model."""

from __future__ import annotations

import pytest

from tests.e2e.browser import window
from tests.e2e.daemon import demonstration
from tests.model_server import CHAT_MODEL, ModelServer

pytestmark = pytest.mark.e2e

KEY = "played-key"


@pytest.fixture(scope="module")
def model():
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("cards") / "demo"
    env = {"VAULTD_BASE_URL": model.url, "VAULTD_API_KEY": KEY, "VAULTD_LLM__MODEL": CHAT_MODEL}
    with demonstration(folder, **env) as started:
        yield started


def test_a_card_is_written_edited_and_put_back(browser, daemon):
    with window(browser, daemon) as w:
        w.open("/memory/new")
        w.page.get_by_label("Topic").fill("bicycle, repair")
        w.page.get_by_label("Type").select_option("lesson")
        w.page.get_by_label("Text").fill("Oil the chain **before** the rain.")
        assert w.serious_findings() == []
        w.page.get_by_role("button", name="Save").click()
        w.page.get_by_text("✓ Recorded: bicycle · repair").wait_for()
        w.page.locator("a.tile", has_text="bicycle · repair").click()
        w.page.get_by_label("Text").fill("Oil the chain after the rain.")
        w.page.get_by_role("button", name="Save").click()
        w.page.get_by_text("✓ Recorded").wait_for()
        w.page.reload()
        w.page.locator("aside ul button").first.click()
        w.page.locator("dialog .diff", has_text="before").wait_for()
        w.page.locator("dialog").get_by_role("button", name="Put this version back").click()
        w.page.locator(".note strong", has_text="before").wait_for()
        assert w.page.get_by_label("Text").input_value().strip() == "Oil the chain **before** the rain."


def test_cards_are_filtered(browser, daemon):
    with window(browser, daemon, language="zh") as w:
        w.open("/dashboard/cards")
        w.page.locator("a.tile").first.wait_for()
        w.page.get_by_role("searchbox").fill("芝麻")
        w.page.locator("a.tile").nth(3).wait_for(state="detached")
        assert "芝麻" in w.page.locator("a.tile").first.inner_text()
        assert w.serious_findings() == []


def test_a_chat_streams_and_shows_which_cards_were_given(browser, daemon, model):
    with window(browser, daemon) as w:
        w.open("/chat")
        w.page.get_by_label("Message").fill("外婆住院了，排班怎么办？")
        w.page.keyboard.press("Enter")
        w.page.locator(".bubble.assistant .note").wait_for()
        given = w.page.locator(".given summary")
        given.wait_for()
        assert "🤖" in given.inner_text()
        given.click()
        assert w.page.locator(".given li").first.inner_text()
        assert w.serious_findings() == []
        w.page.get_by_role("button", name="New conversation").click()
        w.page.get_by_text("Say something").wait_for()
