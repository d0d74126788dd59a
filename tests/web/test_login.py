from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.web.asgi import MovedClock, bearer, browser
from tests.web.small_app import SCOPED, STRONG, SmallApp, small_app
from vaultd.settings import ServerSettings
from vaultd.web.auth import Token, cookie_name
from vaultd.web.login import preferred_language, safe_next
from vaultd.web.sessions import CODE_LIFETIME_S

OWN = {"Origin": "http://127.0.0.1:8000"}
COOKIE = cookie_name(8000)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def small(clock) -> SmallApp:
    return small_app(clock=clock)


@pytest.fixture
def client(small) -> TestClient:
    return browser(small)


def make_link(client: TestClient, token: str = STRONG) -> str:
    answer = client.post("/api/login-link", headers=bearer(token))
    assert answer.status_code == 200
    return answer.json()["url"]


def test_a_login_link_opens_the_dashboard_once(client, small):
    link = make_link(client)

    first = client.get(link)
    assert first.status_code == 303
    assert first.headers["location"] == "/dashboard"
    assert client.get("/dashboard").status_code == 200

    assert re.fullmatch(r"http://127\.0\.0\.1:8000/login\?code=[\w-]{43}", link)
    assert browser(small).get(link).status_code == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(client):
    cookie = client.get(make_link(client)).headers["set-cookie"]

    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Path=/" in cookie
    assert "Secure" not in cookie


def test_the_cookie_is_secure_when_the_browser_came_by_https():
    small = small_app(server=ServerSettings(public_url="https://mem.example.com"))
    link = small.auth.login_url("https://mem.example.com")

    direct = browser(small, base_url="https://mem.example.com").get(link)
    through_proxy = browser(small).get(
        small.auth.login_url("http://127.0.0.1:8000"), headers={"Host": "mem.example.com"}
    )

    assert "Secure" in direct.headers["set-cookie"]
    assert "Secure" in through_proxy.headers["set-cookie"]


def test_a_login_link_is_good_for_five_minutes(client, clock):
    early, late = make_link(client), make_link(client)

    clock.forward(CODE_LIFETIME_S - 1)
    assert client.get(early).status_code == 303
    clock.forward(1)
    assert client.get(late).status_code == 401


def test_looking_at_a_link_does_not_use_it_up(client):
    link = make_link(client)

    client.head(link)

    assert client.get(link).status_code == 303


def test_a_link_carries_the_scope_of_the_token_that_made_it(client):
    client.get(make_link(client, SCOPED))

    assert client.get("/api/who").json() == {"name": "second", "scope": "claude", "via": "session"}


def test_a_session_makes_no_login_links(client):
    client.get(make_link(client))

    answer = client.post("/api/login-link", headers=OWN)

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "token_needed"


def test_a_link_clicked_on_another_site_goes_on_by_a_page_of_ours(client):
    answer = client.get(make_link(client), headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})

    assert answer.status_code == 200
    assert 'content="0;url=/dashboard"' in answer.text
    assert client.get("/api/who").status_code == 200


def test_the_form_takes_the_token(client):
    answer = client.post("/login", data={"token": f" {STRONG}\n", "next": "/dashboard?tab=network"}, headers=OWN)

    assert answer.status_code == 303
    assert answer.headers["location"] == "/dashboard?tab=network"
    assert client.get("/api/who").json()["via"] == "session"


def test_the_form_says_when_the_token_is_wrong(client):
    answer = client.post("/login", data={"token": "wrong"}, headers=OWN)

    assert answer.status_code == 401
    assert "That token is not right." in answer.text
    assert "set-cookie" not in answer.headers


def test_the_form_slows_guessing(client, clock):
    for _ in range(6):
        client.post("/login", data={"token": "wrong"}, headers=OWN)
    slowed = client.post("/login", data={"token": "wrong"}, headers=OWN)

    assert slowed.status_code == 429
    assert slowed.headers["retry-after"] == "1"
    clock.forward(1)
    assert client.post("/login", data={"token": "wrong"}, headers=OWN).headers["retry-after"] == "2"


def test_a_page_of_another_site_cannot_log_anybody_in(client):
    answer = client.post("/login", data={"token": STRONG}, headers={"Origin": "http://evil.example"})

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_who_is_logged_in_is_led_on(client):
    client.get(make_link(client))

    answer = client.get("/login?next=/dashboard")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/dashboard"


def test_logging_out_ends_the_session(client):
    client.get(make_link(client))
    secret = client.cookies[COOKIE]

    assert client.post("/logout").status_code == 403
    answer = client.post("/logout", headers=OWN)

    assert answer.headers["location"] == "/login"
    assert COOKIE not in client.cookies
    client.cookies.set(COOKIE, secret)
    assert client.get("/api/who").status_code == 401


def test_sessions_last_thirty_days_and_outlive_a_restart(tmp_path, clock):
    path = tmp_path / "state" / "sessions.json"
    before = small_app(clock=clock, sessions_path=path)
    secret = before.auth.open_session(Token("owner", STRONG))

    after = browser(small_app(clock=clock, sessions_path=path))
    after.cookies.set(COOKIE, secret)

    clock.forward(30 * 86400 - 1)
    assert after.get("/api/who").status_code == 200
    clock.forward(1)
    assert after.get("/api/who").status_code == 401


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil",
        "",
        "/a\nb",
        "/login?next=/login",
        "/logout",
    ],
)
def test_the_way_on_leads_nowhere_else(target):
    assert safe_next(target) == "/dashboard"


def test_the_way_on_keeps_its_query():
    assert safe_next("/dashboard?tab=cards#x") == "/dashboard?tab=cards#x"


def test_what_comes_from_outside_is_text_on_the_page(client):
    page = client.get("/login", params={"next": '/"><script>alert(1)</script>'}).text

    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_has_no_inline_script_or_style(client):
    page = client.get("/login").text

    assert "<script" not in page
    assert "style=" not in page
    assert "$" not in page


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("de,zh;q=0.5,en;q=0.4", "zh"),
        ("fr", "en"),
        ("zh;q=0,en", "en"),
        ("ZH-hant", "zh"),
        ("en;q=nonsense", "en"),
        ("*", "en"),
    ],
)
def test_the_language_follows_the_browser(wish, language):
    assert preferred_language(wish) == language


def test_the_page_speaks_chinese(client):
    page = client.get("/login", headers={"Accept-Language": "zh-CN"})

    assert '<html lang="zh-CN">' in page.text
    assert "令牌" in page.text
