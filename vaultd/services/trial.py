"""Try the models that are set, with a short text, as a person does who has just set them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from vaultd.core.errors import ModelError
from vaultd.llm.analyst import Analyst
from vaultd.llm.embedder import Embedder

_SAMPLE = "今天和朋友在河边散步，聊了很久。 We walked along the river and talked for a long time."


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a trial: whether it went well, and one line about it."""

    ok: bool
    message: str


class Trial:
    """Asks each model once. What goes wrong is the answer, not an error."""

    def __init__(self, analyst: Analyst, embedder: Embedder | None, chat_model: Callable[[], str]) -> None:
        self._analyst = analyst
        self._embedder = embedder
        self._chat_model = chat_model

    async def chat(self) -> Tried:
        """Have the chat model annotate a sentence."""
        try:
            annotation = await self._analyst.annotate(_SAMPLE)
        except ModelError as exc:
            return Tried(False, str(exc))
        return Tried(True, f"{self._chat_model()}: {annotation.name} · {', '.join(annotation.domain)}")

    async def embedding(self) -> Tried:
        """Have the embedding model embed a sentence."""
        if self._embedder is None:
            return Tried(False, "embedding.provider is none: words only")
        try:
            vector = await asyncio.to_thread(self._embedder.embed_query, _SAMPLE)
        except ModelError as exc:
            return Tried(False, str(exc))
        return Tried(True, f"{self._embedder.name}: {len(vector)} dimensions")
