"""The login page, login links and logout."""

from __future__ import annotations

import asyncio
import re
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vaultd.web.auth import PRINCIPAL, Auth, Denied, Principal, Token, address_of, cookie_name, port_of, session_secret
from vaultd.web.forms import filled, framed, onward
from vaultd.web.guards import ServerNames
from vaultd.web.refusal import refusal, retry_after
from vaultd.web.sessions import SESSION_LIFETIME_S

HOME: Final = "/dashboard"
"""Where a browser goes that has logged in."""

_LONGEST_FORM_BYTES: Final = 16 * 1024

Language: TypeAlias = Literal["en", "zh"]

_LANGUAGES: Final[dict[str, Language]] = {"en": "en", "zh": "zh"}
_TEXTS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "lang": "en",
        "title": "Log in · vaultd",
        "lead": "The memory that lives in your vault.",
        "label": "Token",
        "button": "Log in",
        "hint": "No token at hand? This command prints a link that logs you in:",
        "wrong": "That token is not right.",
        "wait": "Too many wrong tries. Try again in {seconds} s.",
        "stale": "This link was used already, or is older than five minutes. Ask for a new one, or paste the token.",
        "onward": "Continue",
    },
    "zh": {
        "lang": "zh-CN",
        "title": "登录 · vaultd",
        "lead": "住在你笔记库里的记忆。",
        "label": "令牌",
        "button": "登录",
        "hint": "手边没有令牌？运行这条命令，会得到一个登录链接：",
        "wrong": "令牌不对。",
        "wait": "错误次数太多，请 {seconds} 秒后再试。",
        "stale": "这个链接已经用过，或者超过了五分钟。请重新生成一个，或粘贴令牌。",
        "onward": "继续",
    },
}


def login_routes(auth: Auth, names: ServerNames) -> list[Route]:
    """`/login`, `/logout` and `/api/login-link`; `/login` must be an open path."""
    pages = _LoginPages(auth, names)
    return [
        Route("/login", pages.show, methods=["GET"]),
        Route("/login", pages.take_token, methods=["POST"]),
        Route("/logout", pages.log_out, methods=["POST"]),
        Route("/api/login-link", pages.make_link, methods=["POST"]),
    ]


def preferred_language(accept_language: str) -> Language:
    """`zh` when the browser's first wish among our languages is Chinese, else `en`."""
    wishes: list[tuple[float, Language]] = []
    for wish in accept_language.lower().split(","):
        tag, _, quality = wish.strip().partition(";q=")
        language = _LANGUAGES.get(tag.split("-")[0].strip())
        weight = float(quality) if re.fullmatch(r"[01](\.\d{0,3})?", quality) else 1.0
        if language is not None and weight > 0:
            wishes.append((weight, language))
    # max keeps the first of equals
    return max(wishes, key=lambda wish: wish[0])[1] if wishes else "en"


def safe_next(target: str) -> str:
    """A path on this server to go on to; anything that could lead elsewhere becomes the home page."""
    parts = urlsplit(target)
    own = target.startswith("/") and not target.startswith("//") and not parts.scheme and not parts.netloc
    if not own or any(character == "\\" or ord(character) < 0x20 for character in target):
        return HOME
    return HOME if parts.path in ("/login", "/logout") else target


class _LoginPages:
    def __init__(self, auth: Auth, names: ServerNames) -> None:
        self._auth = auth
        self._names = names

    async def show(self, request: Request) -> Response:
        """The form; with `?code=` the end of a login link."""
        target = safe_next(request.query_params.get("next", HOME))
        code = request.query_params.get("code")
        if code is not None and request.method == "GET":
            name = self._auth.codes.redeem(code)
            token = None if name is None else self._auth.token_named(name)
            if token is None:
                return _page(request, target=target, problem="stale", status=401)
            return await self._let_in(request, token, target)
        secret = session_secret(request.headers.get("cookie"), port_of(request.scope))
        if secret is not None and self._auth.token_of_session(secret) is not None:
            return RedirectResponse(target, status_code=303)
        return _page(request, target=target)

    async def take_token(self, request: Request) -> Response:
        """The token form: `token`, and `next` to go on to."""
        if int(request.headers.get("content-length", "0")) > _LONGEST_FORM_BYTES:
            return refusal(413, "too_large", "this form takes a token and nothing else")
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        target = safe_next(fields.get("next", [HOME])[0])
        presented = fields.get("token", [""])[0].strip()
        token = self._auth.check_token(presented.encode(), address_of(request.scope))
        if not isinstance(token, Denied):
            return await self._let_in(request, token, target)
        if token.wait_s > 0.0:
            return _page(request, target=target, problem="wait", status=429, wait_s=token.wait_s)
        return _page(request, target=target, problem="wrong", status=401)

    async def log_out(self, request: Request) -> Response:
        port = port_of(request.scope)
        secret = session_secret(request.headers.get("cookie"), port)
        if secret is not None:
            await asyncio.to_thread(self._auth.sessions.close, secret)
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(cookie_name(port), httponly=True, samesite="strict", secure=self._is_secure(request))
        return response

    async def make_link(self, request: Request) -> Response:
        """`{"url": …}`: a login link, for a caller with a token."""
        principal = request.scope.get(PRINCIPAL)
        if not isinstance(principal, Principal) or principal.via != "token":
            return refusal(403, "token_needed", "a login link is given for a bearer token only")
        base = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
        return JSONResponse(
            {"url": self._auth.login_url(base, token_name=principal.name)}, headers={"Cache-Control": "no-store"}
        )

    async def _let_in(self, request: Request, token: Token, target: str) -> Response:
        secret = await asyncio.to_thread(self._auth.open_session, token)
        response: Response
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # a strict cookie is not sent along a redirect that began on another site; a page of ours starts anew
            response = _onward_page(request, target)
        else:
            response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            cookie_name(port_of(request.scope)),
            secret,
            max_age=SESSION_LIFETIME_S,
            httponly=True,
            samesite="strict",
            secure=self._is_secure(request),
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def _is_secure(self, request: Request) -> bool:
        """Whether the browser came by https, to us or to a proxy that ends it."""
        if request.scope["scheme"] == "https":
            return True
        public = self._names.public_origin
        host = request.headers.get("host", "").lower()
        return public is not None and public.startswith("https://") and urlsplit(public).netloc == host


def _page(
    request: Request, *, target: str, problem: str | None = None, status: int = 200, wait_s: float = 0.0
) -> Response:
    texts = _TEXTS[preferred_language(request.headers.get("accept-language", ""))]
    message = "" if problem is None else texts[problem].format(seconds=max(1, round(wait_s)))
    values = {
        **texts,
        "heading": "vaultd",
        "next": target,
        "message": message,
        "message_class": "message" if message else "message empty",
    }
    headers = {
        "Cache-Control": "no-store",
        "Vary": "Accept-Language, Cookie",
        # under no-referrer a browser sends `Origin: null` with this form
        "Referrer-Policy": "same-origin",
        **(retry_after(wait_s) if wait_s > 0.0 else {}),
    }
    return HTMLResponse(filled(framed("login"), values), status_code=status, headers=headers)


def _onward_page(request: Request, target: str) -> Response:
    texts = _TEXTS[preferred_language(request.headers.get("accept-language", ""))]
    return HTMLResponse(onward(texts, target))
