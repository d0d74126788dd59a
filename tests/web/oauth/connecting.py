"""A server with OAuth, a person's browser and a connector on it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.web.asgi import MovedClock, bearer
from vaultd.settings import ServerSettings
from vaultd.web.auth import PRINCIPAL, Auth, AuthMiddleware, Token
from vaultd.web.connectors import Connectors
from vaultd.web.endpoints import routes_of
from vaultd.web.guards import GuardMiddleware, ServerNames
from vaultd.web.login import login_routes
from vaultd.web.oauth import OPEN_PATHS, OAuth
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
