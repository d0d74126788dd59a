from __future__ import annotations

import statistics
import time

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from tests.web.asgi import MovedClock, bearer, browser
from tests.web.small_app import SCOPED, STRONG, SmallApp, small_app
from vaultd.web.auth import Auth, Denied, Principal, Token, cookie_name, session_secret
from vaultd.web.auth import bearer as token_in

OPEN = {"/health", "/login"}
OWN = {"Origin": "http://127.0.0.1:8000"}


@pytest.fixture
def small() -> SmallApp:
    return small_app(clock=MovedClock())


@pytest.fixture
def client(small: SmallApp) -> TestClient:
    return browser(small)


def routes_of(small: SmallApp) -> list[tuple[str, str]]:
    """Every method and path that the application knows, mounted ones included."""
    found: list[tuple[str, str]] = []

    def walk(routes, prefix: str) -> None:
        for route in routes:
            if isinstance(route, Mount):
                walk(getattr(route, "routes", []) or [], prefix + route.path)
            elif isinstance(route, Route):
                methods = route.methods or {"GET", "POST", "DELETE"}
                found.extend((method, prefix + route.path) for method in methods if method != "HEAD")

    walk(small.inner.routes, "")
    return found


def test_the_walk_sees_the_routes_that_matter(small):
    paths = {path for _, path in routes_of(small)}

    assert {"/mcp", "/api/who", "/api/buckets", "/api/events", "/api/login-link", "/dashboard", "/login"} <= paths


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("wrong"),
        bearer(""),
        bearer(STRONG + "x"),
        bearer(STRONG[:-1]),
        {"Authorization": STRONG},
        {"Authorization": f"Basic {STRONG}"},
        {"Cookie": f"{cookie_name(8000)}=wrong"},
        {"Cookie": f"{cookie_name(8000)}={STRONG}"},
    ],
    ids=["nothing", "wrong", "empty", "longer", "shorter", "no scheme", "basic", "wrong cookie", "token as cookie"],
)
def test_no_route_gives_anything_without_a_token(small, headers):
    for method, path in routes_of(small):
        if path in OPEN:
            continue
        answer = browser(small).request(method, path, headers=headers)

        assert answer.status_code in (401, 429), (method, path)
        assert set(answer.json()["error"]) == {"code", "message", "field"}
        if answer.status_code == 401:
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "path", ["/", "/none", "/api", "/health/", "/Health", "/login/", "/static", "//health", "/v1/x"]
)
def test_paths_that_nobody_serves_are_closed_too(client, path):
    assert client.get(path).status_code == 401


def test_open_paths_need_nothing(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/login").status_code == 200
    assert client.get("/static/login.css").status_code == 200
    assert client.get("/static/../api/who").status_code in (401, 404)
    assert client.get("/static/%2e%2e/api/who").status_code == 404


def test_a_page_leads_to_the_login_page_and_back(client):
    answer = client.get("/dashboard?tab=a%26b&x=1", headers={"Accept": "text/html,*/*"})

    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fdashboard%3Ftab%3Da%2526b%26x%3D1"


@pytest.mark.parametrize("path", ["/api/who", "/mcp", "/v1/models"])
def test_programs_are_not_led_to_a_page(client, path):
    assert client.get(path, headers={"Accept": "text/html"}).status_code == 401


def test_each_token_names_its_principal_and_scope(client):
    assert client.get("/api/who", headers=bearer(STRONG)).json() == {"name": "owner", "scope": None, "via": "token"}
    assert client.get("/api/who", headers=bearer(SCOPED)).json() == {
        "name": "second",
        "scope": "claude",
        "via": "token",
    }


def test_the_scheme_is_read_in_any_case_and_with_blanks(client):
    assert client.get("/api/who", headers={"Authorization": f"bearer  {STRONG} "}).status_code == 200


def test_a_token_may_have_any_characters():
    small = small_app(tokens=(Token("owner", "пароль令牌"),))

    answer = browser(small).get("/api/who", headers={"Authorization": "Bearer пароль令牌".encode()})

    assert answer.status_code == 200


def logged_in(small: SmallApp) -> TestClient:
    client = browser(small)
    client.cookies.set(cookie_name(8000), small.auth.open_session(Token("owner", STRONG)))
    return client


def test_a_session_reads_and_names_its_principal(small):
    answer = logged_in(small).get("/api/who")

    assert answer.json() == {"name": "owner", "scope": None, "via": "session"}


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_session_changes_something_only_from_an_own_page(small, method):
    client = logged_in(small)

    assert client.request(method, "/api/buckets").status_code == 403
    assert client.request(method, "/api/buckets", headers=OWN).status_code == 200
    assert client.request(method, "/api/buckets", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert client.request(method, "/api/buckets", headers={"Sec-Fetch-Site": "none"}).status_code == 403


def test_a_wrong_bearer_token_is_not_saved_by_a_session(small):
    assert logged_in(small).get("/api/who", headers=bearer("wrong")).status_code == 401


def test_a_session_ends_with_its_token(small):
    client = logged_in(small)

    small.auth.use_tokens([Token("owner", SCOPED)])

    assert client.get("/api/who").status_code == 401
    assert client.get("/api/who", headers=bearer(STRONG)).status_code == 401
    assert client.get("/api/who", headers=bearer(SCOPED)).status_code == 200


def test_a_session_of_another_port_is_another_session(small):
    assert browser(small, base_url="http://127.0.0.1:8001").get("/api/who").status_code == 401
    secret = small.auth.open_session(Token("owner", STRONG))
    other = browser(small, base_url="http://127.0.0.1:8001")
    other.cookies.set(cookie_name(8000), secret)

    assert other.get("/api/who").status_code == 401


def test_guessing_is_slowed_by_address_and_a_strong_token_always_passes(small):
    for _ in range(6):
        assert browser(small).get("/api/who", headers=bearer("guess")).status_code in (401, 429)

    slowed = browser(small).get("/api/who", headers=bearer("guess"))
    assert slowed.status_code == 429
    assert int(slowed.headers["retry-after"]) >= 1
    assert browser(small).get("/api/who", headers=bearer(STRONG)).status_code == 200
    assert browser(small, address="10.0.0.9").get("/api/who", headers=bearer("guess")).status_code == 401


def test_a_weak_token_is_not_looked_at_while_its_address_has_to_wait():
    clock = MovedClock()
    small = small_app(tokens=(Token("owner", "weak"),), clock=clock)
    for _ in range(6):
        browser(small).get("/api/who", headers=bearer("guess"))

    assert browser(small).get("/api/who", headers=bearer("weak")).status_code == 429
    assert browser(small, address="10.0.0.9").get("/api/who", headers=bearer("weak")).status_code == 200
    clock.forward(2)
    assert browser(small).get("/api/who", headers=bearer("weak")).status_code == 200


def test_a_running_session_is_not_slowed(small):
    client = logged_in(small)
    for _ in range(10):
        browser(small).get("/api/who", headers=bearer("guess"))

    assert client.get("/api/who").status_code == 200


def test_tokens_must_be_there():
    with pytest.raises(ValueError, match="token"):
        Auth([], clock=MovedClock())
    with pytest.raises(ValueError, match="token"):
        Auth([Token("owner", "")], clock=MovedClock())


def test_a_token_does_not_show_in_its_repr():
    assert STRONG not in repr(Token("owner", STRONG))


def test_credentials_are_found_among_others():
    assert token_in("Bearer abc") == b"abc"
    assert token_in("Basic abc") is None
    assert token_in(None) is None
    assert session_secret("a=1; vaultd-session-8000=s=2; b", 8000) == "s=2"
    assert session_secret("vaultd-session-80=x", 8000) is None
    assert session_secret(None, 8000) is None


def test_a_check_costs_little_time():
    auth = Auth([Token(f"t{number}", f"{STRONG}{number}") for number in range(10)], clock=MovedClock())

    def seconds_for(presented: bytes) -> float:
        begin = time.process_time()
        for _ in range(200):
            auth.check_token(presented, "127.0.0.1")
        return (time.process_time() - begin) / 200

    assert isinstance(auth.check_token(f"{STRONG}9".encode(), None), Token)
    assert isinstance(auth.check_token(b"wrong", None), Denied)
    assert statistics.median(seconds_for(f"{STRONG}9".encode()) for _ in range(5)) < 0.001


def test_principal_is_a_plain_value():
    assert Principal("owner") == Principal("owner", None, "token")
