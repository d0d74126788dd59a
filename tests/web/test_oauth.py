"""Remote connectors: what they are told, whom they may send answers to, and what ends their access."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.web.asgi import MovedClock, bearer
from vaultd.core.errors import SettingsError
from vaultd.settings import ServerSettings
from vaultd.web.auth import PRINCIPAL, Auth, AuthMiddleware, Token
from vaultd.web.connectors import Connectors
from vaultd.web.endpoints import routes_of
from vaultd.web.guards import GuardMiddleware, ServerNames
from vaultd.web.login import login_routes
from vaultd.web.oauth import OPEN_PATHS, OAuth, issuer_of
from vaultd.web.oauth_clients import ClientRefused, check_redirect, fetch_document, is_document_id
from vaultd.web.oauth_consent import Consent

ISSUER = "https://memory.example.org"
OWNER = "owner-token-of-more-than-thirty-two-bytes"
CALLBACK = "https://connector.example.com/callback"
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@dataclass
class Place:
    """A server with OAuth, a browser that is logged in, and a connector's own HTTP client."""

    oauth: OAuth
    auth: Auth
    clock: MovedClock
    person: TestClient
    connector: TestClient

    def register(self, **stated) -> dict:
        answer = self.connector.post("/register", json={"redirect_uris": [CALLBACK], **stated})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def ask(self, client_id: str, **changed):
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "st",
            "resource": f"{ISSUER}/mcp",
        }
        asked |= changed
        return self.person.get(f"/authorize?{urlencode({k: v for k, v in asked.items() if v is not None})}")

    def decide(self, page, decision: str = "allow"):
        consent = re.search(r'name="consent" value="([^"]+)"', page.text)[1]
        data = {"consent": consent, "decision": decision}
        return self.person.post("/authorize", data=data, headers={"Origin": ISSUER})

    def code(self, client_id: str) -> str:
        answer = self.decide(self.ask(client_id))
        assert answer.status_code == 303, answer.text
        return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]

    def exchange(self, client_id: str, code: str, **changed):
        form = {"grant_type": "authorization_code", "client_id": client_id, "code": code}
        form |= {"redirect_uri": CALLBACK, "code_verifier": VERIFIER} | changed
        return self.connector.post("/token", data=form)

    def connect(self) -> tuple[str, dict]:
        client_id = self.register(token_endpoint_auth_method="none")["client_id"]
        answer = self.exchange(client_id, self.code(client_id))
        assert answer.status_code == 200, answer.text
        return client_id, answer.json()

    def refresh(self, client_id: str, token: str):
        form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token}
        return self.connector.post("/token", data=form)

    def status(self, token: str, path: str = "/mcp") -> int:
        return self.connector.post(path, headers=bearer(token)).status_code


DOCUMENT = "https://app.example.com/client.json"


def place(folder: Path, clock: MovedClock, documents: dict[str, bytes] | None = None, token: str = OWNER) -> Place:
    auth = Auth([Token("owner", token)], clock=clock)
    names = ServerNames.of(ServerSettings(public_url=ISSUER))

    async def fetch(url: str) -> bytes:
        return (documents or {})[url]

    async def told(request: Request) -> JSONResponse:
        return JSONResponse({"caller": request.scope[PRINCIPAL].name})

    oauth = OAuth(ISSUER, auth, folder / "connectors.json", clock=clock, fetch=fetch)
    app = Starlette(
        routes=[
            *login_routes(auth, names),
            *oauth.routes(),
            *routes_of(Connectors(oauth).endpoints()),
            *Consent(oauth, auth).routes(),
            Route("/mcp", told, methods=["POST"]),
            Route("/api/buckets", told, methods=["POST"]),
        ],
        middleware=[
            Middleware(GuardMiddleware, names=names),
            Middleware(
                AuthMiddleware, auth=auth, open_paths=OPEN_PATHS, challenge=oauth.challenge, connectors=oauth.check
            ),
        ],
    )
    person = TestClient(app, base_url=ISSUER, follow_redirects=False)
    assert person.post("/login", data={"token": token}, headers={"Origin": ISSUER}).status_code == 303
    return Place(oauth, auth, clock, person, TestClient(app, base_url=ISSUER, follow_redirects=False))


@pytest.fixture
def server(tmp_path) -> Place:
    return place(tmp_path, MovedClock())


def test_a_call_without_a_token_is_told_where_the_metadata_is_and_both_forms_of_it_are_there(server):
    answer = server.connector.post("/mcp")

    assert answer.status_code == 401
    address = re.search(r'resource_metadata="([^"]+)"', answer.headers["www-authenticate"])[1]
    for path in (urlsplit(address).path, "/.well-known/oauth-protected-resource"):
        told = server.connector.get(path).json()
        assert told["resource"] == f"{ISSUER}/mcp"
        assert told["authorization_servers"] == [ISSUER]
    metadata = server.connector.get("/.well-known/oauth-authorization-server").json()
    assert metadata["issuer"] == ISSUER
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert "none" in metadata["token_endpoint_auth_methods_supported"]
    assert metadata["client_id_metadata_document_supported"] is True


def test_a_connector_that_was_let_in_calls_the_tools_and_nothing_else(server):
    _, tokens = server.connect()

    answer = server.connector.post("/mcp", headers=bearer(tokens["access_token"]))

    assert answer.json() == {"caller": "connector unnamed program"}
    assert server.status(tokens["access_token"], "/api/buckets") == 401
    assert server.connector.get("/api/connectors", headers=bearer(tokens["access_token"])).status_code == 401


def test_the_consent_page_names_the_program_and_where_the_answer_goes_without_trusting_either(server):
    client_id = server.register(client_name="<b>Good</b> program")["client_id"]

    page = server.ask(client_id)

    assert "&lt;b&gt;Good&lt;/b&gt; program" in page.text
    assert "https://connector.example.com" in page.text
    assert "form-action 'self' https://connector.example.com;" in page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_a_no_reaches_the_connector_with_state_and_issuer_and_gives_no_code(server):
    client_id = server.register()["client_id"]

    answer = server.decide(server.ask(client_id), "deny")

    said = parse_qs(urlsplit(answer.headers["location"]).query)
    assert said == {"error": ["access_denied"], "state": ["st"], "iss": [ISSUER]}


def test_an_answer_counts_once_and_only_from_the_page_of_the_person_who_was_asked(server):
    client_id = server.register()["client_id"]
    page = server.ask(client_id)
    consent = re.search(r'name="consent" value="([^"]+)"', page.text)[1]
    data = {"consent": consent, "decision": "allow"}

    foreign = server.person.post("/authorize", data=data, headers={"Origin": "https://evil.example"})
    nobody = server.connector.post("/authorize", data=data, headers={"Origin": ISSUER})
    first, second = server.decide(page), server.decide(page)

    assert (foreign.status_code, nobody.status_code) == (403, 403)
    assert (first.status_code, second.status_code) == (303, 400)


def test_whoever_is_not_logged_in_is_sent_to_the_login_page_and_back(server):
    client_id = server.register()["client_id"]
    server.person.cookies.clear()

    answer = server.ask(client_id)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=%2Fauthorize%3F")


def test_a_browser_that_comes_from_another_site_is_led_through_a_page_of_ours_so_that_its_cookie_comes_along(server):
    client_id = server.register()["client_id"]
    asked = {"response_type": "code", "client_id": client_id, "redirect_uri": CALLBACK, "code_challenge": CHALLENGE}
    asked["code_challenge_method"] = "S256"
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    answer = server.connector.get(f"/authorize?{urlencode(asked)}", headers=headers)

    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text
    assert "/authorize?response_type=code&amp;client_id=" in answer.text


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": CALLBACK + "/more"},
        {"client_id": "nobody"},
    ],
)
def test_an_answer_is_never_sent_to_an_address_that_the_client_has_not_named(server, changed):
    client_id = server.register()["client_id"]

    answer = server.ask(**{"client_id": client_id} | changed)

    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
def test_other_mistakes_are_told_to_the_client(server, changed, error):
    client_id = server.register()["client_id"]

    answer = server.ask(client_id, **changed)

    assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == [error]


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://user:secret@host.example/cb",
        "https://host.example/cb#fragment",
        "https://host.example;script-src *",
        "https://host.example;x/cb",
        "https:///cb",
        "/cb",
        "https://host.example/\r\nSet-Cookie: x",
    ],
)
def test_addresses_that_an_answer_must_not_go_to_cannot_be_registered(server, uri):
    with pytest.raises(ClientRefused):
        check_redirect(uri)
    answer = server.connector.post("/register", json={"redirect_uris": [CALLBACK, uri]})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("uri", [CALLBACK, "http://127.0.0.1:3334/cb", "http://[::1]/cb", "cursor://app/callback"])
def test_addresses_of_the_web_of_this_machine_and_of_apps_can(uri):
    check_redirect(uri)


def test_a_program_on_the_persons_machine_may_listen_on_another_port_than_it_named(server):
    near = "http://127.0.0.1:1111/cb"
    client_id = server.register(redirect_uris=[near])["client_id"]

    assert server.ask(client_id, redirect_uri="http://127.0.0.1:2222/cb").status_code == 200
    assert server.ask(client_id, redirect_uri="http://127.0.0.1:2222/other").status_code == 400
    assert server.ask(client_id, redirect_uri="http://localhost:2222/cb").status_code == 400


def test_a_code_needs_its_verifier_its_client_and_its_address_and_is_good_for_a_minute(server):
    client_id = server.register(token_endpoint_auth_method="none")["client_id"]
    other = server.register(token_endpoint_auth_method="none")["client_id"]

    wrong = [
        server.exchange(client_id, server.code(client_id), code_verifier="w" * 50),
        server.exchange(other, server.code(client_id)),
        server.exchange(client_id, server.code(client_id), redirect_uri="https://connector.example.com/other"),
    ]
    late = server.code(client_id)
    server.clock.forward(61)
    wrong.append(server.exchange(client_id, late))

    assert [(one.status_code, one.json()["error"]) for one in wrong] == [(400, "invalid_grant")] * 4


def test_a_code_that_is_shown_twice_ends_what_it_gave(server):
    client_id = server.register(token_endpoint_auth_method="none")["client_id"]
    code = server.code(client_id)
    tokens = server.exchange(client_id, code).json()
    assert server.status(tokens["access_token"]) == 200

    again = server.exchange(client_id, code)

    assert again.status_code == 400
    assert server.status(tokens["access_token"]) == 401


def test_refreshing_gives_new_tokens_and_a_spent_one_that_comes_again_ends_the_access(server):
    client_id, first = server.connect()
    second = server.refresh(client_id, first["refresh_token"]).json()
    assert server.status(second["access_token"]) == 200

    stolen = server.refresh(client_id, first["refresh_token"])

    assert stolen.json()["error"] == "invalid_grant"
    assert server.status(second["access_token"]) == 401
    assert server.refresh(client_id, second["refresh_token"]).status_code == 400


def test_an_access_token_ends_after_an_hour_and_showing_it_then_locks_nobody_out(server):
    client_id, tokens = server.connect()
    server.clock.forward(3601)

    late = [server.status(tokens["access_token"]) for _ in range(10)]

    assert late == [401] * 10
    assert server.status(server.refresh(client_id, tokens["refresh_token"]).json()["access_token"]) == 200
    assert server.status(OWNER) == 200


def test_a_client_ends_its_access_with_either_token_and_without_a_secret(server):
    for kind in ("access_token", "refresh_token"):
        client_id, tokens = server.connect()
        other, _ = server.connect()

        unrelated = server.connector.post("/revoke", data={"token": tokens[kind], "client_id": other})
        before = server.status(tokens["access_token"])
        answer = server.connector.post("/revoke", data={"token": tokens[kind], "client_id": client_id})

        assert (unrelated.status_code, before, answer.status_code) == (200, 200, 200)
        assert server.status(tokens["access_token"]) == 401


def test_the_person_sees_who_was_let_in_and_shuts_them_out(server):
    _, tokens = server.connect()
    (row,) = server.connector.get("/api/connectors", headers=bearer(OWNER)).json()["connectors"]

    gone = server.connector.delete(f"/api/connectors/{row['id']}", headers=bearer(OWNER))

    assert gone.status_code == 204
    assert server.status(tokens["access_token"]) == 401


def test_access_outlives_a_restart_and_ends_with_the_persons_token_and_no_secret_is_kept_as_it_is(tmp_path):
    clock = MovedClock()
    before = place(tmp_path, clock)
    _, tokens = before.connect()
    secret = before.register()["client_secret"]

    after = place(tmp_path, clock)
    assert after.status(tokens["access_token"]) == 200
    file = tmp_path / "connectors.json"
    assert file.stat().st_mode & 0o077 == 0
    for word in (secret, *(tokens[key] for key in ("access_token", "refresh_token"))):
        assert word not in file.read_text()

    changed = place(tmp_path, clock, token=OWNER + "-new")
    assert changed.status(tokens["access_token"]) == 401


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_with_a_secret_must_show_it(server, method):
    told = server.register(token_endpoint_auth_method=method)
    client_id, secret = told["client_id"], told["client_secret"]

    def exchange(shown: str):
        form = {"grant_type": "authorization_code", "code": server.code(client_id), "redirect_uri": CALLBACK}
        form |= {"code_verifier": VERIFIER}
        if method == "client_secret_post":
            form |= {"client_id": client_id, "client_secret": shown}
            return server.connector.post("/token", data=form)
        return server.connector.post("/token", data=form, auth=(client_id, shown))

    wrong, right = exchange("guess"), exchange(secret)

    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    assert right.status_code == 200


def test_a_client_that_is_not_known_is_told_to_register_again(server):
    answer = server.refresh("long-gone", "vrt_x")

    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_a_client_with_a_document_about_itself_needs_no_registration(tmp_path):
    stated = {"client_id": DOCUMENT, "client_name": "App", "redirect_uris": [CALLBACK]}
    server = place(tmp_path, MovedClock(), {DOCUMENT: json.dumps(stated).encode()})

    page = server.ask(DOCUMENT)
    answer = server.exchange(DOCUMENT, server.code(DOCUMENT))

    assert DOCUMENT in page.text
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>",
        json.dumps({"client_id": "https://app.example.com/other", "redirect_uris": [CALLBACK]}).encode(),
        json.dumps({"client_id": DOCUMENT, "redirect_uris": ["http://evil.example/"]}).encode(),
        json.dumps(
            {"client_id": DOCUMENT, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}
        ).encode(),
    ],
)
def test_a_document_that_does_not_speak_for_its_own_address_is_refused(tmp_path, raw):
    server = place(tmp_path, MovedClock(), {DOCUMENT: raw})

    assert server.ask(DOCUMENT).status_code == 400


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/c.json", "https://[::1]/c.json", "https://10.1.2.3/c.json", "https://localhost/c.json"]
)
async def test_a_document_is_never_fetched_from_this_machine_or_its_network(url):
    assert is_document_id(url)
    with pytest.raises(ClientRefused, match="not on the public internet"):
        await fetch_document(url)


@pytest.mark.parametrize(
    "client_id", ["http://a.example/c", "https://a.example", "https://a.example/", "https://a.example/../c", "plain"]
)
def test_only_an_https_address_with_a_path_is_a_document(client_id):
    assert not is_document_id(client_id)


def test_registering_and_asking_for_tokens_have_limits(server):
    registered = [server.connector.post("/register", json={"redirect_uris": [CALLBACK]}).status_code for _ in range(21)]
    asked = [server.refresh("nobody", "vrt_x").status_code for _ in range(61)]

    assert registered == [201] * 20 + [429]
    assert asked == [401] * 60 + [429]
    server.clock.forward(61)
    assert server.refresh("nobody", "vrt_x").status_code == 401


@pytest.mark.parametrize("url", ["http://memory.example.org", "https://memory.example.org/path"])
def test_an_address_that_connectors_would_refuse_is_no_public_url(url):
    with pytest.raises(SettingsError, match=r"server\.public_url"):
        issuer_of(url)
