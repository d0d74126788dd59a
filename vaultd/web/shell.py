"""The shell around the application: guards, then drain, then the door."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from starlette.types import ASGIApp

from vaultd.web.auth import Auth, AuthMiddleware
from vaultd.web.drain import GRACE_S, Closing, DrainMiddleware
from vaultd.web.guards import BodyLimits, GuardMiddleware, ServerNames


def shell(
    app: ASGIApp,
    *,
    names: ServerNames,
    auth: Auth,
    closing: Closing,
    limits: BodyLimits | None = None,
    grace_s: float = GRACE_S,
    open_paths: Collection[str] = (),
    open_prefixes: Iterable[str] = (),
    challenge: str = "Bearer",
) -> ASGIApp:
    """`app` behind everything a request must pass; see the three middlewares for the parameters."""
    door = AuthMiddleware(app, auth=auth, open_paths=open_paths, open_prefixes=open_prefixes, challenge=challenge)
    return GuardMiddleware(DrainMiddleware(door, closing=closing, grace_s=grace_s), names=names, limits=limits)
