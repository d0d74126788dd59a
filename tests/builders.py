"""Builders of values for tests: everything has a default, a test names only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from vaultd.core.bucket import Bucket, Kind
from vaultd.core.card import Card, Category
from vaultd.core.emotion import Emotion

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


def a_bucket(
    *,
    id: str = "76237984fa5d",
    name: str = "a walk by the river",
    kind: Kind = Kind.DYNAMIC,
    domain: tuple[str, ...] = ("日常",),
    tags: tuple[str, ...] = (),
    valence: float = 0.5,
    arousal: float = 0.3,
    importance: int = 5,
    activation_count: float = 0.0,
    age_days: float = 0.0,
    age_hours: float = 0.0,
    created: datetime | None = None,
    now: datetime = NOW,
    **flags: bool,
) -> Bucket:
    """A bucket that rested for `age_days` and `age_hours` before `now`; flags as in `Bucket`."""
    last_active = now - timedelta(days=age_days, hours=age_hours)
    return Bucket(
        id=id,
        path=f"dynamic/日常/{name}_{id}.md",
        name=name,
        kind=kind,
        domain=domain,
        tags=tags,
        emotion=Emotion(valence, arousal),
        importance=importance,
        activation_count=activation_count,
        created=created or last_active,
        last_active=last_active,
        **flags,
    )


def a_card(
    *,
    category: Category = Category.DEEP_TALK,
    importance: int = 5,
    age_days: float = 0.0,
    used_days_ago: float | None = None,
    now: datetime = NOW,
) -> Card:
    """A card made `age_days` before `now`."""
    created = now - timedelta(days=age_days)
    return Card(
        id="20260517-001",
        path="cards/20260517-001 a talk.md",
        topic=("a talk",),
        category=category,
        tags=(),
        importance=importance,
        created=created,
        updated=created,
        last_used=None if used_days_ago is None else now - timedelta(days=used_days_ago),
    )
