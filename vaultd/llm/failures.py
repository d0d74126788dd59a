"""Turn what an endpoint refuses, and what the `openai` client raises, into our own errors: a line that says what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from vaultd.core.errors import ModelBadAnswer, ModelBusy, ModelError, ModelRefused, ModelTimedOut, ModelUnavailable
from vaultd.llm.redact import Redaction

if TYPE_CHECKING:
    import openai

LONGEST_QUOTE: Final = 200  # characters of an endpoint's own words
_NO_CREDIT: Final = ("insufficient_quota", "insufficient balance", "insufficient_balance", "billing_hard_limit")
_UNKNOWN_MODEL: Final = re.compile(
    r"model_not_found|(?:unknown|invalid|no such|unrecognized) model|models?\b.{0,120}?\b(?:not found|not exist|not a valid)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Whom a request goes to, in the words of messages: the endpoint's host, the model, where its settings are."""

    host: str
    model: str
    section: str = "llm"
    key_variable: str = "VAULTD_API_KEY"
    asked_for: str = "chat completions"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed request. `transient`: worth another try, after `wait_s` where the endpoint said how long."""

    error: ModelError
    transient: bool = False
    wait_s: float | None = None
    said: str = ""
    refused_request: bool = False
    unknown_model: bool = False


def failure_of(error: openai.APIError, place: Place) -> Failure:
    """What a foreign error means."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return timed_out(place)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code, _said(error), error.response.headers, place)
    if isinstance(error, openai.APIConnectionError):
        return unreachable(error.__cause__ or error, place)
    return Failure(ModelBadAnswer(f"{place.host} gave an answer that cannot be read: {_said(error)}"))


def failure_of_answer(status: int, body: str, headers: Mapping[str, str], place: Place) -> Failure:
    """What an answer means that is not a success."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    error = content.get("error", content) if isinstance(content, dict) else None
    if not isinstance(error, dict):
        error = {"message": error if isinstance(error, str) else body}
    message = error.get("message")
    text = f"{message if isinstance(message, str) else body} {error.get('code') or ''}"
    return _of_status(status, _quotable(text), headers, place)


def unreachable(why: BaseException, place: Place) -> Failure:
    """Nobody was there, or the connection broke."""
    message = f"cannot reach {place.host} ({type(why).__name__}): check the network, and {place.section}.base_url"
    return Failure(ModelUnavailable(message), transient=True)


def timed_out(place: Place) -> Failure:
    """No answer in time. Not tried again at once: the next one would most likely be as late."""
    return Failure(
        ModelTimedOut(f"{place.host} gave no answer in time: raise {place.section}.timeout_s, or try again later")
    )


def unknown_model(place: Place, offered: tuple[str, ...]) -> ModelUnavailable:
    """The error of a model that the endpoint has not, with those that it has."""
    shown = ", ".join(offered[:20]) + (f" and {len(offered) - 20} more" if len(offered) > 20 else "")
    hint = f"set {place.section}.model to one of: {shown}" if offered else f"set another {place.section}.model"
    return ModelUnavailable(f"{place.host} has no model {place.model!r}: {hint}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 §10.2.3).

    A date is read against the answer's own `Date`, so that a wrong clock on either side does no harm.
    """
    milliseconds, wait = headers.get("retry-after-ms"), headers.get("retry-after", "").strip()
    try:
        if milliseconds is not None:
            return max(float(milliseconds) / 1000, 0.0)
        if not wait or wait.replace(".", "", 1).isdigit():
            return float(wait) if wait else None
        until, now = parsedate_to_datetime(wait), parsedate_to_datetime(headers.get("date", ""))
        return max((until - now).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def _of_status(status: int, said: str, headers: Mapping[str, str], place: Place) -> Failure:
    words = said.lower()
    quoted = f": {said}" if said else ""
    if status == 402 or (status in (403, 429) and any(word in words for word in _NO_CREDIT)):
        return Failure(ModelRefused(f"{place.host} says that the account has no credit left ({status}){quoted}"))
    if status in (401, 403):
        return Failure(
            ModelRefused(
                f"{place.host} refused the key ({status}): set {place.key_variable} or {place.section}.api_key{quoted}"
            )
        )
    if status == 429:
        wait = retry_after_s(headers)
        return Failure(ModelBusy(f"{place.host} asks to wait (429){quoted}", wait), transient=True, wait_s=wait)
    if status in (400, 404, 422) and _UNKNOWN_MODEL.search(words):
        return Failure(unknown_model(place, ()), unknown_model=True)
    return _of_other_status(status, said, headers, place)


def _of_other_status(status: int, said: str, headers: Mapping[str, str], place: Place) -> Failure:
    quoted = f": {said}" if said else ""
    base_url = f"{place.section}.base_url"
    if status == 404:
        message = f"{place.host} has no {place.asked_for} at this address (404): check {base_url}, most end in /v1"
        return Failure(ModelUnavailable(message))
    if 300 <= status < 400:
        target = headers.get("location", "elsewhere")
        return Failure(ModelUnavailable(f"{place.host} redirects to {target}: set {base_url} to where it leads"))
    if status >= 500 or status in (408, 409, 425):
        message = f"{place.host} failed ({status}); it is asked again later{quoted}"
        return Failure(ModelUnavailable(message), transient=True, wait_s=retry_after_s(headers))
    message = f"{place.host} did not take the request ({status}){quoted}"
    return Failure(ModelBadAnswer(message), said=said, refused_request=status in (400, 422))


def _said(error: openai.APIError) -> str:
    """The endpoint's own words."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return _quotable(f"{message if isinstance(message, str) else error.message} {error.code or ''}")


def _quotable(text: str) -> str:
    """An endpoint's words in one line, without a key that it may echo, and without HTML."""
    if "<html" in text.lower() or "<!doctype" in text.lower():
        return ""
    return " ".join(Redaction(text).masked[0].split())[:LONGEST_QUOTE]
