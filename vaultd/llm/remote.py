"""Embeddings from any OpenAI-compatible endpoint.

`openai` costs a second of processor time to import, so that happens at the first text. Requests run on an event loop
in a thread of their own: that is what bounds the time of a whole answer, however slowly it drips in.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np

from vaultd.core.errors import ModelBadAnswer, ModelUnavailable
from vaultd.llm.budget import RequestBudget
from vaultd.llm.embedder import Floats, clean, unit
from vaultd.llm.failures import Failure, Place, failure_of, timed_out
from vaultd.settings import EmbeddingSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)
T = TypeVar("T")

BATCH: Final = 32  # texts a request; halved where an endpoint takes fewer
CONNECT_TIMEOUT_S: Final = 5.0
BACK_OFF_S: Final = 1.0  # before the second attempt; doubled before each further one, ± a quarter
BLANK: Final = "."  # stands for a text without any character: most endpoints refuse an empty one


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is tried, and the longest wait between two attempts, in seconds."""

    attempts: int
    longest_wait_s: float


FOR_PASSAGES: Final = Patience(attempts=4, longest_wait_s=60.0)  # nobody waits for them
FOR_A_QUERY: Final = Patience(attempts=2, longest_wait_s=2.0)  # somebody does; words are searched meanwhile


class RemoteEmbedder:
    """Embeds by a remote model, in batches. Safe to call from several threads. Raises ModelError and nothing else.

    The dimension is what the first answer has, unless `embedding.dimensions` asks for one; an answer with another
    one, or with numbers that are none, is a ModelBadAnswer.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        budget: RequestBudget,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Opens nothing yet. Raises ModelUnavailable where address or model are missing."""
        problem = problem_of(settings)
        if problem is not None:
            raise ModelUnavailable(problem)
        self._settings = settings
        self._budget = budget
        self._rng = rng
        self._sleep = sleep
        self._place = Place(
            host=_host(settings.base_url) or "",
            model=settings.model.strip(),
            section="embedding",
            key_variable="VAULTD_EMBEDDING_API_KEY",
            asked_for="embeddings",
        )
        self._batch = BATCH
        self._dimension = settings.dimensions
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vaultd-embedding", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """The model's name, with the length of the vectors where that was asked for."""
        asked = f":{self._settings.dimensions}" if self._settings.dimensions else ""
        return f"{self._settings.model.strip()}{asked}/1"

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 before the first answer."""
        return self._dimension

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (n, dimension) of texts that are to be found."""
        cleaned = [clean(text).strip() or BLANK for text in texts]
        return self._run(self._embedded(cleaned, FOR_PASSAGES))

    def embed_query(self, text: str) -> Floats:
        """Unit vector (dimension,) of a text that looks for others."""
        vectors = self._run(self._embedded([clean(text).strip() or BLANK], FOR_A_QUERY))
        first: Floats = vectors[0]
        return first

    def load(self) -> None:
        """Nothing: the client's library is imported in Python, where others would wait for it as well."""

    def close(self) -> None:
        """Close the connections; what is under way is broken off with ModelUnavailable."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._closed:
            work.close()
            raise ModelUnavailable("the connection to the embedding model was closed")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except CancelledError as exc:
            raise ModelUnavailable("the connection to the embedding model was closed") from exc

    async def _shut(self) -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _embedded(self, texts: list[str], patience: Patience) -> Floats:
        parts: list[Floats] = []
        done = 0
        while done < len(texts):
            batch = texts[done : done + self._batch]
            part = await self._answered(batch, patience)
            if part is None:
                self._batch = max(len(batch) // 2, 1)
                log.info("%s does not take %d texts at once; %d from now on", self._place.host, len(batch), self._batch)
                continue
            parts.append(part)
            done += len(batch)
        return np.concatenate(parts) if parts else np.zeros((0, self._dimension), np.float32)

    async def _answered(self, batch: list[str], patience: Patience) -> Floats | None:
        """The batch's vectors; None where it may be too large a batch."""
        client = await self._opened()
        attempt = 1
        while True:
            await asyncio.to_thread(self._budget.spend)
            outcome = await self._attempted(client, batch)
            if not isinstance(outcome, Failure):
                return outcome
            if outcome.refused_request and len(batch) > 1:
                return None
            wait_s = self._wait_s(attempt, outcome, patience)
            if wait_s is None:
                raise outcome.error
            await self._sleep(wait_s)
            attempt += 1

    async def _attempted(self, client: AsyncOpenAI, batch: list[str]) -> Floats | Failure:
        import openai

        try:
            async with asyncio.timeout(self._settings.timeout_s):
                answer = await client.embeddings.create(
                    model=self._settings.model.strip(),
                    input=batch,
                    encoding_format="float",  # the client's default, base64, is not known everywhere
                    dimensions=self._settings.dimensions or openai.omit,
                )
        except openai.APIError as error:
            return failure_of(error, self._place)
        except TimeoutError:
            return timed_out(self._place)
        except (ValueError, TypeError, OverflowError):  # a body that says it is JSON and is not, or odd numbers
            return Failure(ModelBadAnswer(f"{self._place.host} gave an answer that cannot be read"), transient=True)
        try:
            return self._read(answer, len(batch))
        except ModelBadAnswer as bad:
            return Failure(bad)

    def _read(self, answer: Any, count: int) -> Floats:
        """The vectors in the order of the texts. Fields are of any type: `openai` does not validate what it receives."""
        items = getattr(answer, "data", None)
        if not isinstance(items, list) or len(items) != count:
            got = f"{len(items)} vectors" if isinstance(items, list) else "no vectors"
            raise ModelBadAnswer(f"{self._place.host} gave {got} for {count} texts: is embedding.base_url right?")
        by_text = {getattr(item, "index", None): getattr(item, "embedding", None) for item in items}
        try:
            vectors = np.array([by_text[number] for number in range(count)], np.float64)
        except (KeyError, ValueError, TypeError, OverflowError) as exc:
            raise ModelBadAnswer(f"{self._place.host} gave vectors that cannot be read") from exc
        if vectors.ndim != 2 or not vectors.size:
            raise ModelBadAnswer(f"{self._place.host} gave vectors that cannot be read")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise ModelBadAnswer(f"{self._place.host} gave a vector of {self._place.model} that is zero or not finite")
        self._settle_dimension(vectors.shape[1])
        largest = np.abs(vectors).max(axis=1, keepdims=True)  # first, so that squares cannot overflow
        return unit((vectors / largest).astype(np.float32))

    def _settle_dimension(self, got: int) -> None:
        if self._dimension and got != self._dimension:
            asked = "embedding.dimensions asks for" if self._settings.dimensions else "earlier answers had"
            raise ModelBadAnswer(f"{self._place.host} gave vectors of {got} numbers where {asked} {self._dimension}")
        self._dimension = got

    def _wait_s(self, attempt: int, failure: Failure, patience: Patience) -> float | None:
        """Seconds before the next attempt; None: no further one."""
        if not failure.transient or attempt >= patience.attempts:
            return None
        if failure.wait_s is not None:
            return failure.wait_s if failure.wait_s <= patience.longest_wait_s else None
        back_off_s = min(BACK_OFF_S * 2.0 ** (attempt - 1), patience.longest_wait_s)
        return back_off_s * self._rng.uniform(0.75, 1.25)

    async def _opened(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_connected, self._settings)
            return self._client


def problem_of(settings: EmbeddingSettings) -> str | None:
    """Why no text can be embedded with these settings, with what to set; None where one can."""
    key = settings.api_key.strip()
    if _host(settings.base_url) is None:
        return "no embedding endpoint is set: write embedding.base_url as https://host/v1, or take provider local"
    if not settings.model.strip():
        return "no embedding model is named: set embedding.model"
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        return "embedding.api_key (or VAULTD_EMBEDDING_API_KEY) holds characters that no key has: copy it again"
    return None


def _host(base_url: str) -> str | None:
    """The host of a web address, without the password that it may carry; None for anything else."""
    try:
        parts = urlsplit(base_url.strip())
    except ValueError:
        return None
    return parts.netloc.rpartition("@")[2] or None if parts.scheme in ("http", "https") else None


def _connected(settings: EmbeddingSettings) -> AsyncOpenAI:
    import httpx2
    import openai

    timeout = httpx2.Timeout(settings.timeout_s, connect=min(CONNECT_TIMEOUT_S, settings.timeout_s))
    client = openai.AsyncOpenAI(
        api_key=settings.api_key.strip() or "none",
        admin_api_key="",
        base_url=settings.base_url.strip(),
        max_retries=0,
        timeout=timeout,
        # a redirect would send a memory to a host that nobody configured
        http_client=httpx2.AsyncClient(timeout=timeout, follow_redirects=False),
    )
    # Variables such as OPENAI_ORG_ID or OPENAI_CUSTOM_HEADERS are meant for another endpoint than ours.
    client.organization = client.project = None
    client._custom_headers = {"User-Agent": "vaultd"}
    _ = client.embeddings  # imported at first use; here it does not block the loop
    return client
