"""The page on which a person decides whether a connector may use the memory."""

from __future__ import annotations

from string import Template
from typing import Final
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from vaultd.web.auth import Auth, Token, address_of, port_of, session_secret
from vaultd.web.forms import filled, framed, onward
from vaultd.web.guards import CONTENT_SECURITY_POLICY, SAME_ORIGIN
from vaultd.web.login import preferred_language
from vaultd.web.oauth import LONGEST_FORM_BYTES, OAuth
from vaultd.web.oauth_clients import ClientRefused, redirect_allowed
from vaultd.web.oauth_codes import Question
from vaultd.web.oauth_store import OAuthClient
from vaultd.web.refusal import refusal
from vaultd.web.sessions import mark_of

_PROBLEM: Final = Template(
    '<!doctype html><html lang="$lang"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    '<title>vaultd</title><link rel="stylesheet" href="/static/login.css"><body><main class="card">'
    "<h1>$refused</h1><p>$message</p></main></body></html>"
)
_TEXTS: Final = {
    "en": {
        "lang": "en",
        "title": "Let a connector in · vaultd",
        "heading": "Let it in?",
        "lead": "A program asks to use your memory.",
        "who_label": "It calls itself",
        "id_label": "Known as",
        "where_label": "Answers go to",
        "what_label": "It could",
        "what": "read all memories, keep new ones, change and delete them",
        "warning": "Agree only if you have just begun to connect this program yourself.",
        "allow": "Let it in",
        "deny": "No",
        "onward": "Continue",
        "refused": "This does not work",
    },
    "zh": {
        "lang": "zh-CN",
        "title": "授权连接 · vaultd",
        "heading": "允许连接吗？",
        "lead": "有一个程序请求使用你的记忆。",
        "who_label": "它自称",
        "id_label": "标识",
        "where_label": "结果将发往",
        "what_label": "它将可以",
        "what": "读取全部记忆，写入新的记忆，修改和删除记忆",
        "warning": "只有当你自己刚刚发起这次连接时，才点允许。",
        "allow": "允许",
        "deny": "拒绝",
        "onward": "继续",
        "refused": "无法继续",
    },
}


class Consent:
    """`/authorize`: GET asks, POST takes the answer. Both look at the browser's session themselves."""

    def __init__(self, oauth: OAuth, auth: Auth) -> None:
        self._oauth = oauth
        self._auth = auth

    def routes(self) -> list[BaseRoute]:
        """The route; its path must be open."""
        return [
            Route("/authorize", self._ask, methods=["GET"]),
            Route("/authorize", self._take_answer, methods=["POST"]),
        ]

    async def _ask(self, request: Request) -> Response:
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        asked = dict(pairs)
        if len(asked) != len(pairs):
            return _problem(request, "a parameter came twice")
        try:
            client = await self._oauth.find_client(asked.get("client_id", ""), address_of(request.scope))
        except ClientRefused as exc:
            return _problem(request, str(exc))
        redirect_uri = asked.get("redirect_uri") or (client.redirect_uris[0] if len(client.redirect_uris) == 1 else "")
        if not redirect_allowed(client, redirect_uri):
            return _problem(request, "redirect_uri is not one that this client has named")
        if (error := self._wrong(asked)) is not None:
            return self._back(redirect_uri, asked.get("state"), error=error[0], error_description=error[1])
        token = self._person(request)
        if token is None:
            return _to_login(request)
        question = Question(
            client_id=client.client_id,
            client_name=client.name,
            redirect_uri=redirect_uri,
            challenge=asked["code_challenge"],
            state=asked.get("state"),
            token_name=token.name,
            token_mark=mark_of(token.value),
        )
        return _page(request, client, question, self._oauth.codes.ask(question))

    async def _take_answer(self, request: Request) -> Response:
        token = self._person(request)
        if token is None or not request.scope.get(SAME_ORIGIN, False):
            return refusal(403, "not_same_origin", "this is decided on this server's own page, logged in")
        raw = await request.body()
        fields = parse_qs(raw[:LONGEST_FORM_BYTES].decode("utf-8", "replace"))
        question = self._oauth.codes.answered(fields.get("consent", [""])[0])
        if question is None or (question.token_name, question.token_mark) != (token.name, mark_of(token.value)):
            return _problem(request, "this page is too old, or was answered already; begin again in the program")
        if fields.get("decision", [""])[0] != "allow":
            return self._back(question.redirect_uri, question.state, error="access_denied")
        return self._back(question.redirect_uri, question.state, code=self._oauth.codes.issue(question))

    def _wrong(self, asked: dict[str, str]) -> tuple[str, str] | None:
        if asked.get("response_type") != "code":
            return "unsupported_response_type", "response_type must be code"
        challenge = asked.get("code_challenge", "")
        if len(challenge) != 43 or not challenge.isascii() or asked.get("code_challenge_method") != "S256":
            return "invalid_request", "code_challenge with code_challenge_method S256 is needed"
        if not self._oauth.own_resource(asked.get("resource")):
            return "invalid_target", f"tokens are given for {self._oauth.resource} only"
        return None

    def _person(self, request: Request) -> Token | None:
        secret = session_secret(request.headers.get("cookie"), port_of(request.scope))
        return None if secret is None else self._auth.token_of_session(secret)

    def _back(self, redirect_uri: str, state: str | None, **result: str) -> Response:
        values = {**result, **({} if state is None else {"state": state}), "iss": self._oauth.issuer}
        joint = "&" if urlsplit(redirect_uri).query else "?"
        headers = {"Cache-Control": "no-store"}
        return RedirectResponse(f"{redirect_uri}{joint}{urlencode(values)}", status_code=303, headers=headers)


def _to_login(request: Request) -> Response:
    here = f"{request.url.path}?{request.url.query}"
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # a strict cookie does not come along from another site; from a page of ours it does
        return HTMLResponse(onward(_texts(request), here), headers={"Cache-Control": "no-store"})
    return RedirectResponse(f"/login?next={quote(here, safe='')}", status_code=303)


def _page(request: Request, client: OAuthClient, question: Question, consent: str) -> Response:
    parts = urlsplit(question.redirect_uri)
    web = parts.scheme in ("http", "https")
    target = f"{parts.scheme}://{parts.netloc}" if web else f"{parts.scheme}:"
    texts = _texts(request)
    values = {**texts, "name": client.name, "client_id": client.client_id, "where": target, "consent": consent}
    headers = {
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",
        # a browser follows the redirect after a form only to where the form may lead
        "Content-Security-Policy": CONTENT_SECURITY_POLICY.replace(
            "form-action 'self'", f"form-action 'self' {target}"
        ),
    }
    return HTMLResponse(filled(framed("consent"), values), headers=headers)


def _problem(request: Request, message: str) -> Response:
    values = {**_texts(request), "message": message}
    return HTMLResponse(filled(_PROBLEM, values), status_code=400, headers={"Cache-Control": "no-store"})


def _texts(request: Request) -> dict[str, str]:
    return _TEXTS[preferred_language(request.headers.get("accept-language", ""))]
