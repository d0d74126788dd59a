"""Read a chat model's answers: find the JSON in them, check it, clamp it. Reasons name our keys, never the answer's text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from vaultd.core.bucket import DEFAULT_IMPORTANCE, UNSORTED_DOMAIN
from vaultd.core.emotion import Emotion
from vaultd.core.errors import ModelBadAnswer
from vaultd.core.properties import DOMAIN, IMPORTANCE, NAME, TAGS, parse_moment, spec_of
from vaultd.core.text import clean_text
from vaultd.llm.analyst import Annotation
from vaultd.llm.parts import share_covered, words_of
from vaultd.llm.prompt import Language, canonical_domain
from vaultd.llm.redact import masks_in, without_masks

MOST_DOMAINS: Final = 2
MOST_TAGS: Final = 15
LONGEST_TAG: Final = 40  # characters
PLAIN_OVERLAP: Final = 0.3  # share of an answer's words that its source must have, where the answer is not JSON
LONGEST_ANSWER: Final = 200_000  # characters
EARLIEST_DAY_YEARS: Final = 120

_THINKING: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_JSON_TRIES: Final = 40
_RANGE: Final = re.compile(r"(\d{1,5})(?:\s*[-–—~至到]\s*(\d{1,5}))?")
_WIDEST_RANGE: Final = 2_000

# No ranges and no unions of types: several endpoints refuse a schema that has them, and answers are checked here anyway.
_NUMBER: Final = {"type": "number"}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_EMOTION_AND_TAGS: Final = {"domain": _TEXTS, "valence": _NUMBER, "arousal": _NUMBER, "tags": _TEXTS}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT_SCHEMA: Final = _object({"text": {"type": "string"}})
ANNOTATION_SCHEMA: Final = _object({"name": {"type": "string"}, **_EMOTION_AND_TAGS})
SPLIT_SCHEMA: Final = _object(
    {
        "memories": {
            "type": "array",
            "items": _object(
                {
                    "name": {"type": "string"},
                    "sentences": {"type": "string"},
                    **_EMOTION_AND_TAGS,
                    "importance": {"type": "integer"},
                    "when": {"type": "string"},
                }
            ),
        }
    }
)


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory as a model proposes it: which sentences it takes (from 0), or a text of the model's own."""

    name: str
    numbers: tuple[int, ...]
    content: str
    domain: tuple[str, ...]
    valence: float
    arousal: float
    tags: tuple[str, ...]
    importance: int
    when: datetime | None


def find_json(answer: str, fits: Callable[[Any], bool]) -> Any:
    """The first JSON value in the answer that fits, fenced or not. Raises ModelBadAnswer."""
    text = _THINKING.sub("", answer[:LONGEST_ANSWER])
    found_any = False
    for value in _json_values(text):
        if fits(value):
            return value
        found_any = True
    raise ModelBadAnswer(
        "the JSON has not the keys that were asked for" if found_any else "no valid JSON in the answer"
    )


def read_annotation(answer: str, language: Language) -> Annotation:
    """An annotation. Numbers are clamped, lists cut; a missing emotion, domain or tag list is a ModelBadAnswer."""
    raw = find_json(answer, lambda value: isinstance(value, dict) and "domain" in value)
    domain = _domains(raw.get("domain"), language)
    valence, arousal = _number(raw.get("valence")), _number(raw.get("arousal"))
    tags = _tags(raw.get("tags"))
    if not domain:
        raise ModelBadAnswer("domain: needs one or two texts")
    if valence is None or arousal is None:
        raise ModelBadAnswer("valence and arousal: need numbers from 0 to 1")
    if not tags:
        raise ModelBadAnswer("tags: needs a list of texts")
    return Annotation(_name(raw.get("name", raw.get("suggested_name"))), domain, _unit(valence), _unit(arousal), tags)


def read_text(answer: str, source: str) -> str:
    """The text of an answer about `source`. A plain answer is taken where its words come from the source."""
    plain = _THINKING.sub("", answer[:LONGEST_ANSWER]).strip()
    if plain and plain[0] not in '{[<`"' and _overlap(plain, source) >= PLAIN_OVERLAP:
        return clean_text(plain)
    raw = find_json(answer, lambda value: isinstance(value, dict) and len(_own_texts(value)) == 1)
    text = clean_text(_own_texts(raw)[0]).strip()
    if not text:
        raise ModelBadAnswer("text: is empty")
    return text


def read_drafts(answer: str, language: Language, *, count: int, now: datetime) -> tuple[Draft, ...]:
    """The memories proposed for `count` numbered sentences. Raises ModelBadAnswer where none takes any text."""
    drafts = [_draft(raw, language, count, now) for raw in _memories(answer) if isinstance(raw, dict)]
    kept = tuple(draft for draft in drafts if draft.numbers or draft.content)
    if not kept:
        raise ModelBadAnswer("memories: needs at least one with sentences")
    return kept


def _own_texts(raw: Mapping[str, Any]) -> list[str]:
    """The value of `text`; without that key, whatever texts there are."""
    values = [raw["text"]] if "text" in raw else list(raw.values())
    return [value for value in values if isinstance(value, str)]


def _memories(answer: str) -> Sequence[Any]:
    def is_list(value: Any) -> bool:
        return isinstance(value, list) and any(isinstance(item, dict) for item in value)

    def fits(value: Any) -> bool:
        return is_list(value) or (isinstance(value, dict) and any(map(is_list, value.values())))

    raw = find_json(answer, fits)
    memories: Sequence[Any] = raw if isinstance(raw, list) else next(filter(is_list, raw.values()))
    return memories


def _draft(raw: Mapping[str, Any], language: Language, count: int, now: datetime) -> Draft:
    valence, arousal, importance = (_number(raw.get(key)) for key in ("valence", "arousal", IMPORTANCE))
    content = raw.get("content")
    plain = Emotion()
    return Draft(
        name=_name(raw.get("name")),
        numbers=_numbers(raw.get("sentences"), count),
        content=clean_text(content).strip() if isinstance(content, str) else "",
        domain=_domains(raw.get(DOMAIN), language) or (UNSORTED_DOMAIN,),
        valence=plain.valence if valence is None else _unit(valence),
        arousal=plain.arousal if arousal is None else _unit(arousal),
        tags=_tags(raw.get(TAGS)),
        importance=DEFAULT_IMPORTANCE if importance is None else round(min(max(importance, 1), 10)),
        when=_when(raw.get("when"), now),
    )


def _json_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    position = 0
    for _ in range(_JSON_TRIES):
        start = min((at for at in (text.find("{", position), text.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            return
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
        else:
            yield value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _overlap(answer: str, source: str) -> float:
    return share_covered(answer, words_of(source)) if words_of(answer) else 0.0


def _name(value: object) -> str:
    if not isinstance(value, str):
        return ""
    longest = int(spec_of(NAME).high or 0)
    return " ".join(without_masks(clean_text(value)).split()).strip("\"'“”")[:longest].strip()


def _domains(value: object, language: Language) -> tuple[str, ...]:
    names = (canonical_domain(re.sub(r"[/\\\[\]|#]", " ", name).strip(), language) for name in _texts(value))
    return tuple(dict.fromkeys(name for name in names if name))[:MOST_DOMAINS]


def _tags(value: object) -> tuple[str, ...]:
    tags = (tag.removeprefix("#").strip() for tag in _texts(value) if not masks_in(tag))
    return tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= LONGEST_TAG))[:MOST_TAGS]


def _texts(value: object) -> Iterator[str]:
    """The texts in a list; one text with commas is a list too, as models write it."""
    items = re.split(r"[,，、]", value) if isinstance(value, str) else value
    if not isinstance(items, list):
        return
    for item in items:
        if isinstance(item, str):
            yield " ".join(clean_text(item).split())


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _unit(number: float) -> float:
    return min(max(number, 0.0), 1.0)


def _numbers(value: object, count: int) -> tuple[int, ...]:
    """Sentence numbers such as `1-3,7`, as places from 0; numbers of no sentence are left out."""
    parts = value if isinstance(value, list) else [value]
    text = ",".join(str(part) for part in parts if isinstance(part, int | str) and not isinstance(part, bool))
    places: dict[int, None] = {}
    for match in _RANGE.finditer(text):
        first, last = int(match[1]), int(match[2] or match[1])
        for number in range(first, min(last, first + _WIDEST_RANGE, count) + 1):
            if 1 <= number <= count:
                places.setdefault(number - 1)
    return tuple(sorted(places))


def _when(value: object, now: datetime) -> datetime | None:
    """The day a thing happened; None for a day to come or one that nobody remembers."""
    if not isinstance(value, str) or not value.strip():
        return None
    moment = parse_moment(value, now.tzinfo) if now.tzinfo else None
    if moment is None or moment > now or moment < now - timedelta(days=366 * EARLIEST_DAY_YEARS):
        return None
    return moment
