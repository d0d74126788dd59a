"""What a caller's credential lets it see: the scope that its token carries."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from vaultd.web.auth import PRINCIPAL, Principal


def sight_of(connection: HTTPConnection | None) -> str | None:
    """The scope of a caller; None: its token carries none, it sees all."""
    principal = connection.scope.get(PRINCIPAL) if connection is not None else None
    return principal.scope if isinstance(principal, Principal) else None
