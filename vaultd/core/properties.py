"""The property table: each key that vaultd owns, its type, range and default. Nobody else spells the keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from vaultd.core.note import PropertyValue

ID = "id"
NAME = "name"
TYPE = "type"
DOMAIN = "domain"
TAGS = "tags"
VALENCE = "valence"
AROUSAL = "arousal"
MODEL_VALENCE = "model_valence"
IMPORTANCE = "importance"
ACTIVATION_COUNT = "activation_count"
RESOLVED = "resolved"
DIGESTED = "digested"
PINNED = "pinned"
PROTECTED = "protected"
CREATED = "created"
LAST_ACTIVE = "last_active"
SOURCE = "source"

TOPIC = "topic"
AI_SCOPE = "ai_scope"
CONVERSATION_ID = "source_conversation_id"
ENTITIES = "entities"
CREATED_AT = "created_at"
UPDATED_AT = "updated_at"
LAST_USED_AT = "last_used_at"
USE_COUNT = "use_count"


class Shape(StrEnum):
    """The type of a property's value, in Obsidian's words where it has one."""

    TEXT = "text"
    LIST = "list"
    NUMBER = "number"
    WHOLE = "whole number"
    CHECKBOX = "checkbox"
    MOMENT = "date & time"


@dataclass(frozen=True, slots=True)
class Spec:
    """One owned property. `low` and `high` bound numbers, and the length of text."""

    key: str
    shape: Shape
    low: float | None = None
    high: float | None = None


BUCKET_SPECS: tuple[Spec, ...] = (
    Spec(ID, Shape.TEXT),
    Spec(NAME, Shape.TEXT, 0, 80),
    Spec(TYPE, Shape.TEXT),
    Spec(DOMAIN, Shape.LIST),
    Spec(TAGS, Shape.LIST),
    Spec(VALENCE, Shape.NUMBER, 0.0, 1.0),
    Spec(AROUSAL, Shape.NUMBER, 0.0, 1.0),
    Spec(MODEL_VALENCE, Shape.NUMBER, 0.0, 1.0),
    Spec(IMPORTANCE, Shape.WHOLE, 1, 10),
    Spec(ACTIVATION_COUNT, Shape.NUMBER, 0.0, None),
    Spec(RESOLVED, Shape.CHECKBOX),
    Spec(DIGESTED, Shape.CHECKBOX),
    Spec(PINNED, Shape.CHECKBOX),
    Spec(PROTECTED, Shape.CHECKBOX),
    Spec(CREATED, Shape.MOMENT),
    Spec(LAST_ACTIVE, Shape.MOMENT),
    Spec(SOURCE, Shape.TEXT),
)
CARD_SPECS: tuple[Spec, ...] = (
    Spec(ID, Shape.TEXT),
    Spec(TOPIC, Shape.LIST),
    Spec(TYPE, Shape.TEXT),
    Spec(TAGS, Shape.LIST),
    Spec(IMPORTANCE, Shape.WHOLE, 1, 10),
    Spec(AI_SCOPE, Shape.TEXT),
    Spec(CONVERSATION_ID, Shape.TEXT),
    Spec(ENTITIES, Shape.LIST),
    Spec(CREATED_AT, Shape.MOMENT),
    Spec(UPDATED_AT, Shape.MOMENT),
    Spec(LAST_USED_AT, Shape.MOMENT),
    Spec(USE_COUNT, Shape.WHOLE, 0, None),
)
BUCKET_KEYS: tuple[str, ...] = tuple(spec.key for spec in BUCKET_SPECS)
CARD_KEYS: tuple[str, ...] = tuple(spec.key for spec in CARD_SPECS)
_SPECS: Mapping[str, Spec] = {spec.key: spec for spec in (*CARD_SPECS, *BUCKET_SPECS)}


def spec_of(key: str) -> Spec:
    """The table's row for an owned key. Raises KeyError for the person's keys."""
    return _SPECS[key]


@dataclass(frozen=True, slots=True)
class Finding:
    """A value of ours that cannot be meant: named by `doctor`, never rewritten."""

    key: str
    value: str
    reason: str


class PropertyReader:
    """Typed access to the properties of one note; wrong values are clamped or ignored, and noted as findings.

    Naive dates and times are read in `zone`.
    """

    def __init__(self, properties: Mapping[str, PropertyValue], zone: tzinfo = UTC) -> None:
        self._properties = properties
        self._zone = zone
        self.findings: list[Finding] = []

    def _wrong(self, key: str, value: object, reason: str) -> None:
        self.findings.append(Finding(key, str(value)[:80], reason))

    def text(self, key: str, default: str = "") -> str:
        """One line of text; numbers and booleans are taken as typed."""
        value = self._properties.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value).strip()
        self._wrong(key, value, "is not text")
        return default

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts; one text with commas is taken as a list, as Obsidian does for tags."""
        value = self._properties.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            parts: list[PropertyValue] = list(value.split(","))
        elif isinstance(value, list):
            parts = value
        else:
            self._wrong(key, value, "is not a list")
            return default
        out: dict[str, None] = {}
        for part in parts:
            if isinstance(part, dict | list) or part is None:
                continue
            word = str(part).strip().lstrip("#")
            if word:
                out.setdefault(word)
        return tuple(out)

    def number(self, key: str, default: float | None) -> float | None:
        """A finite number clamped to the table's range; `default` where absent or not a number."""
        value = self._properties.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self._wrong(key, value, "is not a number")
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self._wrong(key, value, "is not a number")
            return default
        return self._clamped(key, number)

    def _clamped(self, key: str, number: float) -> float:
        spec = _SPECS[key]
        low = -math.inf if spec.low is None else spec.low
        high = math.inf if spec.high is None else spec.high
        if not low <= number <= high:
            self._wrong(
                key, number, f"is outside {spec.low:g}–{spec.high:g}" if spec.high is not None else "is below 0"
            )
        return min(max(number, low), high)

    def whole(self, key: str, default: int) -> int:
        """A whole number clamped to the table's range."""
        number = self.number(key, float(default))
        return default if number is None else round(number)

    def checkbox(self, key: str) -> bool:
        """True for `true`; the texts true, yes, 1 count as well, since people type them."""
        value = self._properties.get(key)
        if isinstance(value, bool) or value is None:
            return bool(value)
        word = str(value).strip().lower()
        if word in ("true", "yes", "1"):
            return True
        if word not in ("false", "no", "0", ""):
            self._wrong(key, value, "is not a checkbox")
        return False

    def moment(self, key: str) -> datetime | None:
        """An aware date and time; None where absent or impossible. A bare date is midnight in the zone."""
        value = self._properties.get(key)
        if value is None or value == "":
            return None
        parsed = parse_moment(str(value), self._zone)
        if parsed is None:
            self._wrong(key, value, "is not a date & time")
        return parsed


_EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
_LATEST = datetime(9999, 12, 29, tzinfo=UTC)


def parse_moment(text: str, zone: tzinfo = UTC) -> datetime | None:
    """ISO 8601 text as an aware datetime, naive ones in `zone`; None if it is no such moment."""
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=zone)
    try:
        inside = _EARLIEST <= parsed <= _LATEST
    except OverflowError:
        return None
    return parsed if inside else None


def moment_text(moment: datetime) -> str:
    """How a moment is written into a note: ISO 8601 with offset, whole seconds."""
    return (moment - timedelta(microseconds=moment.microsecond)).isoformat()


BUCKET_REQUIRED: tuple[str, ...] = (ID, NAME, TYPE, DOMAIN, IMPORTANCE, CREATED, LAST_ACTIVE)
"""What adoption adds to a new note of a person where it is missing."""

CARD_REQUIRED: tuple[str, ...] = (ID, TOPIC, TYPE, IMPORTANCE, CREATED_AT, UPDATED_AT)
