"""Remote connectors: what they are told, and how a person lets them in or not."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.web.asgi import bearer
from tests.web.oauth.connecting import CALLBACK, CHALLENGE, ISSUER
from vaultd.core.errors import SettingsError
from vaultd.web.oauth import issuer_of


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


@pytest.mark.parametrize("url", ["http://memory.example.org", "https://memory.example.org/path"])
def test_an_address_that_connectors_would_refuse_is_no_public_url(url):
    with pytest.raises(SettingsError, match=r"server\.public_url"):
        issuer_of(url)
