"""What a message wants: its words, and the nearest of five prototypes where there is an embedding. No model is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.card import Intent
from vaultd.scoring.intent import intent_of, prototypes, similarities_to
from vaultd.scoring.intent_examples import EXAMPLES
from vaultd.services.meaning import Meaning

log = logging.getLogger(__name__)

PAUSE_S: Final = 0.05  # between two examples: whoever asks now goes first


class Intents:
    """Intents of messages. Until `learn` has run, and without an embedding model, words alone decide."""

    def __init__(self, meaning: Meaning, model: str, state: Path) -> None:
        self._meaning = meaning
        self._model = model
        self._place = state / "prototypes.npz"
        self._prototypes: Mapping[Intent, npt.NDArray[np.float64]] = {}

    def __call__(self, text: str, vector: npt.NDArray[np.float32] | None) -> Intent:
        """The intent of a message, its embedding (as the model gives it) given where there is one."""
        if vector is None or not self._prototypes:
            return intent_of(text)
        return intent_of(text, similarities_to(vector, self._prototypes))

    async def learn(self) -> None:
        """Embed the examples of each intent, once for each model."""
        if not self._meaning.available:
            return
        self._prototypes = await asyncio.to_thread(self._kept)
        if self._prototypes:
            return
        embeddings: dict[Intent, npt.NDArray[np.float32]] = {}
        for intent, texts in EXAMPLES.items():
            vectors = []
            for text in texts:
                vector = await self._meaning.raw_of(text)
                if vector is None:
                    log.info("intents go by words alone: %s", self._meaning.problem)
                    return
                vectors.append(vector)
                await asyncio.sleep(PAUSE_S)
            embeddings[intent] = np.stack(vectors)
        self._prototypes = prototypes(embeddings)
        await asyncio.to_thread(self._keep)

    def _kept(self) -> dict[Intent, npt.NDArray[np.float64]]:
        try:
            with np.load(self._place, allow_pickle=False) as kept:
                if str(kept["model"]) != self._label:
                    return {}
                return {intent: kept[intent.value] for intent in Intent}
        except (OSError, KeyError, ValueError):
            return {}

    def _keep(self) -> None:
        try:
            values = {intent.value: vector for intent, vector in self._prototypes.items()}
            np.savez(self._place, allow_pickle=False, model=np.array(self._label), **values)
        except OSError as exc:
            log.warning("%s can't be written: %s", self._place, exc)

    @property
    def _label(self) -> str:
        """The model, and how many letters the examples have: other examples are learnt anew."""
        return f"{self._model}/{sum(len(text) for texts in EXAMPLES.values() for text in texts)}"
