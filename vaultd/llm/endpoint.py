"""One OpenAI-compatible chat endpoint: asks, retries, waits, keeps to the daily cap, asks once more after a bad answer.

`openai` costs a second of CPU to import, so that happens at the first question, in a worker thread.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from vaultd.core.errors import ModelBadAnswer, ModelBusy, ModelError, ModelRefused, ModelTimedOut, ModelUnavailable
from vaultd.core.text import clean_text, estimate_tokens
from vaultd.llm import spend
from vaultd.llm.dialect import Dialect, Question
from vaultd.llm.failures import Failure, Place, failure_of, timed_out, unknown_model
from vaultd.settings import ChatModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from vaultd.llm.budget import RequestBudget

T = TypeVar("T")
log = logging.getLogger(__name__)

ATTEMPTS: Final = 3  # of one request, the first one included
BACK_OFF_S: Final = 0.5  # before the second attempt; doubled before each further one, ± a quarter
LONGEST_WAIT_S: Final = 20.0  # an endpoint that asks to wait longer is not waited for
CONNECT_TIMEOUT_S: Final = 5.0
AT_ONCE: Final = 4  # requests under way at the same time
LONGEST_REST_S: Final = 300.0
REST_S: Final = {ModelTimedOut: 30.0, ModelRefused: 30.0, ModelBusy: 5.0, ModelUnavailable: 5.0}

NOT_CONFIGURED: Final = (
    "no chat model is configured: set VAULTD_API_KEY (or llm.api_key), "
    "or llm.base_url for an endpoint without a key such as http://localhost:11434/v1"
)
NO_ADDRESS: Final = "llm.base_url {!r} is no address: write it as https://host/v1"


@dataclass(frozen=True, slots=True)
class _Rest:
    """After a failure the endpoint is left alone for a while; calls meanwhile fail at once with the same error."""

    error: ModelError
    until: float


class ChatEndpoint:
    """Asks an endpoint questions. Raises ModelError and nothing else.

    After an endpoint did not answer, further questions fail at once for 5 s (30 s after a timeout or a refused key), so
    that twenty texts do not wait for one dead endpoint twenty times.
    """

    def __init__(
        self,
        settings: ChatModelSettings,
        *,
        budget: RequestBudget,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._rng = rng
        self._sleep = sleep
        self._monotonic = monotonic
        self._place = Place(host=_host(settings.base_url), model=settings.model)
        self._dialect = Dialect()
        self._dialect_works = False
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._rest: _Rest | None = None

    @property
    def problem(self) -> str | None:
        """Why no question can be asked, with what to set; None where one can."""
        return _problem_of(self._settings)

    async def ask(self, question: Question, read: Callable[[str], T]) -> T:
        """The endpoint's answer as `read` understands it; where that raises ModelBadAnswer, it is asked once more."""
        self._refuse_while_resting()
        async with self._slots:
            client = await self._opened()
            answer, dialect = await self._completed(client, question, self._dialect)
            try:
                value = read(answer)
            except ModelBadAnswer as bad:
                log.info("%s of %s: %s; asked again", question.task, self._place.model, bad)
                answer, dialect = await self._completed(client, _again(question, bad), self._plainer(dialect))
                value = self._read_at_last(answer, read)
            self._dialect, self._dialect_works = dialect, True
            return value

    async def models(self) -> tuple[str, ...]:
        """The names of the models that the endpoint offers, sorted. Raises ModelError."""
        import openai

        client = await self._opened()
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                page = await client.models.list()
        except openai.APIError as error:
            raise failure_of(error, self._place).error from error
        except TimeoutError as error:
            raise timed_out(self._place).error from error
        except ValueError as error:
            raise ModelBadAnswer(f"{self._place.host} gave no list of models") from error
        names = (getattr(model, "id", None) for model in getattr(page, "data", None) or ())
        return tuple(sorted(name for name in names if isinstance(name, str)))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _opened(self) -> AsyncOpenAI:
        problem = self.problem
        if problem is not None:
            raise ModelUnavailable(problem)
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_connected, self._settings)
            return self._client

    async def _completed(self, client: AsyncOpenAI, question: Question, dialect: Dialect) -> tuple[str, Dialect]:
        """The text of an answer, and the dialect that brought it."""
        attempt = 1
        while True:
            await asyncio.to_thread(self._budget.spend)
            spend.note(requests=1)
            outcome = await self._attempted(client, question, dialect)
            if isinstance(outcome, str):
                return outcome, dialect
            other = dialect.after_refusal(outcome.said, fixed=self._dialect_works) if outcome.refused_request else None
            if other is not None:
                dialect = other
                continue
            wait_s = self._wait_s(attempt, outcome)
            if wait_s is None:
                raise await self._given_up(client, outcome)
            await self._sleep(wait_s)
            attempt += 1

    async def _attempted(self, client: AsyncOpenAI, question: Question, dialect: Dialect) -> str | Failure:
        import openai

        try:
            async with asyncio.timeout(self._settings.timeout_s):
                completion = await client.chat.completions.create(**dialect.request(question, self._settings))
        except openai.APIError as error:
            return failure_of(error, self._place)
        except TimeoutError:
            return timed_out(self._place)
        except ValueError:  # a body that says it is JSON and is not
            return Failure(ModelBadAnswer(f"{self._place.host} gave an answer that is not JSON"), transient=True)
        text = self._text_of(completion, dialect.limit_tokens(question, self._settings))
        _note_tokens(completion, question, text)
        return text

    def _text_of(self, completion: Any, limit_tokens: int) -> str | Failure:
        """The text of the first choice. Fields are of any type: `openai` does not validate what it receives."""
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list) or not choices:
            return Failure(
                ModelBadAnswer(f"{self._place.host} gave no answer: is {self._place.section}.base_url right?")
            )
        choice = choices[0]
        ended = getattr(choice, "finish_reason", None)
        if ended == "length":
            message = f"the answer was cut at {limit_tokens} tokens: raise {self._place.section}.max_tokens"
            return Failure(ModelBadAnswer(message))
        if ended == "content_filter":
            return Failure(ModelBadAnswer(f"{self._place.host} withheld its answer (content filter)"))
        if ended is None:
            return Failure(ModelBadAnswer(f"{self._place.host} broke off its answer"), transient=True)
        content = getattr(getattr(choice, "message", None), "content", None)
        return clean_text(content) if isinstance(content, str) else ""

    def _read_at_last(self, answer: str, read: Callable[[str], T]) -> T:
        try:
            return read(answer)
        except ModelBadAnswer as bad:
            raise ModelBadAnswer(f"{self._place.model} gave two answers that cannot be used: {bad}") from bad

    def _plainer(self, dialect: Dialect) -> Dialect:
        """For the second question: an endpoint whose first answer ever was no JSON may not know this way of asking."""
        return dialect if self._dialect_works else dialect.plainer() or dialect

    def _wait_s(self, attempt: int, failure: Failure) -> float | None:
        """Seconds before the next attempt; None: no further one."""
        if not failure.transient or attempt >= ATTEMPTS:
            return None
        if failure.wait_s is not None:
            return failure.wait_s if failure.wait_s <= LONGEST_WAIT_S else None
        return BACK_OFF_S * 2.0 ** (attempt - 1) * self._rng.uniform(0.75, 1.25)

    async def _given_up(self, client: AsyncOpenAI, failure: Failure) -> ModelError:
        error = failure.error
        if failure.unknown_model:
            error = unknown_model(self._place, await self._offered())
        rest_s = next((seconds for kind, seconds in REST_S.items() if isinstance(error, kind)), 0.0)
        if isinstance(error, ModelBusy) and error.retry_after_s is not None:
            rest_s = min(error.retry_after_s, LONGEST_REST_S)
        if rest_s:
            self._rest = _Rest(error, self._monotonic() + rest_s)
        return error

    async def _offered(self) -> tuple[str, ...]:
        try:
            return await self.models()
        except ModelError:
            return ()

    def _refuse_while_resting(self) -> None:
        if self._rest is None:
            return
        left_s = self._rest.until - self._monotonic()
        if left_s <= 0:
            self._rest = None
            return
        if isinstance(self._rest.error, ModelBusy):
            raise ModelBusy(str(self._rest.error), left_s)
        raise type(self._rest.error)(str(self._rest.error))


def _connected(settings: ChatModelSettings) -> AsyncOpenAI:
    import httpx2
    import openai

    try:
        base_url = httpx2.URL(settings.base_url.strip())
    except httpx2.InvalidURL as error:
        raise ModelUnavailable(NO_ADDRESS.format(settings.base_url)) from error
    timeout = httpx2.Timeout(settings.timeout_s, connect=min(CONNECT_TIMEOUT_S, settings.timeout_s))
    client = openai.AsyncOpenAI(
        api_key=settings.api_key.strip() or "none",
        admin_api_key="",
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        # a redirect would send a memory to a host that nobody configured
        http_client=httpx2.AsyncClient(timeout=timeout, follow_redirects=False),
    )
    # Variables such as OPENAI_ORG_ID or OPENAI_CUSTOM_HEADERS are meant for another endpoint than ours.
    client.organization = client.project = None
    client._custom_headers = {"User-Agent": "vaultd"}
    _ = client.chat.completions, client.models  # imported at first use; here it does not block the loop
    return client


def _note_tokens(completion: Any, question: Question, answer: str | Failure) -> None:
    """Count what an answer cost, as the endpoint says; where it does not, by the texts."""
    usage = getattr(completion, "usage", None)
    sent, came = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if not isinstance(sent, int) or not isinstance(came, int):
        sent = estimate_tokens(f"{question.system}\n{question.material}")
        came = estimate_tokens(answer) if isinstance(answer, str) else 0
    spend.note(tokens_in=max(sent, 0), tokens_out=max(came, 0))


def _again(question: Question, bad: ModelBadAnswer) -> Question:
    return replace(
        question,
        material=f"{question.material}\n\nThe last answer could not be used ({bad}). Answer with the JSON object alone.",
    )


def _host(base_url: str) -> str:
    """The host of an address, without the password that it may carry."""
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        return "the endpoint"
    return f"{parts.hostname or 'the endpoint'}{'' if port is None else f':{port}'}"


def _is_address(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url.strip())
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _problem_of(settings: ChatModelSettings) -> str | None:
    key = settings.api_key.strip()
    if not settings.configured:
        return NOT_CONFIGURED
    if not settings.model.strip():
        return "no chat model is named: set llm.model; `vaultd config models` lists what the endpoint offers"
    if not _is_address(settings.base_url):
        return NO_ADDRESS.format(settings.base_url)
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        return "llm.api_key (or VAULTD_API_KEY) holds characters that no key has: copy it again"
    return None
