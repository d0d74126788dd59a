"""What a question means: its embedding, cached, and how likely notes are related to it."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import ModelError
from vaultd.core.text import share_of_cjk
from vaultd.index.passages import passages_of
from vaultd.index.vectors import NO_COSINE, Centre
from vaultd.llm.calibration import Similarity
from vaultd.llm.embedder import Embedder

log = logging.getLogger(__name__)

CACHED_QUESTIONS = 512
QUESTION_PATIENCE_S = 3.0  # a question waits so long for its embedding
TEXT_PATIENCE_S = 0.5  # a text to keep waits so long; its embedding follows anyhow
MODEL_THREADS = 4
Floats = npt.NDArray[np.float32]


class Meaning:
    """Embeds questions; `embedder` is None where there is no model, then everything goes by words.

    `centre` gives the centring that the memories' vectors went through: it changes as the vault grows.
    """

    def __init__(self, embedder: Embedder | None, similarity: Similarity, centre: Callable[[], Centre]) -> None:
        self._embedder = embedder
        self._similarity = similarity
        self._centre = centre
        self._cache: OrderedDict[str, Floats] = OrderedDict()
        self._threads = ThreadPoolExecutor(MODEL_THREADS, thread_name_prefix="question")
        self.problem = ""

    @property
    def available(self) -> bool:
        """Whether there is a model at all."""
        return self._embedder is not None

    async def of(self, text: str) -> Floats | None:
        """The (centred) unit vector of a question; None where it cannot be had, then `problem` says why."""
        raw = await self.raw_of(text)
        return None if raw is None else self.centred(raw[None, :], [text])[0]

    async def raw_of(self, text: str) -> Floats | None:
        """The vector of a question as the model gives it, whatever the vault holds; None where it cannot be had."""
        if self._embedder is None or not text.strip():
            return None
        known = self._cache.get(text)
        if known is not None:
            self._cache.move_to_end(text)
            return known
        raw = await self._patiently(partial(self._embedder.embed_query, text), QUESTION_PATIENCE_S)
        if raw is None:
            return None
        self._cache[text] = raw
        if len(self._cache) > CACHED_QUESTIONS:
            self._cache.popitem(last=False)
        return raw

    async def of_passage(self, text: str, *, patience_s: float = TEXT_PATIENCE_S) -> Floats | None:
        """The (centred) unit vector of a text's first passage, as notes have it; None where it cannot be had."""
        passages = passages_of(text)
        if self._embedder is None or not passages:
            return None
        raw = await self._patiently(partial(self._embedder.embed_passages, [passages[0].text]), patience_s)
        return None if raw is None else self.centred(raw, [passages[0].text])[0]

    async def _patiently(self, embed: Callable[[], Floats], patience_s: float) -> Floats | None:
        """What the model says, unless it fails or takes too long: then words alone have to do."""
        call = asyncio.get_running_loop().run_in_executor(self._threads, embed)
        try:
            async with asyncio.timeout(patience_s):
                vector = await asyncio.shield(call)
        except TimeoutError:
            call.add_done_callback(_forget)
            self.problem = f"the embedding model did not answer within {patience_s:g} s"
            return None
        except ModelError as exc:
            self.problem = str(exc)
            log.warning("no embedding: %s", exc)
            return None
        self.problem = ""
        return vector

    def close(self) -> None:
        """Let go of the threads; calls under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def centre(self) -> Centre:
        """The centring that memories' vectors are in now."""
        return self._centre()

    def centred(self, vectors: Floats, texts: Sequence[str]) -> Floats:
        """Vectors (n, d) as the model gives them, of these texts, made comparable with the memories' vectors."""
        return self._centre()(vectors, np.array([share_of_cjk(text) for text in texts], np.float32))

    def cosine_at(self, similarity: float) -> float:
        """The cosine from which on two texts are at least so similar."""
        return self._similarity.cosine_at(similarity)

    def similarities(self, cosines: Floats) -> npt.NDArray[np.float64]:
        """Calibrated similarity 0…1 of cosines; NaN where a note has no embedding yet."""
        values: npt.NDArray[np.float64] = np.array(self._similarity(cosines), np.float64)
        values[cosines == NO_COSINE] = np.nan
        return values


def _forget(call: asyncio.Future[Floats]) -> None:
    """Take the late answer, or the late error, so that nobody complains of it."""
    if not call.cancelled():
        call.exception()
