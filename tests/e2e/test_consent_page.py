"""The consent page in a real browser that comes from a connector's own site."""

import contextlib
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.e2e.browser import AXE, PHONE, chromium
from tests.e2e.daemon import free_port, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@contextlib.contextmanager
def connector_site():
    """A site with a link to whatever its query says; every other page of it is white."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            target = parse_qs(urlsplit(self.path).query).get("to", [""])[0].replace("&", "&amp;")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<!doctype html><a href="{target}">connect</a>'.encode())

        def log_message(self, *_):
            """Nothing to say."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"  # to a browser another site than 127.0.0.1
    finally:
        server.shutdown()
        server.server_close()


def test_a_person_is_led_from_the_connector_to_the_page_and_back_and_logs_in_only_once(tmp_path):
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    public = {"VAULTD_SERVER__PUBLIC_URL": origin, "VAULTD_EMBEDDING__PROVIDER": "none"}
    with (
        serving(tmp_path / "vault", tmp_path / "state", "--port", str(port), **public) as daemon,
        connector_site() as site,
        chromium() as browser,
    ):
        daemon.wait(lambda status: status["ready"])
        stated = {"redirect_uris": [f"{site}/callback"], "client_name": "A connector"}
        request = urllib.request.Request(
            f"{origin}/register", json.dumps(stated).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            client_id = json.load(answer)["client_id"]
        asked = {"response_type": "code", "client_id": client_id, "redirect_uri": f"{site}/callback", "state": "st"}
        asked |= {"code_challenge": "c" * 43, "code_challenge_method": "S256"}
        start = f"{site}/start?{urlencode({'to': f'{origin}/authorize?{urlencode(asked)}'})}"
        page = browser.new_page(viewport=PHONE, locale="en-US")

        page.goto(start)
        page.click("a")
        page.fill("#token", daemon.token)
        page.click("button[type=submit]")
        page.wait_for_selector("button[value=allow]")
        assert "A connector" in page.inner_text("main")
        assert site in page.inner_text("main")
        page.evaluate(AXE)
        found = page.evaluate("async () => (await axe.run(document)).violations.map((one) => [one.id, one.impact])")
        assert not [one for one in found if one[1] in ("serious", "critical")]
        page.click("button[value=allow]")
        page.wait_for_url(f"{site}/callback?*")
        assert parse_qs(urlsplit(page.url).query).keys() == {"code", "state", "iss"}

        page.goto(start)
        page.click("a")
        page.click("button[value=deny]")
        page.wait_for_url(f"{site}/callback?*")
        assert parse_qs(urlsplit(page.url).query)["error"] == ["access_denied"]
