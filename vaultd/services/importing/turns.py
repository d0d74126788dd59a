"""What every export comes down to: conversations of turns, and what was left out of them on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

from vaultd.core.note import PropertyValue


class Format(StrEnum):
    """The kinds of export that can be read."""

    CLAUDE = "claude"
    CHATGPT = "chatgpt"
    DEEPSEEK = "deepseek"
    CHAT = "chat"
    MARKDOWN = "markdown"
    TEXT = "text"
    OMBRE = "ombre"


FORMAT_NAMES: Mapping[Format, str] = {
    Format.CLAUDE: "Claude",
    Format.CHATGPT: "ChatGPT",
    Format.DEEPSEEK: "DeepSeek",
    Format.CHAT: "chat JSON",
    Format.MARKDOWN: "Markdown",
    Format.TEXT: "plain text",
    Format.OMBRE: "Ombre buckets",
}


class Speaker(StrEnum):
    """Who said a turn. System prompts and tools are nobody: their messages are no turns."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that somebody said. `when` is aware; `attachments` are names. Private parts are gone already.

    `tokens` is the estimate of the text's tokens, where somebody made it already.
    """

    role: Speaker
    text: str
    when: datetime | None = None
    attachments: tuple[str, ...] = ()
    tokens: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread of talk, first turn first. `branch` is 0 for the thread that the service shows, 1… for the others.

    A document that nobody talks in has one turn. `turns` may read from disk as it is asked.
    """

    id: str
    title: str
    started: datetime | None
    turns: Sequence[Turn]
    branch: int = 0
    format: Format = Format.CHAT


@dataclass(frozen=True, slots=True)
class Message:
    """One node of a conversation as it stands in an export; `turn` is None where nobody speaks in it.

    `parent` is the id of the message before it, None at a start.
    """

    id: str
    parent: str | None
    turn: Turn | None


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a conversation, with what was said of it. `leaf` is the last message that the service shows."""

    id: str
    title: str
    started: datetime | None
    leaf: str | None = None


@dataclass(frozen=True, slots=True)
class WholeNote:
    """A memory of an Ombre vault: kept as it is, later versions' properties included, and never split.

    `path` is relative to the vault's root, in the seed's folders where it was in one.
    """

    path: str
    raw: bytes
    id: str
    name: str
    created: datetime | None
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


Event: TypeAlias = Message | Closing | WholeNote


class LeftOut(StrEnum):
    """Why something in an export is no turn."""

    SYSTEM = "system"
    TOOL = "tool"
    HIDDEN = "hidden"
    THINKING = "thinking"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    PRIVATE = "private"
    NO_CONVERSATION = "no_conversation"
    UNREADABLE = "unreadable"
    NOT_A_NOTE = "not_a_note"
    SERVICE = "service"


MOST_WARNINGS: Final = 50


@dataclass(slots=True)
class Findings:
    """What reading an export came across: counts of what was left out, and sentences worth telling the person."""

    left_out: Counter[LeftOut] = field(default_factory=Counter)
    attachments: int = 0
    without_time: int = 0
    repeated: int = 0
    warnings: list[str] = field(default_factory=list)
    broken: str = ""

    def leave_out(self, why: LeftOut, count: int = 1) -> None:
        """Count messages that are no turns."""
        if count:
            self.left_out[why] += count

    def warn(self, sentence: str) -> None:
        """Note a sentence once, at most 50 of them."""
        if sentence not in self.warnings and len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(sentence)

    def written(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "left_out": {why.value: count for why, count in sorted(self.left_out.items())},
            "attachments": self.attachments,
            "without_time": self.without_time,
            "repeated": self.repeated,
            "warnings": list(self.warnings),
            "broken": self.broken,
        }

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Findings:
        """From plain values."""
        left_out = Counter({LeftOut(why): count for why, count in raw["left_out"].items()})
        numbers = {key: int(raw[key]) for key in ("attachments", "without_time", "repeated")}
        return cls(left_out=left_out, warnings=list(raw["warnings"]), broken=str(raw["broken"]), **numbers)
