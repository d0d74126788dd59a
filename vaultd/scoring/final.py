"""Final score of a card, 0…1: is it worth a place in the prompt?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vaultd.core.card import Card, Category, Intent
from vaultd.scoring.constants import (
    CARD_TAGS_SHARE,
    CONTENT_SHARE,
    LASTING_IMPORTANCE,
    LASTING_MMR_LAMBDA,
    LEAST_RECENCY,
    MMR_LAMBDA,
    RECENCY_TIME_CONSTANT_DAYS,
    RECENT_DAYS,
    SCORE_GRAIN,
    TOP_IMPORTANCE,
    FinalWeights,
    RecencyMode,
)
from vaultd.scoring.decay import Codes, Flags, Floats, Reals, days_since

CATEGORY_CODES: Final[Mapping[Category, int]] = {category: code for code, category in enumerate(Category)}
_LESSON = CATEGORY_CODES[Category.LESSON]

_INTENTS = (Intent.SEEKING, Intent.REFLECTIVE, Intent.CASUAL, Intent.DEEP_DISCUSSION, Intent.PRACTICAL)
TYPE_FIT: Final[Mapping[Category, Mapping[Intent, float]]] = {
    category: dict(zip(_INTENTS, row, strict=True))
    for category, row in {
        # CARDS 3, the table of five intents: seeking, reflective, casual, deep discussion, practical
        Category.MILESTONE: (0.6, 0.7, 0.3, 0.5, 0.2),
        Category.COMMITMENT: (0.5, 0.7, 0.3, 0.5, 0.3),
        Category.TURNING_POINT: (0.8, 0.8, 0.3, 0.8, 0.2),
        Category.DEEP_TALK: (0.8, 0.8, 0.3, 1.0, 0.3),
        Category.INTERACTION_MOMENT: (0.5, 0.5, 1.0, 0.3, 0.3),
        Category.PREFERENCE: (0.3, 0.4, 0.7, 0.4, 0.8),
        Category.REAL_WORLD: (0.4, 0.5, 0.4, 0.4, 1.0),
        Category.LESSON: (0.9, 0.9, 0.2, 0.7, 0.2),
    }.items()
}
"""Category fit (0…1) of each category to each intent."""

_RUN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_PIECE = re.compile(rf"([{_RUN}]+)|((?:(?![{_RUN}_])\w)+)")
_WORD = re.compile(rf"(?:(?![{_RUN}_])\w)+")
_OF_RUN = re.compile(rf"[{_RUN}]")


def keyword_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a text, NFKC and case-folded: words, bigrams of CJK runs, lone CJK characters."""
    terms: dict[str, None] = {}
    for run, word in _PIECE.findall(unicodedata.normalize("NFKC", text).casefold()):
        if word or len(run) == 1:
            terms.setdefault(word or run)
        else:
            terms.update(dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1)))
    return tuple(terms)


def keyword_score(query_terms: Sequence[str], content: str, tags: Iterable[str]) -> float:
    """0.9 · share of the query's terms in the content + 0.1 · their share in the tags, 0…1; 0 without terms."""
    if not query_terms:
        return 0.0
    return CONTENT_SHARE * _share(query_terms, content) + CARD_TAGS_SHARE * _share(query_terms, "\n".join(tags))


def _share(query_terms: Sequence[str], text: str) -> float:
    """Share of the terms that a text has. CJK is written without blanks, so there a term need only stand in it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = set(_WORD.findall(folded)) if any(_OF_RUN.match(term) is None for term in query_terms) else set()
    return sum(term in (words if _OF_RUN.match(term) is None else folded) for term in query_terms) / len(query_terms)


@dataclass(frozen=True, slots=True, eq=False)
class CardColumns:
    """The properties that the final score looks at, one row a card.

    `category` holds CATEGORY_CODES; `last_active` is the later of creation and last use, in epoch seconds.
    """

    category: Codes
    importance: Reals
    last_active: Reals

    @classmethod
    def of(cls, cards: Sequence[Card]) -> CardColumns:
        """The columns of these cards, in their order."""
        moments = [max(card.created, card.last_used or card.created).timestamp() for card in cards]
        return cls(
            category=np.array([CATEGORY_CODES[card.category] for card in cards], dtype=np.uint8),
            importance=np.array([card.importance for card in cards], dtype=np.float64),
            last_active=np.array(moments, dtype=np.float64),
        )


def type_fits(category: Codes, intent: Intent) -> Floats:
    """Category fit of each row to the intent, 0…1."""
    fit_of_code = np.array([TYPE_FIT[known][intent] for known in CATEGORY_CODES], dtype=np.float64)
    return fit_of_code[category]


def recencies(columns: CardColumns, now: float, mode: RecencyMode) -> Floats:
    """How fresh each card is, 0.2…1: 1 for lessons, importance ≥ 9 and 30 days of rest.

    Then max(0.2, e^(−days/30)), a step down to 0.37; `smooth` counts the days from the 31st, so that there is no step.
    """
    days = days_since(columns.last_active, now)
    aged = days if mode == "step" else days - RECENT_DAYS
    fading = np.maximum(np.exp(-aged / RECENCY_TIME_CONSTANT_DAYS), LEAST_RECENCY)
    lasting = (columns.category == _LESSON) | (columns.importance >= LASTING_IMPORTANCE) | (days <= RECENT_DAYS)
    return np.where(lasting, 1.0, fading)


def lambdas_of(category: Codes) -> Floats:
    """The λ of maximal marginal relevance for each row: lessons are not easily crowded out."""
    return np.where(category == _LESSON, LASTING_MMR_LAMBDA, MMR_LAMBDA)


@dataclass(frozen=True, slots=True, eq=False)
class FinalColumns:
    """Final scores 0…1, their four parts (unweighted, 0…1), and which rows are worth keeping."""

    total: Floats
    relevance: Floats
    type_fit: Floats
    importance: Floats
    recency: Floats
    keep: Flags


def final_scores(
    similarity: Reals, keyword: Reals, columns: CardColumns, *, intent: Intent, now: float, weights: FinalWeights
) -> FinalColumns:
    """Final score of each card at `now` (epoch seconds): 0.50·relevance + 0.20·fit + 0.15·importance/10 + 0.15·recency.

    `similarity` is calibrated (NaN: no embedding, counts as 0), `keyword` from `keyword_score`. Kept is what reaches
    the threshold and the relevance floor.
    """
    known = np.nan_to_num(similarity.astype(np.float64, copy=False), nan=0.0)
    relevance = weights.similarity * known + weights.keyword * keyword.astype(np.float64, copy=False)
    fits = type_fits(columns.category, intent)
    importance = columns.importance.astype(np.float64, copy=False) / TOP_IMPORTANCE
    recency = recencies(columns, now, weights.recency_mode)
    total = (
        weights.relevance * relevance
        + weights.type_fit * fits
        + weights.importance * importance
        + weights.recency * recency
    )
    keep = (total >= weights.threshold - SCORE_GRAIN) & (relevance >= weights.relevance_floor - SCORE_GRAIN)
    return FinalColumns(total, relevance, fits, importance, recency, keep)
