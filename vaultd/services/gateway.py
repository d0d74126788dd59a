"""A chat turn: recall, inject, pass on; afterwards judge what was used, and keep the conversation."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from vaultd.core.card import Intent
from vaultd.core.errors import BadInput, ModelUnavailable, VaultdError
from vaultd.llm.upstream import Headers, Target, Upstream, UpstreamAnswer, target_of
from vaultd.scoring.constants import INJECTED_LIMIT
from vaultd.services.cardrecall import CardHit, CardQuery, CardRecall
from vaultd.services.cards import Cards
from vaultd.services.conversations import CONVERSATION_ID, Conversations, Exchange, Said
from vaultd.services.injection import block_of, with_block
from vaultd.services.meaning import Meaning
from vaultd.services.replies import ReplyReader, text_of
from vaultd.settings import Settings

log = logging.getLogger(__name__)

SHORTEST_REPLY: Final = 20  # characters; a shorter reply says too little to be compared with cards
REPLY_PATIENCE_S: Final = 20.0  # nobody waits for what comes after a reply
CONVERSATIONS_KNOWN: Final = 4_096
_UNSCOPED: Final = ""

Passed: TypeAlias = UpstreamAnswer
"""The upstream's answer on its way: status, headers, and the body in chunks."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asks of us beside the chat itself. `sight` is the scope of its credential."""

    sight: str | None = None
    conversation_id: str = ""
    scope: str | None = None
    max_memories: int | None = None
    intent: Intent | None = None
    save: bool = True


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A chat on its way: the bytes to pass on, and what is to be judged and kept after the reply."""

    target: Target
    body: bytes
    conversation_id: str
    sight: str | None
    scope: str
    message: str
    model: str
    injected: tuple[CardHit, ...] = ()
    intent: Intent | None = None
    streamed: bool = False
    save: bool = True
    again: bool = False
    begun: datetime | None = None
    trail: str = ""
    answers_tools: bool = field(default=False)


class Gateway:
    """Chats between clients and the upstream. Raises BadInput, ModelError."""

    def __init__(
        self,
        upstream: Upstream,
        recall: CardRecall,
        cards: Cards,
        meaning: Meaning,
        conversations: Conversations,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._upstream = upstream
        self._recall = recall
        self._cards = cards
        self._meaning = meaning
        self._conversations = conversations
        self._settings = settings
        self._clock = clock
        self._known: OrderedDict[str, str] = OrderedDict()
        self._after: set[asyncio.Task[None]] = set()

    def problem(self) -> str:
        """Why chats can't be passed on; "" where they can."""
        try:
            target_of(self._settings())
        except ModelUnavailable as exc:
            return str(exc)
        return ""

    # -- before ---------------------------------------------------------------------------------------------------

    async def prepare(self, raw: bytes, wish: Wish) -> ChatTurn:
        """Recall for the last user message, and put what is worth a place into the system prompt.

        A body that is no chat is passed on as it is: what is wrong with it, the upstream says.
        """
        settings = self._settings()
        target = target_of(settings)
        sight = _sight(wish)
        body = _chat(raw)
        messages = body.get("messages") if body is not None else None
        if body is None or not isinstance(messages, list):
            return ChatTurn(target, raw, "", sight, sight or _UNSCOPED, "", "", save=False)
        message = _last_user_text(messages)
        sight = await self._sight_in(wish.conversation_id, sight)
        conversation_id, again = self._conversation(messages, wish, sight)
        limit = settings.cards.max_injected if wish.max_memories is None else wish.max_memories
        injected: tuple[CardHit, ...] = ()
        intent = wish.intent
        changes: dict[str, Any] = {}
        if message and limit > 0:
            query = CardQuery(message, sight, None, conversation_id, "", wish.intent, limit, kept_only=True)
            found = await self._recall(query)
            intent = found.intent
            block, injected = block_of(found.kept, message, max_tokens=settings.gateway.max_injected_tokens)
            if block:
                changes["messages"] = with_block(messages, block)
        if not body.get("model") and target.model:
            changes["model"] = target.model
        # escapes keep what is no whole character as it came
        passed = raw if not changes else json.dumps({**body, **changes}).encode("ascii")
        return ChatTurn(
            target=target,
            body=passed,
            conversation_id=conversation_id,
            sight=sight,
            scope=sight or _UNSCOPED,
            message=message,
            model=str({**body, **changes}.get("model") or ""),
            injected=injected,
            intent=intent,
            streamed=body.get("stream") is True,
            save=wish.save and settings.gateway.save_conversations,
            again=again,
            begun=self._clock(),
            trail=_trail(messages),
            answers_tools=_is_role(messages[-1] if messages else None, "tool"),
        )

    async def _sight_in(self, conversation_id: str, sight: str | None) -> str | None:
        """The scope to act in: a conversation that is kept goes on in the scope that it was held in."""
        if not conversation_id:
            return sight
        if CONVERSATION_ID.fullmatch(conversation_id) is None:
            raise BadInput("X-Vaultd-Conversation: letters, digits, - and _, at most 64, are allowed")
        held = await self._conversations.scope_of(conversation_id)
        if sight is None:
            return held or None
        if held not in (None, sight):
            raise BadInput("X-Vaultd-Conversation: this conversation belongs to another scope")
        return sight

    def _conversation(self, messages: Sequence[Any], wish: Wish, sight: str | None) -> tuple[str, bool]:
        """The conversation that a chat belongs to, and whether its last message was answered before.

        Without a name it is found by what was said so far: a reply is remembered under all that led to it.
        """
        again = self._known.get(f"{sight}/{_trail(messages)}")
        if wish.conversation_id:
            return wish.conversation_id, again == wish.conversation_id
        if again is not None and _said_before(messages):
            return again, True
        known = self._known.get(f"{sight}/{_trail(_before_last_user(messages))}") if _said_before(messages) else None
        return known or f"{self._clock():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}", False

    # -- on the way -----------------------------------------------------------------------------------------------

    def ask(self, turn: ChatTurn, headers: Headers) -> AbstractAsyncContextManager[Passed]:
        """Pass a chat on; leaving the context early cancels it upstream."""
        timeout_s = self._settings().gateway.timeout_s
        return self._upstream.ask(turn.target, "POST", "/chat/completions", headers, turn.body, timeout_s=timeout_s)

    def models(self, headers: Headers) -> AbstractAsyncContextManager[Passed]:
        """The upstream's list of models."""
        settings = self._settings()
        return self._upstream.ask(
            target_of(settings), "GET", "/models", headers, b"", timeout_s=min(settings.gateway.timeout_s, 60.0)
        )

    # -- after ----------------------------------------------------------------------------------------------------

    def finished(self, turn: ChatTurn, reply: ReplyReader, *, aborted: bool) -> None:
        """The reply has gone by, whole or as far as it came. Returns at once; what follows goes on by itself."""
        if not turn.conversation_id:
            return
        task = asyncio.get_running_loop().create_task(self._afterwards(turn, reply, aborted=aborted))
        self._after.add(task)
        task.add_done_callback(self._after.discard)

    async def settled(self) -> None:
        """Returns when everything that follows a reply is done."""
        while self._after:
            await asyncio.gather(*self._after)

    async def close(self) -> None:
        """Finish what follows replies, within a second, and let go of connections."""
        if self._after:
            await asyncio.wait(self._after, timeout=1.0)
        for task in self._after:
            task.cancel()
        await self._upstream.close()

    async def _afterwards(self, turn: ChatTurn, reply: ReplyReader, *, aborted: bool) -> None:
        try:
            reply.end()
            if reply.text:
                self._remember_place(turn, reply.text)
            await self._judge(turn, "\n\n".join(reply.texts))
            if turn.save and turn.message and reply.text:
                await self._keep(turn, reply.text, aborted=aborted)
        except VaultdError as exc:
            log.warning("after a chat: %s", exc)

    def _remember_place(self, turn: ChatTurn, text: str) -> None:
        for trail in (turn.trail, _further(turn.trail, "assistant", text)):
            self._known[f"{turn.sight}/{trail}"] = turn.conversation_id
            self._known.move_to_end(f"{turn.sight}/{trail}")
        while len(self._known) > CONVERSATIONS_KNOWN:
            self._known.popitem(last=False)

    async def _judge(self, turn: ChatTurn, text: str) -> None:
        """Count a use of each injected card that the reply is close to: injecting is not using."""
        if not turn.injected or len(text.strip()) < SHORTEST_REPLY:
            return
        vector = await self._meaning.of_passage(text, patience_s=REPLY_PATIENCE_S)
        if vector is None:
            log.info("[REF] no embedding of the reply: %s", self._meaning.problem or "no model")
            return
        alike = self._recall.similarities(vector, [hit.view.card.id for hit in turn.injected])
        threshold = self._settings().cards.used_similarity
        used = {card_id: similarity for card_id, similarity in alike.items() if similarity >= threshold}
        if not used:
            log.info("[REF] no cards above threshold")
            return
        for card_id, similarity in used.items():
            log.info("[REF] auto ref: %s cosine=%.4f", card_id, similarity)
        self._cards.used(used, turn.sight)

    async def _keep(self, turn: ChatTurn, text: str, *, aborted: bool) -> None:
        pairs = tuple((hit.view.card.id, "、".join(hit.view.card.topic)) for hit in turn.injected)
        begun = turn.begun or self._clock()
        user = Said("user", begun, turn.message, pairs)
        reply = Said("assistant", self._clock(), text, aborted=aborted)
        await self._conversations.keep(
            Exchange(turn.conversation_id, turn.scope, turn.model, user, reply, again=turn.again or turn.answers_tools)
        )


def wish_of(headers: Mapping[str, str], sight: str | None) -> Wish:
    """What a client's headers ask for. Raises BadInput."""
    number = headers.get("x-vaultd-max-memories", "").strip()
    if number and not (number.isdecimal() and int(number) <= INJECTED_LIMIT):
        raise BadInput(f"X-Vaultd-Max-Memories: must be a whole number from 0 to {INJECTED_LIMIT}")
    name = headers.get("x-vaultd-intent", "").strip()
    if name and name not in set(Intent):
        raise BadInput(f"X-Vaultd-Intent: {name!r} is not one of {', '.join(Intent)}")
    return Wish(
        sight=sight,
        conversation_id=headers.get("x-vaultd-conversation", "").strip(),
        scope=headers.get("x-vaultd-scope"),
        max_memories=int(number) if number else None,
        intent=Intent(name) if name else None,
        save=headers.get("x-vaultd-save", "").strip().lower() not in ("0", "false", "no"),
    )


def _sight(wish: Wish) -> str | None:
    """The scope to act in. A credential that carries one can't ask for another."""
    asked = None if wish.scope is None else wish.scope.strip()
    if wish.sight is not None:
        if asked not in (None, wish.sight):
            raise BadInput("X-Vaultd-Scope: this token carries another scope")
        return wish.sight
    return asked


def _chat(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_role(message: Any, role: str) -> bool:
    return isinstance(message, dict) and message.get("role") == role


def _last_user_text(messages: Sequence[Any]) -> str:
    for message in reversed(messages):
        if _is_role(message, "user"):
            return text_of(message.get("content")).strip()
    return ""


def _before_last_user(messages: Sequence[Any]) -> Sequence[Any]:
    """What was said before the last message of the person."""
    for place in range(len(messages) - 1, -1, -1):
        if _is_role(messages[place], "user"):
            return messages[:place]
    return ()


def _said_before(messages: Sequence[Any]) -> bool:
    """Whether anybody but the system spoke before the last message of the person."""
    return any(_is_role(message, "assistant") for message in _before_last_user(messages))


def _trail(messages: Sequence[Any]) -> str:
    """A hash of what was said, step by step; the system prompt, which clients change as they go, is left out."""
    trail = ""
    for message in messages:
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            text = text_of(message.get("content")).strip()
            if text:
                trail = _further(trail, str(message["role"]), text)
    return trail


def _further(trail: str, role: str, text: str) -> str:
    raw = f"{trail}\0{role}\0{text.strip()}".encode("utf-8", "replace")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
