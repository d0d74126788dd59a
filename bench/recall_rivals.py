"""What the product is compared with in the same run: BM25 alone, the model alone, and plain ways to join the two.

bm25    plain BM25 over stems and CJK bigrams of title and text, k1 1.5, b 0.75, no stop words
model   cosine with the note's best passage, vectors as the model gives them
rrf     reciprocal rank fusion of both, k = 60: Cormack, Clarke & Büttcher (2009)
sum     0.5 · bm25 + 0.5 · model, each scaled to 0…1 over the vault's notes
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from recall_sets import Memory, Question, Sets

from vaultd.index.passages import passages_of
from vaultd.index.tokens import words_of
from vaultd.llm.embedder import Embedder

K1, B, RRF_K, KEPT = 1.5, 0.75, 60, 100
Floats = npt.NDArray[np.float64]


class Rivals:
    """Plain methods on the same notes."""

    def __init__(self, sets: Sets, embedder: Embedder | None) -> None:
        self._sets = sets
        self._embedder = embedder

    def runs(self) -> dict[str, dict[str, list[str]]]:
        """Method → question → memory ids in order."""
        out: dict[str, dict[str, list[str]]] = defaultdict(dict)
        for scope, memories in self._sets.memories.items():
            words = _Words(memories)
            model = None if self._embedder is None else _Model(memories, self._embedder)
            for question in self._sets.of_scope(scope):
                for name, (scores, only_positive) in self._scores(question, words, model).items():
                    order = np.argsort(-scores, kind="stable")[:KEPT]
                    if only_positive:
                        order = order[scores[order] > 0]
                    out[name][question.id] = [memories[at].id for at in order]
        return out

    @staticmethod
    def _scores(question: Question, words: _Words, model: _Model | None) -> dict[str, tuple[Floats, bool]]:
        lexical = words.scores(question.text)
        if model is None:
            return {"bm25": (lexical, True)}
        cosines = model.scores(question.text)
        both = 0.5 * _scaled(lexical) + 0.5 * _scaled(cosines)
        return {
            "bm25": (lexical, True),
            "model": (cosines, False),
            "rrf": (_ranks(lexical, lexical > 0) + _ranks(cosines, np.ones(len(cosines), np.bool_)), False),
            "sum": (both, False),
        }


class _Words:
    def __init__(self, memories: Sequence[Memory]) -> None:
        texts = [words_of(f"{memory.title} {memory.text}") for memory in memories]
        self._lengths = np.array([len(words) for words in texts], np.float64)
        self._holders: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, words in enumerate(texts):
            for word, count in Counter(words).items():
                self._holders[word].append((at, count))

    def scores(self, text: str) -> Floats:
        out = np.zeros(len(self._lengths))
        norm = K1 * (1 - B + B * self._lengths / (self._lengths.mean() or 1))
        for word in dict.fromkeys(words_of(text)):
            holders = self._holders.get(word, [])
            idf = math.log1p((len(out) - len(holders) + 0.5) / (len(holders) + 0.5))
            for at, count in holders:
                out[at] += idf * (K1 + 1) * count / (count + norm[at])
        return out


class _Model:
    def __init__(self, memories: Sequence[Memory], embedder: Embedder) -> None:
        self._embedder = embedder
        passages = [(at, one.text) for at, memory in enumerate(memories) for one in passages_of(memory.text)]
        self._owners = np.array([at for at, _ in passages])
        self._vectors = embedder.embed_passages([text for _, text in passages])
        self._count = len(memories)

    def scores(self, text: str) -> Floats:
        out = np.full(self._count, -1.0)
        np.maximum.at(out, self._owners, (self._vectors @ self._embedder.embed_query(text)).astype(np.float64))
        return out


def _scaled(scores: Floats) -> Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def _ranks(scores: Floats, among: npt.NDArray[np.bool_]) -> Floats:
    order = np.argsort(-scores, kind="stable")
    order = order[among[order]]
    out = np.zeros(len(scores))
    out[order] = 1 / (RRF_K + 1 + np.arange(len(order)))
    return out
