"""Who may ask to be let in, and where answers may go."""

from __future__ import annotations

import json

import pytest

from tests.web.asgi import MovedClock
from tests.web.oauth.connecting import CALLBACK, DOCUMENT, VERIFIER, place
from vaultd.web.oauth_clients import ClientRefused, check_redirect, fetch_document, is_document_id


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
