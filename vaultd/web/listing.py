"""Which memories a request wants listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from vaultd.core.bucket import Kind
from vaultd.core.errors import BadInput
from vaultd.services.listing import PAGE_DEFAULT, PAGE_LIMIT, Listing, Sort, State
from vaultd.web.endpoints import whole

Choice = TypeVar("Choice", bound=StrEnum)


def parse_listing(raw: Mapping[str, str]) -> Listing:
    """A listing from query parameters. Raises BadInput, which names the parameter and what is allowed."""
    kinds = tuple(_one_of("kind", kind, Kind) for kind in raw.get("kind", "").split(",") if kind.strip())
    sort_text = raw.get("sort", "").strip()
    state_text = raw.get("state", "").strip()
    listing = Listing(
        text=raw.get("q", ""),
        kinds=kinds,
        domain=raw.get("domain", "").strip(),
        tag=raw.get("tag", "").strip().lstrip("#"),
        state=_one_of("state", state_text, State) if state_text else None,
        limit=whole("limit", raw.get("limit", ""), PAGE_DEFAULT, 1, PAGE_LIMIT),
        cursor=raw.get("cursor", "").strip(),
    )
    if not sort_text:
        return listing
    sort = _one_of("sort", sort_text.lstrip("+-"), Sort)
    # names read from A on, everything else from the most down; a minus turns that around
    return replace(listing, sort=sort, ascending=(sort is Sort.NAME) != sort_text.startswith("-"))


def _one_of(name: str, text: str, choices: type[Choice]) -> Choice:
    try:
        return choices(text.strip())
    except ValueError as exc:
        raise BadInput(f"{name}: {text.strip()[:40]!r} is not one of {', '.join(choices)}") from exc
