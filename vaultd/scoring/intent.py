"""What a message wants: by its words, else by the nearest of five prototypes. No model is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from statistics import fmean, pstdev
from typing import Final

import numpy as np

from vaultd.core.card import Intent
from vaultd.scoring.constants import (
    INTENT_CHARACTERS,
    INTENT_LEAD,
    INTENT_LEAST,
    INTENT_MARGIN,
    INTENT_POINTS,
    INTENT_PROTOTYPE_POINTS,
)
from vaultd.scoring.decay import Floats, Reals
from vaultd.scoring.intent_shape import Cues, Shape

_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[a-z]+(?:'[a-z]+)?")
_SMILE = re.compile(r"[\U0001f300-\U0001faff\u2600-\u27bf]|[:;]-?[)d(p](?![a-z])|\^_?\^|~$")
_SHORT: Final = 4  # words; a message this short is small talk unless a cue says otherwise; ours
_LONG: Final = 8  # words; from here on a message about oneself turns something over; ours
_HAN_A_WORD: Final = 1.6  # characters of a Chinese word, on average; ours
_AGAIN: Final = 0.4  # what a second hit of a group of cues adds, as a share of its weight; ours


def intent_by_words(text: str) -> tuple[Intent | None, float]:
    """The intent that the words of a message speak for, and how clearly, 0…1; None where no cue is clear enough."""
    points = _points(_folded(text))
    first, second = sorted(points.values(), reverse=True)[:2]
    if first < INTENT_LEAST:
        return None, 0.0
    best = next(intent for intent in Intent if points[intent] == first)
    return best, (first - max(second, 0.0)) / (first + 1.0)


def speaks_of_oneself(text: str) -> bool:
    """Whether the person comes up in their message: I, my, we, 我, 咱 …"""
    folded = _folded(text)
    _, shape = _language(len(_HAN.findall(folded)), len(_LATIN.findall(folded)))
    return shape.oneself.search(folded) is not None


def _language(han: int, latin: int) -> tuple[Cues, Shape]:
    """The patterns of the language that a message is mostly in; compiled when they are first asked for."""
    if han > latin:
        from vaultd.scoring import intent_zh

        return intent_zh.CUES, intent_zh.SHAPE
    from vaultd.scoring import intent_en

    return intent_en.CUES, intent_en.SHAPE


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:INTENT_CHARACTERS]).casefold().replace("’", "'").strip()


def _points(folded: str) -> dict[Intent, float]:
    han, latin = len(_HAN.findall(folded)), len(_LATIN.findall(folded))
    points = dict.fromkeys(Intent, 0.0)
    cues, shape = _language(han, latin)
    for intent, weight, pattern in cues:
        hits = len(pattern.findall(folded))
        if hits:
            points[intent] += weight * (1.0 + _AGAIN * min(hits - 1, 1))
    if _SMILE.search(folded):
        points[Intent.CASUAL] += 2.0
    words = han / _HAN_A_WORD + latin
    for intent, weight in _shape(folded, shape, words):
        points[intent] += weight
    return points


def _shape(folded: str, shape: Shape, words: float) -> Iterator[tuple[Intent, float]]:
    """What the build of a message leans to: question or statement, about whom, of what time, how long."""
    oneself = shape.oneself.search(folded) is not None
    abstract = shape.abstract.search(folded) is not None
    inner = shape.inner.search(folded) is not None
    if shape.question.search(folded):
        yield from _question(folded, shape, oneself=oneself, abstract=abstract, inner=inner)
        return
    yield Intent.SEEKING, -2.0
    if abstract and not oneself:
        yield Intent.DEEP_DISCUSSION, 1.5
    if inner or (oneself and words >= _LONG):
        yield Intent.REFLECTIVE, 1.0
    if shape.everyday.search(folded) and not inner:
        yield Intent.CASUAL, 1.5
    if not abstract and words < _LONG:
        yield Intent.CASUAL, 0.5 if oneself else 1.0
    if words <= _SHORT:
        yield Intent.CASUAL, 0.5


def _question(
    folded: str, shape: Shape, *, oneself: bool, abstract: bool, inner: bool
) -> Iterator[tuple[Intent, float]]:
    past = shape.past.search(folded) is not None
    if inner and oneself:
        yield Intent.REFLECTIVE, 1.5
        yield Intent.PRACTICAL, -1.5
        return
    yield Intent.REFLECTIVE, -1.0
    if oneself and past:
        yield Intent.SEEKING, 1.0
        yield Intent.PRACTICAL, -1.0
    elif abstract:
        yield Intent.DEEP_DISCUSSION, 1.0 if oneself else 1.5
    elif not past:
        yield Intent.CASUAL if shape.addressed.search(folded) and not oneself else Intent.PRACTICAL, 1.0


def intent_by_prototypes(similarities: Mapping[Intent, float], margin: float = INTENT_MARGIN) -> Intent:
    """The intent whose prototype is nearest by cosine; casual where its lead over the second is below `margin`."""
    return _leader(dict(similarities), margin)


def intent_of(text: str, similarities: Mapping[Intent, float] | None = None) -> Intent:
    """The intent of a message by its words and, where there are some, its cosines with the prototypes together.

    The cosines count by how far each stands off their mean, so that any model's will do. Casual where nothing leads.
    """
    if similarities is None:
        return intent_by_words(text)[0] or Intent.CASUAL
    points = _points(_folded(text))
    mean = fmean(similarities.values())
    spread = pstdev(similarities.values()) or 1.0
    low, high = INTENT_POINTS
    for intent, similarity in similarities.items():
        points[intent] = min(max(points[intent], low), high) + INTENT_PROTOTYPE_POINTS * (similarity - mean) / spread
    return _leader(points, INTENT_LEAD)


def _leader(points: Mapping[Intent, float], margin: float) -> Intent:
    ranked = sorted(points, key=lambda intent: points[intent], reverse=True)
    clear = len(ranked) == 1 or (len(ranked) > 1 and points[ranked[0]] - points[ranked[1]] >= margin)
    return ranked[0] if clear else Intent.CASUAL


def prototypes(embeddings: Mapping[Intent, Reals]) -> Mapping[Intent, Floats]:
    """The prototype of each intent: the unit mean of the embeddings (one a row) of its examples."""
    means = {intent: np.asarray(rows, dtype=np.float64).mean(axis=0) for intent, rows in embeddings.items()}
    return {intent: mean / np.linalg.norm(mean) for intent, mean in means.items()}


def similarities_to(embedding: Reals, prototype_of: Mapping[Intent, Floats]) -> dict[Intent, float]:
    """Cosine of a message's embedding with each prototype."""
    unit = np.asarray(embedding, dtype=np.float64)
    unit = unit / np.linalg.norm(unit)
    return {intent: float(unit @ prototype) for intent, prototype in prototype_of.items()}
