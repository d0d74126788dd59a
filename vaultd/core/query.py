"""A question to the memory and its answer: `Query`, `ScoreParts`, `Hit`, `Notice`, `Answer`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum

from vaultd.core.bucket import Bucket, Role
from vaultd.core.emotion import Emotion
from vaultd.core.errors import BadInput
from vaultd.core.properties import parse_moment
from vaultd.core.text import clean_text

TOKEN_BUDGET_DEFAULT = 10_000  # tokens; INTERNALS §3.4
TOKEN_BUDGET_LIMIT = 20_000  # tokens; INTERNALS §3.4
HITS_DEFAULT = 20  # INTERNALS §3.4
HITS_LIMIT = 50  # INTERNALS §3.4
FEEL_DOMAIN = "feel"  # as a domain it asks for the feels; BEHAVIOUR scene 2

_BUCKET_ID = re.compile(r"[0-9a-f]{12}")
_LIST_SEPARATOR = re.compile(r"[,，、;；\n]")
_PARTIAL_DATE = re.compile(r"(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?)?[年月日]?")


class Mode(StrEnum):
    """The four ways to breathe."""

    SURFACE = "surface"
    RECALL = "recall"
    FEEL = "feel"
    IMPORTANCE = "importance"


class Evidence(StrEnum):
    """What spoke for the topic of a hit."""

    NONE = "none"
    FUZZY = "fuzzy"
    WORDS = "words"
    MEANING = "meaning"


class Mark(StrEnum):
    """Why or how a hit is in the answer, where it is not simply a match."""

    CORE = "core"
    COLD_START = "cold_start"
    SEMANTIC = "semantic"
    RANDOM = "random"
    CONDENSED = "condensed"
    CUT = "cut"
    NOT_CONDENSED = "not_condensed"


class Notice(StrEnum):
    """What an answer had to do without. The face finds the words; the values go into them."""

    PARTIAL_INDEX = "partial_index"  # done, total
    PENDING_EMBEDDINGS = "pending_embeddings"  # count
    NO_EMBEDDINGS = "no_embeddings"
    MODEL_FAILED = "model_failed"  # reason
    NO_MODEL = "no_model"
    DOMAIN_DROPPED = "domain_dropped"  # domains
    LEFT_OUT = "left_out"  # count
    VAULT_UNAVAILABLE = "vault_unavailable"  # reason
    NO_SUCH_SOURCE = "no_such_source"  # id
    NOT_WRITTEN = "not_written"  # reason


@dataclass(frozen=True, slots=True)
class Noted:
    """A notice with what belongs into its sentence."""

    notice: Notice
    values: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mood:
    """The emotion given with a query; an axis that was not given is None and is not compared."""

    valence: float | None = None
    arousal: float | None = None

    @classmethod
    def of(cls, emotion: Emotion) -> Mood:
        """A mood with both axes."""
        return cls(emotion.valence, emotion.arousal)


@dataclass(frozen=True, slots=True)
class Query:
    """One question. `date_from` is inclusive, `date_to` exclusive: the first moment after the range."""

    text: str = ""
    limit: int = HITS_DEFAULT
    token_budget: int = TOKEN_BUDGET_DEFAULT
    mood: Mood | None = None
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None
    importance_min: int | None = None
    mode: Mode = Mode.SURFACE

    @property
    def bucket_id(self) -> str | None:
        """The bucket that the whole text names, if it is an id."""
        return self.text if _BUCKET_ID.fullmatch(self.text) else None

    @classmethod
    def parse(
        cls,
        query: str = "",
        *,
        max_tokens: float = TOKEN_BUDGET_DEFAULT,
        domain: str | Sequence[str] = "",
        valence: float = -1,
        arousal: float = -1,
        max_results: float = HITS_DEFAULT,
        importance_min: float = -1,
        tags: str | Sequence[str] = "",
        date_from: str = "",
        date_to: str = "",
        zone: tzinfo = UTC,
    ) -> Query:
        """A query from a tool's arguments: numbers clamped to their range, −1 and "" read as absent.

        Lists may be one text with commas. Dates are `2026`, `2026-05`, `2026-05-17` or ISO 8601, naive ones in `zone`;
        `date_to` covers the whole day, month or year it names. `feel` as a domain asks for the feels, then
        `importance_min` for the important ones, then a text for a recall.

        Raises BadInput for a text that is none and for dates that cannot be.
        """
        if not isinstance(query, str):
            raise BadInput("query: must be text")
        text = clean_text(query).strip()
        domains = split_list("domain", domain)
        least = None if _absent(importance_min) or importance_min < 1 else _clamped_whole(importance_min, 1, 10)
        start, end = parse_span(date_from, date_to, zone)
        return cls(
            text=text,
            limit=_clamped_whole(max_results, 1, HITS_LIMIT, default=HITS_DEFAULT),
            token_budget=_clamped_whole(max_tokens, 1, TOKEN_BUDGET_LIMIT, default=TOKEN_BUDGET_DEFAULT),
            mood=_mood(valence, arousal),
            domains=domains,
            tags=split_list("tags", [tag.lstrip("#") for tag in split_list("tags", tags)]),
            date_from=start,
            date_to=end,
            importance_min=least,
            mode=_mode(text, domains, least),
        )


def _mode(text: str, domains: tuple[str, ...], importance_min: int | None) -> Mode:
    if [domain.lower() for domain in domains] == [FEEL_DOMAIN]:
        return Mode.FEEL
    if importance_min is not None:
        return Mode.IMPORTANCE
    return Mode.RECALL if text else Mode.SURFACE


def _absent(number: float) -> bool:
    return math.isnan(number) or number <= -1


def _clamped_whole(number: float, low: int, high: int, *, default: int | None = None) -> int:
    if math.isnan(number):
        return low if default is None else default
    return int(min(max(number, low), high))


def unit_number(number: float) -> float | None:
    """A valence or arousal argument in 0…1; None for −1 (and below) and for what is no number, clamped otherwise."""
    return None if _absent(number) else min(max(float(number), 0.0), 1.0)


def _mood(valence: float, arousal: float) -> Mood | None:
    mood = Mood(unit_number(valence), unit_number(arousal))
    return None if mood == Mood() else mood


def split_list(name: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """A list argument: one text with commas, or a list of texts; blanks and repeats left out, order kept.

    Raises BadInput where a part is no text.
    """
    parts = _LIST_SEPARATOR.split(value) if isinstance(value, str) else list(value)
    out: dict[str, None] = {}
    for part in parts:
        if not isinstance(part, str):
            raise BadInput(f"{name}: must be text, or a list of texts")
        word = clean_text(part).strip()
        if word:
            out.setdefault(word)
    return tuple(out)


def parse_span(date_from: str, date_to: str, zone: tzinfo = UTC) -> tuple[datetime | None, datetime | None]:
    """Start (inclusive) and end (exclusive) of a range of dates; None where an end is open.

    Raises BadInput for a date that cannot be, and for an end before the start.
    """
    start = _edge("date_from", date_from, zone, end=False)
    end = _edge("date_to", date_to, zone, end=True)
    if start is not None and end is not None and end <= start:
        raise BadInput(f"date_to {date_to.strip()} lies before date_from {date_from.strip()}")
    return start, end


def _edge(name: str, text: str, zone: tzinfo, *, end: bool) -> datetime | None:
    if not isinstance(text, str):
        raise BadInput(f"{name}: must be text such as 2026-05-17")
    text = text.strip()
    if not text:
        return None
    try:
        first, month, day = _date_of(text)
    except ValueError:
        return _moment(name, text, zone)
    edge = _after(first, month, day) if end else first
    return datetime(edge.year, edge.month, edge.day, tzinfo=zone)


def _date_of(text: str) -> tuple[date, int | None, int | None]:
    """First day, month and day of a date, a month or a year. Raises ValueError for anything else."""
    match = _PARTIAL_DATE.fullmatch(text)
    if match is None:
        first = date.fromisoformat(text)
        month: int | None = first.month
        day: int | None = first.day
    else:
        month, day = (None if part is None else int(part) for part in match.groups()[1:])
        first = date(int(match[1]), month or 1, day or 1)
    if not MINYEAR < first.year < MAXYEAR:
        raise ValueError(text)  # no room for the day before or after it in another zone
    return first, month, day


def _moment(name: str, text: str, zone: tzinfo) -> datetime:
    moment = parse_moment(text, zone)
    if moment is None:
        raise BadInput(f"{name}: {text[:40]!r} is no date; write it as 2026-05-17, 2026-05 or 2026")
    return moment


def _after(first: date, month: int | None, day: int | None) -> date:
    """The first day after the year, month or day that begins with `first`."""
    if day is not None:
        return first + timedelta(days=1)
    if month is not None and month < 12:
        return date(first.year, month + 1, 1)
    return date(first.year + 1, 1, 1)


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """A match score 0…100 and its four parts, which add up to it; `rank` is what it was ordered by.

    `fuzzy`, `words` and `meaning` are the evidence for the topic, each 0…1, None where there was none to look at: letters
    are compared only as far as they can say more than words and meaning.
    """

    total: float
    topic: float
    emotion: float
    time: float
    importance: float
    rank: float
    evidence: Evidence = Evidence.NONE
    fuzzy: float | None = None
    words: float | None = None
    meaning: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One note of an answer. `shown_valence` is tinted by the mood; the stored one is in the bucket.

    `tokens` is what the text costs as it is shown, `full_tokens` what the whole one would.
    """

    bucket: Bucket
    text: str = ""
    tokens: int = 0
    full_tokens: int = 0
    decay_score: float = 0.0
    shown_valence: float | None = None
    parts: ScoreParts | None = None
    similarity: float | None = None
    marks: frozenset[Mark] = frozenset()
    role: Role = Role.BUCKET


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a query: the hits by section, and what the reader has to know about them."""

    mode: Mode
    hits: tuple[Hit, ...] = ()
    core: tuple[Hit, ...] = ()
    own: tuple[Hit, ...] = ()
    drifted: tuple[Hit, ...] = ()
    notices: tuple[Noted, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no note came back at all."""
        return not (self.hits or self.core or self.own or self.drifted)
