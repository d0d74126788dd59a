"""Fuzzy topic: how well a query fits a bucket's name, domain, tags and body, letter by letter (rapidfuzz)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from vaultd.scoring.constants import BODY_CHARACTERS, FUZZY_CUTOFF, MatchWeights
from vaultd.scoring.decay import Floats, Indices

_PERCENT: Final = 100.0  # rapidfuzz speaks in percent


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


@dataclass(frozen=True, slots=True, eq=False)
class ListColumn:
    """Lists of words, one a row, over a vocabulary of distinct folded words.

    Row i has the words `vocabulary[c]` for c in `codes[starts[i]:starts[i + 1]]`.
    """

    vocabulary: Sequence[str]
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Iterable[Iterable[str]]) -> ListColumn:
        """The column of these lists; words are folded."""
        places: dict[str, int] = {}
        codes: list[int] = []
        starts = [0]
        for words in lists:
            for word in words:
                codes.append(places.setdefault(_fold_head(word), len(places)))
            starts.append(len(codes))
        return cls(tuple(places), np.array(codes, dtype=np.int32), np.array(starts, dtype=np.int64))

    def best(self, of_word: Floats) -> Floats:
        """Best value of each row's words, given the values of the vocabulary; 0 for a row without words."""
        filled = np.flatnonzero(np.diff(self.starts))
        out = np.zeros(len(self.starts) - 1)
        if len(filled):
            out[filled] = np.maximum.reduceat(of_word[self.codes], self.starts[filled])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class FuzzyColumns:
    """Names (folded), domains and tags of all buckets, ready to be matched; `bodies` (folded, cut) may be left out."""

    names: Sequence[str]
    domains: ListColumn
    tags: ListColumn
    bodies: Sequence[str] | None = None

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        domains: Iterable[Iterable[str]],
        tags: Iterable[Iterable[str]],
        bodies: Iterable[str] | None = None,
    ) -> FuzzyColumns:
        """The columns of these texts as they stand in the notes."""
        folded = None if bodies is None else [fold_body(body) for body in bodies]
        return cls([_fold_head(name) for name in names], ListColumn.of(domains), ListColumn.of(tags), folded)


def fuzzy_topics(query: str, columns: FuzzyColumns, weights: MatchWeights) -> Floats:
    """`fuzzy_topic` of each row; without bodies their part is 0, so that the value is a lower bound."""
    asked = fold(query)
    heads = (columns.names, columns.domains.vocabulary, columns.tags.vocabulary)
    ratios = partial_ratios(asked, [text for texts in heads for text in texts])
    names, domains, tags = np.split(ratios, np.cumsum([len(texts) for texts in heads[:2]]))
    total = (
        weights.name * names + weights.domain * columns.domains.best(domains) + weights.tags * columns.tags.best(tags)
    )
    if columns.bodies is not None:
        total += weights.body * partial_ratios(asked, columns.bodies)
    return total / weights.fuzzy_total


def partial_ratios(asked: str, texts: Sequence[str]) -> Floats:
    """Partial ratio of a folded query with each folded text, 0…1; 0 for empty ones."""
    if not asked or not texts:
        return np.zeros(len(texts))
    ratios: Floats = process.cdist([asked], texts, scorer=fuzz.partial_ratio, dtype=np.float64)[0] / _PERCENT
    if "" in texts:
        ratios[[not text for text in texts]] = 0.0
    return ratios


def fuzzy_candidates(query: str, names: Sequence[str], *, limit: int, cutoff: float = FUZZY_CUTOFF) -> Indices:
    """Rows whose folded name resembles the query by at least `cutoff` (0…1), best first, at most `limit`."""
    asked = fold(query)
    if not asked:
        return np.zeros(0, dtype=np.intp)
    found = process.extract(asked, names, scorer=fuzz.partial_ratio, limit=limit, score_cutoff=cutoff * _PERCENT)
    return np.array([row for _, _, row in found], dtype=np.intp)
