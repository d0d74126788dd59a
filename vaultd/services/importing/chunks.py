"""Conversations cut into chunks of about 10,000 tokens, by whole turns, each with its dates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from vaultd.core.text import estimate_tokens, share_of_cjk
from vaultd.llm.parts import head
from vaultd.services.importing.turns import Conversation, Format, Speaker, Turn

CHUNK_TOKENS: Final = 10_000
CHUNK_CHARACTERS: Final = 60_000  # texts without words, such as encoded files, count few tokens
NOTE_TOKENS: Final = 150_000  # of a note that holds a whole conversation; a longer one is continued in the next
NOTE_CHARACTERS: Final = 400_000
LABEL_TOKENS: Final = 8  # of who speaks and when

_CHINESE_FROM: Final = 0.3  # share of CJK characters
_LABELS: Final[Mapping[bool, Mapping[Speaker, str]]] = {
    True: {Speaker.USER: "用户", Speaker.ASSISTANT: "助手"},
    False: {Speaker.USER: "User", Speaker.ASSISTANT: "Assistant"},
}
_DOCUMENTS: Final = frozenset((Format.MARKDOWN, Format.TEXT))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of turns as text. `part` counts from 1 within the conversation; `started` and `ended` are its own dates."""

    text: str
    part: int
    turns: int
    tokens: int
    started: datetime | None
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A turn, or a part of a long one."""

    turn: Turn
    text: str
    tokens: int


def chunks_of(
    conversation: Conversation, *, most_tokens: int = CHUNK_TOKENS, most_characters: int = CHUNK_CHARACTERS
) -> Iterator[Chunk]:
    """The chunks of a conversation, in order; together they hold every turn.

    A question whose answer would begin the next chunk goes with its answer. A turn that is longer than a chunk is cut
    at a paragraph, a line or a sentence.
    """
    plain = _is_document(conversation)
    gathered: list[_Piece] = []
    tokens = characters = part = 0
    for piece in _pieces(conversation.turns, most_tokens, most_characters):
        too_much = tokens + piece.tokens > most_tokens or characters + len(piece.text) > most_characters
        if gathered and too_much:
            moved = _question(gathered, piece, most_tokens, most_characters)
            part += 1
            yield _chunk(gathered[: len(gathered) - len(moved)], part, plain=plain)
            gathered = moved
            tokens = sum(one.tokens for one in moved)
            characters = sum(len(one.text) for one in moved)
        gathered.append(piece)
        tokens += piece.tokens
        characters += len(piece.text)
    if gathered:
        yield _chunk(gathered, part + 1, plain=plain)


def cut(text: str, most_tokens: int, most_characters: int) -> Iterator[str]:
    """A text in pieces within both limits, at the best borders; joined they are the text."""
    at = 0
    while at < len(text):
        limit = most_characters
        while True:
            piece, _ = head(text[at : at + limit + 1], limit)
            tokens = estimate_tokens(piece)
            if tokens <= most_tokens or limit <= 1:
                break
            limit = max(1, min(len(piece), math.floor(limit * most_tokens / tokens * 0.95)))
        yield piece
        at += len(piece)


def _is_document(conversation: Conversation) -> bool:
    return conversation.format in _DOCUMENTS and all(turn.role is Speaker.USER for turn in conversation.turns)


def _pieces(turns: Sequence[Turn], most_tokens: int, most_characters: int) -> Iterator[_Piece]:
    for turn in turns:
        tokens = (estimate_tokens(turn.text) if turn.tokens is None else turn.tokens) + LABEL_TOKENS
        if tokens <= most_tokens and len(turn.text) <= most_characters:
            yield _Piece(turn, turn.text, tokens)
            continue
        for text in cut(turn.text, max(most_tokens - LABEL_TOKENS, 1), most_characters):
            yield _Piece(turn, text, estimate_tokens(text) + LABEL_TOKENS)


def _question(gathered: list[_Piece], following: _Piece, most_tokens: int, most_characters: int) -> list[_Piece]:
    """The last turn, if it is the question to the answer that does not fit any more, and both fit together."""
    last = gathered[-1]
    parted = last.turn.role is Speaker.USER and following.turn.role is Speaker.ASSISTANT and len(gathered) > 1
    fits = last.tokens + following.tokens <= most_tokens and len(last.text) + len(following.text) <= most_characters
    return [last] if parted and fits else []


def _chunk(pieces: Sequence[_Piece], part: int, *, plain: bool) -> Chunk:
    whens = [piece.turn.when for piece in pieces if piece.turn.when is not None]
    chinese = share_of_cjk("\n".join(piece.text[:300] for piece in pieces)) >= _CHINESE_FROM
    day: date | None = None
    lines: list[str] = []
    before: Turn | None = None
    for piece in pieces:
        turn = piece.turn
        new_day = turn.when is not None and turn.when.date() != day
        day = turn.when.date() if turn.when is not None else day
        lines.append(_line(piece, turn is before, turn.when if new_day else None, plain=plain, chinese=chinese))
        before = turn
    return Chunk(
        text="\n\n".join(lines),
        part=part,
        turns=len(pieces),
        tokens=sum(piece.tokens for piece in pieces),
        started=whens[0] if whens else None,
        ended=max(whens, default=None),
    )


def _line(piece: _Piece, goes_on: bool, when: datetime | None, *, plain: bool, chinese: bool) -> str:
    text = piece.text.strip()
    if piece.turn.attachments and not goes_on:
        names = ("、" if chinese else ", ").join(piece.turn.attachments)
        noted = f"[附件：{names}]" if chinese else f"[attachments: {names}]"
        text = f"{text}\n{noted}" if text else noted
    if plain or goes_on:
        return text
    label = _LABELS[chinese][piece.turn.role]
    dated = "" if when is None else (f"（{when:%Y-%m-%d}）" if chinese else f" ({when:%Y-%m-%d})")
    return f"{label}{dated}{'：' if chinese else ': '}{text}"
