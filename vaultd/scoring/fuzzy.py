"""Fuzzy topic: how well a query fits a bucket's name, domain, tags and body, letter by letter (rapidfuzz)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from rapidfuzz import fuzz, process

from vaultd.scoring.constants import BODY_CHARACTERS, MatchWeights
from vaultd.scoring.decay import Floats

_PERCENT: Final = 100.0  # rapidfuzz speaks in percent
_GRAIN: Final = 1e-9  # of a sum of floats


def fold(text: str) -> str:
    """Text as it is compared: NFKC, case-folded, outer blanks off."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


_fold_head = lru_cache(maxsize=8_192)(fold)  # names, domains and tags: the same few thousand with every question


def fold_body(body: str) -> str:
    """The part of a body that fuzzy matching reads: its first 1,000 characters, folded."""
    return fold(body[:BODY_CHARACTERS])


def fuzzy_topic(
    query: str, *, name: str, domains: Iterable[str], tags: Iterable[str], body: str, weights: MatchWeights
) -> float:
    """(3·name + 2.5·domain + 2·tags + 1·body) / 8.5, 0…1, each by partial ratio; of domains and tags the best one."""
    asked = fold(query)
    if not asked:
        return 0.0
    total = (
        weights.name * _ratio(asked, fold(name))
        + weights.domain * max((_ratio(asked, fold(domain)) for domain in domains), default=0.0)
        + weights.tags * max((_ratio(asked, fold(tag)) for tag in tags), default=0.0)
        + weights.body * _ratio(asked, fold_body(body))
    )
    return total / weights.fuzzy_total


def _ratio(asked: str, text: str) -> float:
    return fuzz.partial_ratio(asked, text) / _PERCENT if text else 0.0


class Head(NamedTuple):
    """What fuzzy matching reads of a bucket beside its body, as it stands in the note."""

    name: str
    domains: Sequence[str]
    tags: Sequence[str]


def fuzzy_topics(
    query: str,
    heads: Sequence[Head],
    weights: MatchWeights,
    bodies: Sequence[str] | None = None,
    *,
    least: Sequence[float] | None = None,
) -> Floats:
    """`fuzzy_topic` of each bucket; NaN for one that stays below its `least`. Without bodies their part is 0.

    A bucket that can't reach it any more is not compared further: of most the name already tells.
    """
    asked, whole = fold(query), weights.fuzzy_total
    parts: list[tuple[float, Callable[[int], Sequence[str]]]] = [
        (weights.name, lambda row: (_fold_head(heads[row].name),)),
        (weights.domain, lambda row: [_fold_head(word) for word in heads[row].domains]),
        (weights.tags, lambda row: [_fold_head(word) for word in heads[row].tags]),
    ]
    if bodies is not None:
        parts.append((weights.body, lambda row: (fold_body(bodies[row]),)))
    needed = [0.0] * len(heads) if least is None else [share * whole - _GRAIN for share in least]
    totals = [0.0] * len(heads)
    to_come = sum(weight for weight, _ in parts)
    rows = [row for row, sum_ in enumerate(needed) if to_come >= sum_]
    for weight, texts_of in parts:
        to_come -= weight
        texts = [texts_of(row) for row in rows]
        ratios = _ratios(asked, {text for of_row in texts for text in of_row})
        for row, of_row in zip(rows, texts, strict=True):
            totals[row] += weight * max([ratios[text] for text in of_row], default=0.0)
        rows = [row for row in rows if totals[row] + to_come >= needed[row]]
    reached = np.full(len(heads), np.nan)
    reached[rows] = [totals[row] / whole for row in rows]
    return reached


def _ratios(asked: str, texts: Collection[str]) -> dict[str, float]:
    """Partial ratio of a folded query with each folded text, 0…1; 0 for empty ones."""
    compared = [text for text in texts if text]
    if not asked or not compared:
        return dict.fromkeys(texts, 0.0)
    ratios = process.cdist([asked], compared, scorer=fuzz.partial_ratio, dtype=np.float64)[0] / _PERCENT
    return {"": 0.0, **dict(zip(compared, ratios.tolist(), strict=True))}
