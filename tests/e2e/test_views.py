"""The two MCP Apps views in a real browser, in a sealed frame as clients show them, under a host of a few lines."""

import asyncio
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from tests.e2e.browser import chromium
from tests.e2e.daemon import serving
from vaultd.tools.apps import page as view

pytestmark = pytest.mark.e2e

HOST = """
<body style="margin:0"><script>
  const heard = [];
  function show(html, theme, results) {
    const frame = document.createElement("iframe");
    const say = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
    const context = (theme) => say({ method: "ui/notifications/host-context-changed", params: { theme } });
    addEventListener("message", ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      heard.push(data.method);
      if (data.method === "ui/initialize")
        say({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" },
                                     hostCapabilities: { serverTools: {} }, hostContext: { theme } } });
      if (data.method === "ui/notifications/initialized")
        say({ method: "ui/notifications/tool-result", params: results.first });
      if (data.method === "tools/call") say({ id: data.id, result: results[data.params.arguments.bucket_id] });
      if (data.method === "ui/notifications/size-changed") frame.style.height = `${data.params.height}px`;
    });
    frame.sandbox = "allow-scripts";
    frame.style = "border:0; display:block; width:100%; height:100px";
    frame.srcdoc = html;
    document.body.append(frame);
    window.context = context;
  }
</script></body>
"""
SEALED = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
)


async def _answers(daemon) -> dict:
    """What `show_network` says, and `show_memory` of each memory in it."""
    async with daemon.client() as client:
        first = await client.call_tool("show_network", {})
        nodes = first.meta["vaultd/network"]["nodes"]
        answers = {node["id"]: await client.call_tool("show_memory", {"bucket_id": node["id"]}) for node in nodes}
    return {name: answer.model_dump(mode="json", by_alias=True) for name, answer in {"first": first, **answers}.items()}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict:
    # before the browser: Playwright leaves its event loop running
    place = tmp_path_factory.mktemp("views")
    shutil.copytree(Path(str(files("vaultd") / "data" / "sample_vault")), place / "vault")
    with serving(place / "vault", place / "state") as daemon:
        daemon.wait(lambda status: status["ready"] and status["pending"] == 0)
        return asyncio.run(_answers(daemon))


@pytest.fixture(scope="module")
def browser(answers):
    with chromium() as one:
        yield one


def shown(browser, name: str, theme: str, answers: dict):
    """A page with the view in it, and the view's frame; the page takes the host's colour."""
    page = browser.new_page(viewport={"width": 720, "height": 700}, color_scheme="light")
    page.set_content(HOST)
    page.evaluate("colour => { document.body.style.background = colour }", "#1e1e22" if theme == "dark" else "#fff")
    page.evaluate("([html, theme, results]) => show(html, theme, results)", [SEALED + view(name), theme, answers])
    page.wait_for_function("heard.includes('ui/notifications/size-changed')")
    return page, page.frames[1]


def colours(frame) -> list[str]:
    """The colours in the picture, the frequent first."""
    return frame.evaluate("""() => {
      const canvas = document.getElementById("network");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const counted = new Map();
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] !== 255) continue;
        const colour = data.slice(i, i + 3).join();
        counted.set(colour, (counted.get(colour) || 0) + 1);
      }
      return [...counted].sort((one, other) => other[1] - one[1]).map(([colour]) => colour);
    }""")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_network_is_drawn_and_a_click_on_a_node_opens_its_card_in_full_height(browser, answers, theme):
    page, frame = shown(browser, "network", theme, answers)
    frame.wait_for_selector("#list button", state="attached")
    network = answers["first"]["_meta"]["vaultd/network"]

    assert len(colours(frame)) > 5, "domains have colours"
    assert frame.text_content("#summary") == network["summary"]
    assert frame.locator("#list button").count() == len(network["nodes"])

    x, y = frame.evaluate("() => place().at(nodes[3])")
    frame.locator("canvas").click(position={"x": x, "y": y})
    frame.wait_for_selector("#card h1")
    assert frame.text_content("#card h1").endswith(network["nodes"][3]["name"])
    page.wait_for_function("document.querySelector('iframe').clientHeight >= 500")
    assert frame.evaluate("document.documentElement.scrollHeight - innerHeight") <= 1, "nothing is cut off"


def test_a_change_of_the_hosts_theme_repaints_the_picture(browser, answers):
    page, frame = shown(browser, "network", "light", answers)
    frame.wait_for_selector("#list button", state="attached")
    text = "36,33,29"
    assert text in colours(frame)

    page.evaluate("context('dark')")
    frame.wait_for_function("document.documentElement.dataset.theme === 'dark'")

    assert text not in colours(frame)
    assert "236,234,240" in colours(frame)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_memory_is_a_card_and_what_is_like_it_opens_in_its_place(browser, answers, theme):
    one = next(
        name
        for name, answer in answers.items()
        if name != "first" and len(answer["_meta"]["vaultd/memory"]["alike"]) > 2
    )
    _, frame = shown(browser, "memory", theme, answers | {"first": answers[one]})
    frame.wait_for_selector("h1")
    memory = answers[one]["_meta"]["vaultd/memory"]
    assert memory["facts"][0] in frame.text_content("#card")

    frame.click("#card li button")
    frame.wait_for_function(
        "([id]) => document.getElementById('card').dataset.id === id", arg=[memory["alike"][0]["id"]]
    )
    assert frame.text_content("h1").endswith(memory["alike"][0]["name"])
