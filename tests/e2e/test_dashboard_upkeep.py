"""What needs a person, in a real browser: conflicts, wrong notes, settings that wait for a start, connectors."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest

from tests.e2e.browser import PHONE, window
from tests.e2e.daemon import free_port, serving
from vaultd.config.loading import load
from vaultd.web.oauth_store import OAuthClient, OAuthStore
from vaultd.web.sessions import mark_of

pytestmark = pytest.mark.e2e

NOTE = "---\nid: aaaaaaaaaaaa\nname: Bread\nimportance: {importance}\n---\nThe bread is on the table\n"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upkeep")
    for path, text in {
        "dynamic/x/bread.md": NOTE.format(importance=5),
        "dynamic/x/bread.sync-conflict-20261101-080000-ABCDEFG.md": NOTE.format(importance=7),
        "dynamic/x/open.md": "---\nid: bbbbbbbbbbbb\nname: [open\n---\nStill found\n",
        "dynamic/x/far.md": "---\nid: cccccccccccc\nname: Far\nvalence: 7\n---\nToo happy\n",
        "dynamic/x/both.md": "---\nid: dddddddddddd\nname: Both\n---\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n",
    }.items():
        place = folder / "vault" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    env = {"VAULTD_EMBEDDING__PROVIDER": "none", "VAULTD_WATCH__RECONCILE_MINUTES": "7"}
    with serving(folder / "vault", folder / "s", **env) as started:
        started.wait(lambda status: status["ready"])
        yield started


@pytest.mark.parametrize(("language", "size"), [("en", None), ("zh", PHONE)])
def test_health_tells_what_is_wrong_where_and_how_to_mend_it(browser, daemon, language, size):
    with window(browser, daemon, language=language, size=size) as w:
        w.open("/dashboard/health")
        found = w.page.locator(".finding")
        found.first.wait_for()
        bad = found.filter(has_text="open.md:")
        assert "YAML" in bad.inner_text() or "yaml" in bad.inner_text()
        assert found.filter(has_text="both.md:5").count() == 1
        assert found.filter(has_text="valence: 7").count() == 1
        assert ("源码模式" if language == "zh" else "source view") in bad.inner_text()
        assert bad.get_by_role("link").get_attribute("href").startswith("obsidian://open?path=")
        assert w.serious_findings() == []
        assert w.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_words_alone_are_no_fault_where_a_person_chose_them(browser, daemon):
    assert daemon.status()["index_problem"] == ""
    with window(browser, daemon) as w:
        w.open("/dashboard/health")
        w.page.get_by_text("Everything is indexed").wait_for()
        assert w.page.locator(".notice.bad").count() == 0


def test_a_conflict_in_our_keys_is_merged_from_the_page(browser, daemon):
    with window(browser, daemon) as w:
        w.open("/dashboard/health")
        conflict = w.page.locator(".finding", has_text="bread.sync-conflict")
        conflict.get_by_role("button", name="Merge").click()
        w.page.get_by_text("Merged: dynamic/x/bread.md").wait_for()
        conflict.wait_for(state="detached")
    assert not list((daemon.vault / "dynamic").rglob("*sync-conflict*"))


def test_a_setting_that_needs_a_restart_is_written_and_says_so(browser, daemon):
    with window(browser, daemon) as w:
        w.open("/dashboard/settings")
        port = w.page.get_by_label("server.port")
        was = port.input_value()
        port.fill("9123")
        port.press("Tab")
        w.page.get_by_text("Written; holds after the next start: server.port").wait_for()
        w.page.locator(".notice.restart", has_text="server.port: 9123").wait_for()
        assert w.serious_findings() == []
        w.page.reload()
        assert w.page.get_by_label("server.port").input_value() == "9123"
        assert load(daemon.vault.parent / "s" / "config.yaml", {}).server.port == 9123
        w.page.get_by_label("server.port").fill(was)
        w.page.get_by_label("server.port").press("Tab")
        w.page.locator(".notice.restart").wait_for(state="detached")


def test_what_a_variable_sets_and_a_secret_for_the_next_start_say_where_to_change_them(browser, daemon):
    with window(browser, daemon) as w:
        w.open("/dashboard/settings")
        w.page.get_by_label("watch.reconcile_minutes").wait_for()
        assert w.page.get_by_label("watch.reconcile_minutes").is_disabled()
        assert w.page.get_by_label("embedding.api_key").is_disabled()
        w.page.get_by_text("set by VAULTD_WATCH__RECONCILE_MINUTES").wait_for()
        w.page.get_by_text("start vaultd with VAULTD_EMBEDDING_API_KEY").wait_for()
        w.page.get_by_text("None are let in").wait_for()


def test_a_connector_is_seen_and_shut_out(browser, tmp_path):
    origin = f"http://127.0.0.1:{(port := free_port())}"
    public = {"VAULTD_SERVER__PUBLIC_URL": origin, "VAULTD_EMBEDDING__PROVIDER": "none"}
    options = ("--port", str(port))
    with serving(tmp_path / "vault", tmp_path / "s", *options, **public) as daemon:
        token, (state,) = daemon.token, [file.parent for file in (tmp_path / "s").glob("*/runtime.json")]
    store = OAuthStore(state / "connectors.json", clock=_now)
    client = OAuthClient("client-1", "A travelling assistant", ("http://127.0.0.1:9/callback",))
    _, issued = store.give(client, token_name="owner", token_mark=mark_of(token))
    with serving(tmp_path / "vault", tmp_path / "s", *options, **public) as daemon, window(browser, daemon) as w:
        w.open("/dashboard/settings/connectors")
        row = w.page.locator(".connector", has_text="A travelling assistant")
        row.get_by_role("button", name="Shut out").click()
        assert w.serious_findings() == []
        w.page.get_by_role("dialog").get_by_role("button", name="Shut out").click()
        w.page.get_by_text("Nobody has been let in yet").wait_for()
    assert OAuthStore(state / "connectors.json", clock=_now).grant_of_access(issued.access) is None


def test_an_open_page_finds_the_daemon_again_after_a_restart(browser, tmp_path):
    options = ("--port", str(free_port()))
    vault, state, none = tmp_path / "vault", tmp_path / "s", {"VAULTD_EMBEDDING__PROVIDER": "none"}
    with contextlib.ExitStack() as stack:
        with serving(vault, state, *options, **none) as daemon:
            w = stack.enter_context(window(browser, daemon))
            w.open("/dashboard/memories")
            w.page.get_by_text("No memories yet").wait_for()
        w.page.get_by_text("Offline").wait_for()
        stack.enter_context(serving(vault, state, *options, **none))
        w.page.get_by_text("0 notes").wait_for()
        (vault / "dynamic").mkdir()
        (vault / "dynamic" / "new.md").write_text("---\nid: eeeeeeeeeeee\nname: Back again\n---\nHello\n")
        w.page.locator("a.entry", has_text="Back again").wait_for()
        w.errors.clear()  # the browser logs that nobody answered


def _now() -> datetime:
    return datetime.now(UTC)
