"""What stands in at the rims: a clock that is moved by hand, vectors from words, a chat model that is told what to say."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np

from vaultd.core.errors import ModelError, ModelUnavailable
from vaultd.index.tokens import words_of


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> datetime:
        """Move on by days, hours, minutes, …"""
        self.now += timedelta(**span)
        return self.now


class FakeEmbedder:
    """Vectors from the words of a text: texts that share words are alike. Counts what it is asked."""

    name = "fake/1"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.passages: list[str] = []
        self.queries: list[str] = []
        self.error: ModelError | None = None

    def _vector(self, text: str) -> np.ndarray:
        out = np.zeros(self.dimension, np.float32)
        for word in words_of(text) or ["∅"]:
            digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
            out[int.from_bytes(digest[:2], "big") % self.dimension] += 1.0 if digest[2] % 2 else -1.0
        norm = float(np.linalg.norm(out))
        return out / norm if norm else np.eye(self.dimension, dtype=np.float32)[0]

    def embed_passages(self, texts):
        if self.error is not None:
            raise self.error
        self.passages.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text):
        if self.error is not None:
            raise self.error
        self.queries.append(text)
        return self._vector(text)

    def load(self) -> None:
        pass

    def close(self) -> None:
        pass


class FakeAnalyst:
    """A chat model that says what it was told to say; an exception is raised instead."""

    def __init__(self, **answers) -> None:
        self.answers = answers
        self.asked: list[tuple[str, tuple]] = []

    @property
    def available(self) -> bool:
        return bool(self.answers)

    async def _answer(self, task, *values):
        self.asked.append((task, values))
        if task not in self.answers:
            raise ModelUnavailable("no chat model; set llm.api_key")
        answer = self.answers[task]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(*values) if callable(answer) else answer

    async def annotate(self, text):
        return await self._answer("annotate", text)

    async def merge(self, old, new):
        return await self._answer("merge", old, new)

    async def split(self, text, now):
        return await self._answer("split", text, now)

    async def condense(self, text):
        return await self._answer("condense", text)

    async def summarise(self, turns):
        return await self._answer("summarise", turns)

    async def close(self) -> None:
        pass
