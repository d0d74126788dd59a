from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.web.asgi import bearer, browser
from tests.web.small_app import STRONG, small_app
from vaultd.core.errors import SettingsError
from vaultd.settings import ServerSettings
from vaultd.web.guards import ServerNames, check_exposure

PUBLIC = ServerSettings(public_url="https://mem.example.com", allowed_hosts=("notes.home.example",))


@pytest.fixture
def client() -> TestClient:
    return browser(small_app())


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "LOCALHOST", "[::1]:8000", "127.0.0.1"])
def test_loopback_names_are_answered(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "192.168.1.7:8000",
        "[::2]:8000",
        "localhost:80:80",
        "localhost:port",
        "",
        "[::1",
    ],
)
@pytest.mark.parametrize("path", ["/health", "/login", "/static/login.css", "/api/who", "/mcp", "/dashboard", "/none"])
def test_other_names_are_refused_on_every_path_even_with_the_token(client, host, path):
    answer = client.get(path, headers={"Host": host, **bearer(STRONG)})

    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "wrong_host"


def test_public_url_and_allowed_hosts_are_names_of_the_server():
    client = browser(small_app(server=PUBLIC))

    assert client.get("/health", headers={"Host": "mem.example.com"}).status_code == 200
    assert client.get("/health", headers={"Host": "notes.home.example:8000"}).status_code == 200
    assert client.get("/health", headers={"Host": "example.com"}).status_code == 421


def test_a_wildcard_bind_is_answered_by_address_but_not_by_any_name():
    names = ServerNames.of(ServerSettings(host="0.0.0.0"))

    assert names.include("192.168.1.7:8000")
    assert names.include("[fe80::1]:8000")
    assert not names.include("evil.example:8000")


def test_a_loopback_bind_is_not_answered_by_other_addresses():
    assert not ServerNames.of(ServerSettings()).include("192.168.1.7:8000")


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "https://127.0.0.1:8000"},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(("method", "path"), [("GET", "/health"), ("POST", "/api/buckets"), ("GET", "/api/events")])
def test_pages_of_other_origins_are_refused(client, headers, method, path):
    answer = client.request(method, path, headers=headers)

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_origin"


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_bearer_token_makes_the_origin_irrelevant(client, headers):
    assert client.post("/api/buckets", headers={**headers, **bearer(STRONG)}).status_code == 200


def test_a_link_on_another_site_may_lead_here(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Accept": "text/html"}

    assert client.get("/login", headers=headers).status_code == 200


def test_own_origin_is_taken_in_the_form_of_the_request_and_of_the_public_url():
    names = ServerNames.of(PUBLIC)

    assert names.own("http://127.0.0.1:8000", scheme="http", host="127.0.0.1:8000")
    assert names.own("https://MEM.example.com", scheme="http", host="127.0.0.1:8000")
    assert not names.own("http://mem.example.com", scheme="http", host="127.0.0.1:8000")


def test_every_answer_has_the_security_headers(client):
    for path in ("/health", "/login", "/static/login.css", "/api/who", "/mcp", "/none"):
        headers = client.get(path).headers

        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert "unsafe-inline" not in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] in ("no-referrer", "same-origin"), path
        assert headers["cross-origin-resource-policy"] == "same-origin", path


def test_a_body_that_declares_itself_too_long_is_refused_unread():
    client = browser(small_app(body_limit=100))

    assert client.post("/api/buckets", content=b"x" * 100, headers=bearer(STRONG)).json() == {"length": 100}
    assert client.post("/api/buckets", content=b"x" * 101, headers=bearer(STRONG)).status_code == 413


def test_a_body_without_a_declared_length_is_counted():
    client = browser(small_app(body_limit=100))

    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield b"x" * 10

    headers = {"Transfer-Encoding": "chunked", **bearer(STRONG)}
    assert client.post("/api/buckets", content=pieces(10), headers=headers).json() == {"length": 100}
    refused = client.post("/api/buckets", content=pieces(11), headers=headers)
    assert refused.status_code == 413
    assert refused.json()["error"]["code"] == "too_large"


LONG = "x" * 32


@pytest.mark.parametrize(
    ("server", "tokens"),
    [
        (ServerSettings(host="127.0.0.1"), ["short"]),
        (ServerSettings(host="::1"), ["short"]),
        (ServerSettings(host="localhost"), []),
        (ServerSettings(host="0.0.0.0"), [LONG]),
        (ServerSettings(public_url="https://mem.example.com"), [LONG, LONG]),
        (ServerSettings(host="0.0.0.0"), ["令" * 11]),
    ],
)
def test_a_server_that_nobody_can_guess_into_may_start(server, tokens):
    check_exposure(server, tokens)


@pytest.mark.parametrize(
    ("server", "tokens", "key"),
    [
        (ServerSettings(host="0.0.0.0"), ["x" * 31], "server.host"),
        (ServerSettings(host="::"), [], "server.host"),
        (ServerSettings(host="192.168.1.7"), [LONG, "short"], "server.host"),
        (ServerSettings(host="box.home.example"), ["short"], "server.host"),
        (ServerSettings(public_url="https://mem.example.com"), ["short"], "server.public_url"),
    ],
)
def test_a_server_that_others_reach_needs_long_tokens(server, tokens, key):
    with pytest.raises(SettingsError, match=rf"^{key}: .*32 bytes"):
        check_exposure(server, tokens)
