"""Nothing in a note runs, whatever the note says and wherever it is shown."""

from __future__ import annotations

import pytest

from tests.e2e.browser import window
from tests.e2e.daemon import serving
from tests.model_server import CHAT_MODEL, ModelServer, reply

pytestmark = pytest.mark.e2e

MARK = "window.__ran = true"
HOSTILE = f"""\
<script>{MARK}</script>
<img src=x onerror="{MARK}"><svg onload="{MARK}"><script>{MARK}</script></svg>
<svg><animate onbegin="{MARK}" attributeName="x" dur="1s"></animate></svg>
<iframe src="javascript:{MARK}" srcdoc="<script>parent.__ran = true</script>"></iframe>
<a href="javascript:{MARK}">one</a> [two](javascript:{MARK}) [three](JaVaScRiPt:{MARK}) [four](data:text/html,<script>{MARK}</script>)
[five](vbscript:x) <details open ontoggle="{MARK}">x</details> <body onload="{MARK}"> <style>@import 'http://evil.invalid/x';</style>
<meta http-equiv="refresh" content="0;url=http://evil.invalid/"> <form action="http://evil.invalid/"><input autofocus onfocus="{MARK}"></form>
![six](http://evil.invalid/pixel.png) ![[http://evil.invalid/y.png]] [[javascript:{MARK}|seven]] [[x" onclick="{MARK}|eight]]
<math><mtext><table><mglyph><style><img src=x onerror="{MARK}"></style></mglyph></table></mtext></math>
<a href="obsidian://open?vault=x" onclick="{MARK}">nine</a> [ten]( "onmouseover={MARK}")

[r]: javascript:{MARK}
[eleven][r] <javascript:{MARK}> `<script>{MARK}</script>`

| a | b |
| - | - |
| <img src=x onerror="{MARK}"> | [x](javascript:{MARK}) |
"""
NAME = f"<img src=x onerror='{MARK}'>"
ID = "cafe00000001"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    place = folder / "vault" / "dynamic" / "bad" / "note.md"
    place.parent.mkdir(parents=True)
    quoted = NAME.replace('"', "'")
    place.write_text(
        f'---\nid: {ID}\nname: "{quoted}"\ndomain: ["{quoted}"]\ntags: ["{quoted}"]\nsource: "{quoted}"\n---\n{HOSTILE}',
        encoding="utf-8",
    )
    card = folder / "vault" / "cards" / "20260101-001 x.md"
    card.parent.mkdir(parents=True)
    card.write_text(
        f'---\nid: 20260101-001\ntopic: ["{quoted}"]\ntype: lesson\nimportance: 5\n---\n{HOSTILE}', encoding="utf-8"
    )
    broken = folder / "vault" / "dynamic" / "bad" / "<b onclick=x>.md"
    broken.write_text(f"---\nname: [{NAME}\n---\n{HOSTILE}", encoding="utf-8")
    with serving(folder / "vault", folder / "s") as started:
        started.settled()
        yield started


PAGES = (
    "/dashboard/memories",
    f"/dashboard/memories/{ID}",
    "/dashboard/breath",
    "/dashboard/breath?q=one",
    "/dashboard/network",
    "/dashboard/cards",
    "/memory/edit?id=20260101-001",
    "/dashboard/chat",
    "/dashboard/import",
    "/dashboard/settings",
    "/dashboard/health",
    f"/dashboard/memories?q={NAME}&tag={NAME}&domain={NAME}&sort={NAME}",
)


def test_a_hostile_note_runs_nothing_in_any_tab(browser, daemon):
    with window(browser, daemon) as w:
        for path in PAGES:
            w.open(path)
            w.page.wait_for_timeout(500)
            for link in w.page.locator(".note a").all():
                assert not (link.get_attribute("href") or "").lower().startswith(("javascript:", "data:", "vbscript:"))
            assert w.page.evaluate("window.__ran") is None, path
            assert (
                w.page.locator("#page iframe, #page script, #page object, #page embed, #page form[action]").count() == 0
            )
            attributes = w.page.evaluate(
                "[...document.querySelectorAll('#page *')].flatMap((e) => e.getAttributeNames())"
                ".filter((name) => name.startsWith('on'))"
            )
            assert attributes == [], path


def test_a_hostile_answer_of_a_model_and_a_hostile_import_run_nothing(browser, tmp_path):
    source = tmp_path / "bad.md"
    source.write_text(f"# {NAME}\n\n## User\n\n{HOSTILE}\n\n## Assistant\n\n{HOSTILE}\n", encoding="utf-8")
    with ModelServer() as model:
        model.default = reply.content(HOSTILE)
        env = {"VAULTD_BASE_URL": model.url, "VAULTD_API_KEY": "k", "VAULTD_LLM__MODEL": CHAT_MODEL}
        with (
            serving(tmp_path / "vault", tmp_path / "s", VAULTD_EMBEDDING__PROVIDER="none", **env) as daemon,
            window(browser, daemon) as w,
        ):
            w.open("/dashboard/chat")
            w.page.get_by_label("Message").fill(HOSTILE)
            w.page.get_by_role("button", name="Send").click()
            w.page.locator(".bubble.assistant .note", has_text="seven").wait_for()
            assert w.page.evaluate("window.__ran") is None
            w.open("/dashboard/import")
            w.page.locator("#import-file").set_input_files(str(source))
            w.page.locator(".preflight").wait_for()
            w.page.locator('select[data-option="mode"]').select_option("notes")
            w.page.get_by_role("button", name="Start").click()
            w.page.locator(".job-state.done").wait_for()
            w.page.get_by_text("Review", exact=True).click()
            w.page.locator(".review li").first.wait_for()
            w.page.get_by_text("Patterns", exact=True).click()
            w.page.wait_for_timeout(300)
            assert w.page.evaluate("window.__ran") is None
            assert w.page.locator("#page iframe, #page script, #page object, #page embed").count() == 0


def test_the_text_of_a_hostile_note_is_still_readable(browser, daemon):
    with window(browser, daemon) as w:
        w.open(f"/dashboard/memories/{ID}")
        w.page.locator(".note", has_text="seven").wait_for()
        assert "<script>" in w.page.locator(".note").inner_text()
        w.page.locator(".note a.wikilink", has_text="eight").click()
        w.page.locator("#page h1").wait_for()
        assert w.page.evaluate("window.__ran") is None
