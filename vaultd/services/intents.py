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
from vaultd.index.vectors import Centre, Floats
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
        self._place = state / "intents.npz"
        self._examples: Mapping[Intent, Floats] = {}
        self._prototypes: Mapping[Intent, npt.NDArray[np.float64]] = {}
        self._usual: tuple[Centre, Floats] | None = None

    def __call__(self, text: str, vector: Floats | None) -> Intent:
        """The intent of a message, its embedding (as the model gives it) given where there is one."""
        if vector is None or not self._prototypes:
            return intent_of(text)
        return intent_of(text, similarities_to(vector, self._prototypes))

    def usual(self) -> Floats | None:
        """What messages have in common: the mean of the examples, centred as the vault is; None until `learn` has run."""
        if not self._examples:
            return None
        centre = self._meaning.centre
        if self._usual is None or self._usual[0] is not centre:
            texts = [text for intent in self._examples for text in EXAMPLES[intent]]
            vectors = self._meaning.centred(np.concatenate(list(self._examples.values())), texts)
            self._usual = (centre, vectors.mean(axis=0))
        return self._usual[1]

    async def learn(self) -> None:
        """Embed the examples of each intent, once for each model."""
        if not self._meaning.available:
            return
        kept = await asyncio.to_thread(self._kept)
        if kept:
            self._take(kept)
            return
        embeddings: dict[Intent, Floats] = {}
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
        self._take(embeddings)
        await asyncio.to_thread(self._keep)

    def _take(self, examples: Mapping[Intent, Floats]) -> None:
        self._prototypes = prototypes(examples)
        self._examples = examples

    def _kept(self) -> dict[Intent, Floats]:
        try:
            with np.load(self._place, allow_pickle=False) as kept:
                if str(kept["model"]) != self._label:
                    return {}
                return {intent: kept[intent.value] for intent in EXAMPLES}
        except (OSError, KeyError, ValueError):
            return {}

    def _keep(self) -> None:
        try:
            values = {intent.value: vectors for intent, vectors in self._examples.items()}
            np.savez(self._place, allow_pickle=False, model=np.array(self._label), **values)
        except OSError as exc:
            log.warning("%s can't be written: %s", self._place, exc)

    @property
    def _label(self) -> str:
        """The model, and how many letters the examples have: other examples are learnt anew."""
        return f"{self._model}/{sum(len(text) for texts in EXAMPLES.values() for text in texts)}"
