"""Embeddings from any OpenAI-compatible endpoint.

By plain HTTP: the `openai` client costs a second of processor time to import, and a start would wait for it. Requests
run on an event loop in a thread of their own: that is what bounds the time of a whole answer, however slowly it drips in.
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
from vaultd.llm.failures import Failure, Place, failure_of_answer, timed_out, unreachable
from vaultd.settings import EmbeddingSettings

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

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
        self._client: AsyncClient | None = None
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
        """Nothing: there is nothing to make ready."""

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
            await self._client.aclose()

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

    async def _attempted(self, client: AsyncClient, batch: list[str]) -> Floats | Failure:
        import httpx2

        asked: dict[str, object] = {
            "model": self._settings.model.strip(),
            "input": batch,
            "encoding_format": "float",  # base64 is not known everywhere
        }
        if self._settings.dimensions:
            asked["dimensions"] = self._settings.dimensions
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                answer = await client.post("embeddings", json=asked)
        except (httpx2.TimeoutException, TimeoutError):
            return timed_out(self._place)
        except httpx2.HTTPError as error:
            return unreachable(error, self._place)
        if not answer.is_success:
            return failure_of_answer(answer.status_code, answer.text, answer.headers, self._place)
        try:
            return self._read(_items_of(answer), len(batch))
        except (ValueError, TypeError, OverflowError, RecursionError):  # it says it is JSON and is not, or odd numbers
            return Failure(ModelBadAnswer(f"{self._place.host} gave an answer that cannot be read"), transient=True)
        except ModelBadAnswer as bad:
            return Failure(bad)

    def _read(self, items: list[Any] | None, count: int) -> Floats:
        """The vectors in the order of the texts."""
        if items is None or len(items) != count:
            got = "no vectors" if items is None else f"{len(items)} vectors"
            raise ModelBadAnswer(f"{self._place.host} gave {got} for {count} texts: is embedding.base_url right?")
        known = [item for item in items if isinstance(item, dict)]
        by_text = {item.get("index"): item.get("embedding") for item in known}
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

    async def _opened(self) -> AsyncClient:
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


def _items_of(answer: Response) -> list[Any] | None:
    """What the answer lists; None where it is no list of anything. Raises ValueError where it is not the JSON it says."""
    if "json" not in answer.headers.get("content-type", "json"):
        return None
    content = answer.json()
    items = content.get("data") if isinstance(content, dict) else None
    return items if isinstance(items, list) else None


def _connected(settings: EmbeddingSettings) -> AsyncClient:
    import httpx2

    try:
        return httpx2.AsyncClient(
            base_url=settings.base_url.strip(),
            headers={"Authorization": f"Bearer {settings.api_key.strip() or 'none'}", "User-Agent": "vaultd"},
            timeout=httpx2.Timeout(settings.timeout_s, connect=min(CONNECT_TIMEOUT_S, settings.timeout_s)),
            follow_redirects=False,  # a redirect would send a memory to a host that nobody configured
        )
    except httpx2.InvalidURL as exc:
        raise ModelUnavailable(f"embedding.base_url {settings.base_url!r} is no web address") from exc
