"""The list of cards: filters, order, pages, and what there is in sum."""

from __future__ import annotations

import asyncio
import base64
import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

from vaultd.core.card import Category
from vaultd.core.errors import BadInput
from vaultd.core.note import NotePath
from vaultd.services.cards import Cards, CardView, category_of
from vaultd.services.texts import Texts

MOST_LISTED: Final = 200
LISTED: Final = 50
SORTS: Final = ("created_at", "updated_at", "last_used_at", "use_count", "importance", "topic")


@dataclass(frozen=True, slots=True)
class CardFilter:
    """Which cards, in which order, from where on. Empty and None are "any"."""

    text: str = ""
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    scope: str | None = None
    importance_min: int = 1
    importance_max: int = 10
    used: bool | None = None
    since: date | None = None
    until: date | None = None
    sort: str = "created_at"
    descending: bool = True
    limit: int = LISTED
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Sums:
    """All that the filters leave, in numbers."""

    total: int
    by_category: Mapping[str, int]
    by_scope: Mapping[str, int]
    used: int
    uses: int
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class CardPage:
    """A page of the list; `cursor` is "" on the last one."""

    views: tuple[CardView, ...]
    sums: Sums
    cursor: str = field(default="")


class CardList:
    """Lists cards for a credential's scope."""

    def __init__(self, cards: Cards, texts: Texts) -> None:
        self._cards = cards
        self._texts = texts

    async def __call__(self, wanted: CardFilter, sight: str | None) -> CardPage:
        """A page. Raises BadInput for a filter that makes no sense."""
        return await asyncio.to_thread(self._page, wanted, sight)

    def _page(self, wanted: CardFilter, sight: str | None) -> CardPage:
        if wanted.sort not in SORTS:
            raise BadInput(f"sort: {wanted.sort!r} is not one of {', '.join(SORTS)}")
        for name in wanted.categories:
            category_of(name)
        views = [view for view in map(self._cards.view, self._cards.rows(sight)) if _passes(view, wanted)]
        words = [_folded(word) for word in wanted.text.split()]
        if words:
            views = [view for view in views if self._says(view, words)]
        views.sort(key=lambda view: _key(view, wanted.sort), reverse=wanted.descending)
        start = _start(views, wanted)
        page = views[start : start + wanted.limit]
        more = start + wanted.limit < len(views)
        shown = tuple(self._cards.view(view.row, self._texts.body(NotePath(view.row.path)) or "") for view in page)
        return CardPage(shown, _sums(views), _cursor(page[-1], wanted) if more and page else "")

    def _says(self, view: CardView, words: Sequence[str]) -> bool:
        body = self._texts.body(NotePath(view.row.path)) or ""
        text = _folded("\n".join((*view.card.topic, *view.card.tags, body)))
        return all(word in text or word == view.card.id for word in words)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _passes(view: CardView, wanted: CardFilter) -> bool:
    card = view.card
    day = card.created.date()
    return (
        (not wanted.categories or card.category.value in wanted.categories)
        and (not wanted.tags or bool(set(wanted.tags) & set(card.tags)))
        and (not wanted.topics or bool(set(wanted.topics) & set(card.topic)))
        and (wanted.scope is None or card.scope == wanted.scope)
        and wanted.importance_min <= card.importance <= wanted.importance_max
        and (wanted.used is None or (card.use_count > 0) is wanted.used)
        and (wanted.since is None or day >= wanted.since)
        and (wanted.until is None or day <= wanted.until)
    )


def _key(view: CardView, sort: str) -> tuple[Any, str]:
    card = view.card
    match sort:
        case "updated_at":
            return card.updated.timestamp(), card.id
        case "last_used_at":
            return (0.0 if card.last_used is None else card.last_used.timestamp()), card.id
        case "use_count":
            return card.use_count, card.id
        case "importance":
            return card.importance, card.id
        case "topic":
            return _folded("、".join(card.topic)), card.id
    return card.created.timestamp(), card.id


def _sums(views: Sequence[CardView]) -> Sums:
    by_category = dict.fromkeys((category.value for category in Category), 0)
    by_category |= Counter(view.card.category.value for view in views)
    return Sums(
        total=len(views),
        by_category=by_category,
        by_scope=Counter(view.card.scope for view in views),
        used=sum(view.card.use_count > 0 for view in views),
        uses=sum(view.card.use_count for view in views),
        newest=max((view.card.created for view in views), default=None),
    )


def _cursor(view: CardView, wanted: CardFilter) -> str:
    """Where the next page begins: behind this card, also when others came or went meanwhile."""
    text = json.dumps([wanted.sort, wanted.descending, *_key(view, wanted.sort)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _start(views: Sequence[CardView], wanted: CardFilter) -> int:
    if not wanted.cursor:
        return 0
    try:
        padded = wanted.cursor + "=" * (-len(wanted.cursor) % 4)
        sort, descending, value, card_id = json.loads(base64.urlsafe_b64decode(padded))
        last = (value, str(card_id))
        if (sort, descending) != (wanted.sort, wanted.descending):
            raise ValueError
        after = [_key(view, wanted.sort) < last if descending else _key(view, wanted.sort) > last for view in views]
    except (ValueError, TypeError):
        raise BadInput("cursor: is not one of this list; begin again without it") from None
    return after.index(True) if True in after else len(views)
