"""The analyst behind any OpenAI-compatible chat endpoint."""

from __future__ import annotations

import asyncio
import math
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vaultd.core.errors import ModelBadAnswer, ModelError
from vaultd.core.text import clean_text, estimate_tokens, strip_wikilinks
from vaultd.llm.analyst import Annotation, Piece, Turn
from vaultd.llm.answers import (
    ANNOTATION_SCHEMA,
    SPLIT_SCHEMA,
    TEXT_SCHEMA,
    read_annotation,
    read_drafts,
    read_text,
)
from vaultd.llm.condense_cache import CondenseCache, condense_key
from vaultd.llm.dialect import Question
from vaultd.llm.endpoint import ChatEndpoint
from vaultd.llm.parts import chunks, excerpt, head, name_from, sentences, share_covered, words_of
from vaultd.llm.pieces import pieces_of
from vaultd.llm.prompt import Language, Prompt, Task, fenced, language_of, prompt_for
from vaultd.llm.redact import Redaction, masks_in, strip_private, without_masks
from vaultd.settings import ChatModelSettings

if TYPE_CHECKING:
    from vaultd.llm.budget import RequestBudget

# What a model is shown in one request, in characters; the tools' descriptions promise those of merge, split and condense.
ANNOTATE_LIMIT: Final = 3_000
MERGE_LIMIT: Final = 2_000  # of each side
SPLIT_LIMIT: Final = 5_000
CONDENSE_LIMIT: Final = 3_000
SUMMARISE_LIMIT: Final = 8_000

KEPT_FROM: Final = 0.35  # share of each side's words that a merged text must have
MOST_ROOM_TOKENS: Final = 8_000  # longest answer that is asked for beyond the setting; many endpoints end at 8,192
_ROOM_SHORT_TOKENS: Final = 400
_ROOM_A_PIECE_TOKENS: Final = 250

_ROLES: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.ZH: {"user": "用户", "assistant": "助手"},
    Language.EN: {"user": "user", "assistant": "assistant"},
}
_WEEKDAYS_ZH: Final = "一二三四五六日"


class ChatAnalyst:
    """`Analyst` over a chat model. Every call raises ModelError where it cannot be done, and nothing else.

    Without a configured endpoint `available` is False and every call raises ModelUnavailable, which says what to set.
    """

    def __init__(
        self,
        settings: ChatModelSettings,
        *,
        budget: RequestBudget,
        cache: CondenseCache,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._open = partial(ChatEndpoint, budget=budget, rng=rng, sleep=sleep, monotonic=monotonic)
        self._endpoint = self._open(settings)
        self._left: list[ChatEndpoint] = []

    def use(self, settings: ChatModelSettings) -> None:
        """Ask another endpoint, or the same in another way, from the next question on."""
        if settings != self._settings:
            self._left.append(self._endpoint)  # questions under way still need it
            self._settings, self._endpoint = settings, self._open(settings)

    @property
    def available(self) -> bool:
        """Whether an endpoint is configured; whether it answers is seen when it is asked."""
        return self._endpoint.problem is None

    @property
    def problem(self) -> str | None:
        """Why the analyst is not available, with what to set; None where it is."""
        return self._endpoint.problem

    async def models(self) -> tuple[str, ...]:
        """The names of the models that the endpoint offers."""
        return await self._endpoint.models()

    async def annotate(self, text: str) -> Annotation:
        """Name, domains, emotion and tags of a text; of a long one its start and its end are read."""
        redaction = await _redacted(text)
        shown, _ = excerpt(redaction.masked[0], ANNOTATE_LIMIT)
        language = language_of(shown)
        question = _question(Task.ANNOTATE, language, {"": shown}, ANNOTATION_SCHEMA)
        annotation = await self._endpoint.ask(question, lambda answer: read_annotation(answer, language))
        return annotation if annotation.name else replace(annotation, name=name_from(without_masks(shown)))

    async def merge(self, old: str, new: str) -> str:
        """One text of both. The model rewrites the first 2,000 characters of each; what is beyond follows unchanged.

        Private parts of `new` are left out; those of `old`, which stand in the vault already, stay.
        """
        kept = strip_private(new)
        if not old.strip() or not kept.strip():
            return old if old.strip() else kept
        redaction = await _redacted(old, kept)
        (old_shown, old_rest), (new_shown, new_rest) = (head(masked, MERGE_LIMIT) for masked in redaction.masked)
        both = f"{old_shown}\n{new_shown}"
        question = _question(
            Task.MERGE, language_of(both), {"old": old_shown, "new": new_shown}, TEXT_SCHEMA, _room_tokens(both)
        )
        merged = await self._endpoint.ask(question, lambda answer: _read_merged(answer, old_shown, new_shown))
        parts = (merged, *_sentences_with_lost_masks(both, merged), old_rest, new_rest)
        whole = "\n\n".join(part.strip("\n").rstrip() for part in parts if part.strip())
        return redaction.restore(whole)

    async def split(self, text: str, now: datetime) -> tuple[Piece, ...]:
        """The memories in a text: 2–6 of each 5,000 characters, and one more for what the model leaves out.

        Private parts are left out. `now` must be aware: "yesterday" is reckoned from it.
        """
        redaction = await _redacted(strip_private(text))
        masked = redaction.masked[0]
        limit = _even_limit(len(masked), SPLIT_LIMIT)
        asked = [self._split_one(part, now) for part in chunks(masked, limit) if part.strip()]
        pieces = [piece for found in await _together(asked) for piece in found]
        return tuple(replace(piece, content=redaction.restore(piece.content)) for piece in pieces)

    async def condense(self, text: str) -> str:
        """The text in fewer words, for showing. Paid for once a text, model and prompt.

        Of a text over 3,000 characters the start and the end are read, and the answer says so.
        """
        open_text = strip_wikilinks(strip_private(text))
        if not open_text.strip():
            return ""
        redaction = await _redacted(open_text)
        shown, left_out = excerpt(redaction.masked[0], CONDENSE_LIMIT)
        prompt = prompt_for(Task.CONDENSE, language_of(shown))
        key = condense_key(open_text, model=self._settings.model, prompt_version=prompt.version)
        condensed = await asyncio.to_thread(self._cache.get, key)
        if condensed is None:
            question = _question(Task.CONDENSE, prompt.language, {"": shown}, TEXT_SCHEMA)
            condensed = await self._endpoint.ask(question, lambda answer: _read_condensed(answer, shown))
            await asyncio.to_thread(self._cache.put, key, condensed)
        return redaction.restore(condensed) + _left_out(prompt.language, len(open_text), left_out)

    async def summarise(self, turns: Sequence[Turn]) -> str:
        """What a conversation was about; a long one is read in parts of 8,000 characters, one after the other."""
        language = language_of("\n".join(turn.text for turn in turns))
        labels = _ROLES[language]
        said = (f"{labels[turn.role]}: {strip_private(turn.text).strip()}" for turn in turns if turn.role in labels)
        redaction = await _redacted("\n\n".join(said))
        summary = ""
        for part in chunks(redaction.masked[0], _even_limit(len(redaction.masked[0]), SUMMARISE_LIMIT)):
            material = {"before": summary, "": part} if summary else {"": part}
            question = _question(Task.SUMMARISE, language, material, TEXT_SCHEMA)
            summary = await self._endpoint.ask(question, partial(read_text, source=f"{summary}\n{part}"))
        return redaction.restore(summary)

    async def close(self) -> None:
        """Close connections and the cache."""
        for endpoint in (*self._left, self._endpoint):
            await endpoint.close()
        await asyncio.to_thread(self._cache.close)

    async def _split_one(self, part: str, now: datetime) -> tuple[Piece, ...]:
        units = sentences(part)
        language = language_of(part)
        numbered = "\n".join(f"[{number}] {unit.strip()}" for number, unit in enumerate(units, start=1))
        room = _ROOM_SHORT_TOKENS + 6 * _ROOM_A_PIECE_TOKENS
        question = _question(Task.SPLIT, language, {"": numbered}, SPLIT_SCHEMA, room, before=_present(language, now))
        drafts = await self._endpoint.ask(
            question, lambda answer: read_drafts(answer, language, count=len(units), now=now)
        )
        return pieces_of(units, drafts)


async def _redacted(*texts: str) -> Redaction:
    """Masks over texts of any length; a long one is searched in a thread."""
    cleaned = tuple(clean_text(text) for text in texts)
    if sum(map(len, cleaned)) < 20_000:
        return Redaction(*cleaned)
    return await asyncio.to_thread(Redaction, *cleaned)


def _question(
    task: Task,
    language: Language,
    texts: Mapping[str, str],
    schema: Mapping[str, Any],
    room_tokens: int = 0,
    *,
    before: str = "",
) -> Question:
    """A request whose texts stand in fences with a key that occurs in none of them."""
    prompt: Prompt = prompt_for(task, language)
    key = secrets.token_hex(8)
    while any(key in text for text in texts.values()):
        key = secrets.token_hex(8)
    fences = [fenced(text, key, label) for label, text in texts.items()]
    material = "\n\n".join([*([before] if before else []), *fences])
    return Question(str(task), prompt.system, material, schema, room_tokens)


def _room_tokens(text: str) -> int:
    """Room for an answer as long as the text."""
    return min(_ROOM_SHORT_TOKENS + math.ceil(estimate_tokens(text) * 1.1), MOST_ROOM_TOKENS)


def _even_limit(length: int, limit: int) -> int:
    """A limit that parts a text evenly, so that no short last part is read without its context."""
    count = math.ceil(length / limit)
    return limit if count <= 1 else min(limit, math.ceil(length / count * 1.2))


async def _together(asked: Sequence[Awaitable[tuple[Piece, ...]]]) -> list[tuple[Piece, ...]]:
    """All answers in order. The first failure ends the others."""

    async def one(answer: Awaitable[tuple[Piece, ...]]) -> tuple[Piece, ...]:
        return await answer

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(answer)) for answer in asked]
    except BaseExceptionGroup as failed:
        errors = [error for error in failed.exceptions if isinstance(error, ModelError)]
        if errors:
            raise errors[0] from None
        raise
    return [task.result() for task in tasks]


def _read_merged(answer: str, old: str, new: str) -> str:
    merged = read_text(answer, f"{old}\n{new}")
    words = words_of(merged)
    if min(share_covered(old, words), share_covered(new, words)) < KEPT_FROM:
        raise ModelBadAnswer("text: leaves out most of a side")
    return merged


def _read_condensed(answer: str, shown: str) -> str:
    condensed = read_text(answer, shown)
    return condensed if len(condensed) < len(shown) else shown.strip()


def _sentences_with_lost_masks(shown: str, answer: str) -> list[str]:
    """The sentences whose secret a rewriting dropped: nothing that a person wrote goes for want of a mask."""
    lost = masks_in(shown) - masks_in(answer)
    return [sentence for sentence in sentences(shown) if masks_in(sentence) & lost] if lost else []


def _left_out(language: Language, length: int, left_out: int) -> str:
    if not left_out:
        return ""
    if language is Language.ZH:
        return f"（全文 {length} 字，中间 {left_out} 字未读）"
    return f" ({length} characters in all; {left_out} in the middle were not read)"


def _present(language: Language, now: datetime) -> str:
    if language is Language.ZH:
        return f"现在：{now:%Y-%m-%d %H:%M}，星期{_WEEKDAYS_ZH[now.weekday()]}。"
    return f"The present: {now:%Y-%m-%d %H:%M}, a {now:%A}."
