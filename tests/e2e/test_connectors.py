"""A remote connector, played by the MCP SDK's own OAuth client, against a real daemon."""

import re
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from tests.e2e.daemon import free_port, serving

pytestmark = pytest.mark.e2e
CALLBACK = "http://127.0.0.1:9/callback"


class Kept:
    """What the client remembers between two connections."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


class Person:
    """Follows the link that the client shows, logs in, and agrees."""

    def __init__(self, token: str, origin: str) -> None:
        self._token = token
        self._origin = origin
        self._answer = ""
        self.asked = 0

    async def follow(self, link: str) -> None:
        self.asked += 1
        async with httpx2.AsyncClient(base_url=self._origin, headers={"Origin": self._origin}, trust_env=False) as http:
            to_login = await http.get(link)
            target = parse_qs(urlsplit(to_login.headers["location"]).query)["next"][0]
            logged_in = await http.post("/login", data={"token": self._token, "next": target})
            page = await http.get(logged_in.headers["location"])
            consent = re.search(r'name="consent" value="([^"]+)"', page.text)[1]
            answer = await http.post("/authorize", data={"consent": consent, "decision": "allow"})
            self._answer = answer.headers["location"]

    async def answer(self) -> AuthorizationCodeResult:
        said = parse_qs(urlsplit(self._answer).query)
        return AuthorizationCodeResult(code=said["code"][0], state=said["state"][0], iss=said["iss"][0])


async def test_the_sdks_own_client_connects_calls_refreshes_and_is_shut_out(tmp_path):
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    public = {"VAULTD_SERVER__PUBLIC_URL": origin, "VAULTD_EMBEDDING__PROVIDER": "none"}
    with serving(tmp_path / "vault", tmp_path / "state", "--port", str(port), **public) as daemon:
        kept, person = Kept(), Person(daemon.token, origin)

        async def call(tool: str, *, late: bool = False, **arguments) -> str:
            door = OAuthClientProvider(
                server_url=f"{origin}/mcp",
                client_metadata=OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="a connector"),
                storage=kept,
                redirect_handler=person.follow,
                callback_handler=person.answer,
            )
            async with (
                httpx2.AsyncClient(auth=door, timeout=30, trust_env=False) as http,
                Client(streamable_http_client(f"{origin}/mcp", http_client=http)) as client,
            ):
                if late:  # as after an hour
                    door.context.token_expiry_time = 1.0
                result = await client.call_tool(tool, arguments)
                return result.content[0].text

        assert "gasket" in await call("hold", content="The gasket is in the second drawer", name="gasket")
        assert person.asked == 1
        first = kept.tokens

        assert "second drawer" in await call("breath", query="gasket drawer")  # with the tokens that it kept
        assert "second drawer" in await call("breath", late=True, query="gasket drawer")
        assert kept.tokens.refresh_token != first.refresh_token
        assert person.asked == 1

        (row,) = daemon.get("/api/connectors")["connectors"]
        assert row["name"] == "a connector"
        async with httpx2.AsyncClient(trust_env=False) as http:
            owner = {"Authorization": f"Bearer {daemon.token}"}
            assert (await http.delete(f"{origin}/api/connectors/{row['id']}", headers=owner)).status_code == 204
            ended = {"Authorization": f"Bearer {kept.tokens.access_token}"}
            assert (await http.post(f"{origin}/mcp", headers=ended, json={})).status_code == 401
