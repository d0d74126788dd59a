"""What a connector that was let in may do, and what ends its access."""

from __future__ import annotations

from tests.web.asgi import MovedClock, bearer
from tests.web.oauth.connecting import CALLBACK, OWNER, place


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


def test_registering_and_asking_for_tokens_have_limits(server):
    registered = [server.connector.post("/register", json={"redirect_uris": [CALLBACK]}).status_code for _ in range(21)]
    asked = [server.refresh("nobody", "vrt_x").status_code for _ in range(61)]

    assert registered == [201] * 20 + [429]
    assert asked == [401] * 60 + [429]
    server.clock.forward(61)
    assert server.refresh("nobody", "vrt_x").status_code == 401
