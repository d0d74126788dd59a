"""Cards that say nearly the same as a text to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row, body_key
from vaultd.index.tokens import query_words
from vaultd.index.vectors import Floats
from vaultd.scoring.constants import CARD_TWIN_SIMILARITY
from vaultd.scoring.final import keyword_score, keyword_terms
from vaultd.services.meaning import Meaning
from vaultd.services.texts import Texts

NEAR_DUPLICATES: Final = 3  # told of a new card; SPEC of the tools
TWIN_CANDIDATES: Final = 20  # by words, that a new card is compared with where there is no embedding


@dataclass(frozen=True, slots=True)
class Twin:
    """A card that says nearly the same. Similarity is 0…1."""

    id: str
    topic: tuple[str, ...]
    similarity: float


class CardTwins:
    """Finds twins by meaning, by words where there is no embedding, and texts that are the very same in any case."""

    def __init__(self, mirror: Mirror, texts: Texts, meaning: Meaning) -> None:
        self._mirror = mirror
        self._texts = texts
        self._meaning = meaning

    async def __call__(self, text: str, rows: Sequence[Row]) -> tuple[Twin, ...]:
        """The twins of a text among these cards, most alike first, at most NEAR_DUPLICATES."""
        vector = await self._meaning.of_passage(text)
        alike = await self._by_words(text, rows) if vector is None else self._by_meaning(vector, rows)
        same = body_key(text + "\n")
        alike |= {row.id: 1.0 for row in rows if row.body_key == same}
        topics = {row.id: row.domain for row in rows}
        best = sorted(alike.items(), key=lambda pair: -pair[1])[:NEAR_DUPLICATES]
        return tuple(Twin(one, topics[one], round(value, 4)) for one, value in best if value >= CARD_TWIN_SIMILARITY)

    def _by_meaning(self, vector: Floats, rows: Sequence[Row]) -> dict[str, float]:
        with self._mirror.lock:
            slots = [(row, self._mirror.slot_of(row.id)) for row in rows]
            there = [(row, slot) for row, slot in slots if slot is not None]
            places = np.array([slot for _, slot in there], np.intp)
            similar = self._meaning.similarities(self._mirror.meaning(vector, places)[places])
        return {row.id: float(value) for (row, _), value in zip(there, similar, strict=True) if not np.isnan(value)}

    async def _by_words(self, text: str, rows: Sequence[Row]) -> dict[str, float]:
        """Share of words that two texts have in common, of the cards that share most words with the text."""
        terms = keyword_terms(text)
        with self._mirror.lock:
            scores = self._mirror.word_scores(dict.fromkeys(query_words(text), 1.0)).scores
            slots = [(self._mirror.slot_of(row.id), row) for row in rows]
        ranked = sorted(((float(scores[slot]), row) for slot, row in slots if slot is not None), key=lambda p: -p[0])
        best = [row for _, row in ranked[:TWIN_CANDIDATES]]
        bodies = await self._texts.bodies([row.path for row in best])
        return {
            row.id: min(_overlap(terms, body), _overlap(keyword_terms(body), text))
            for row, body in zip(best, bodies, strict=True)
            if body
        }


def _overlap(terms: Sequence[str], text: str) -> float:
    return keyword_score(terms, text, (text,))
