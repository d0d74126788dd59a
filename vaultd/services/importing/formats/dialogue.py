"""Conversations written as text: `## User`, `**Claude:** …`, `用户：…`, `ChatGPT said:`.

A text is a dialogue where both sides are labelled at the start of lines. Anything else is a document: one turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum
from typing import Final

from vaultd.llm.redact import strip_private
from vaultd.services.importing.cleaning import speech
from vaultd.services.importing.times import moment_of
from vaultd.services.importing.turns import Findings, LeftOut, Message, Speaker, Turn

LONGEST_TURN: Final = 1 << 20  # characters; a longer one is parted at a line

_USER: Final = frozenset(("user", "human", "you", "me", "prompt", "用户", "人类", "我", "你", "提问者"))
_ASSISTANT: Final = frozenset(
    (
        *("assistant", "claude", "chatgpt", "gpt", "deepseek", "ai", "bot", "model", "response", "gemini"),
        *("助手", "模型", "智能助手", "机器人"),
    )
)
_NOBODY: Final = frozenset(("system", "tool", "thinking", "reasoning", "系统", "工具", "思考"))
_EMOJI: Final = r"(?:[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+\s*)?"
_BEFORE: Final = re.compile(
    rf"\s{{0,3}}(?P<mark>#{{1,6}}\s+)?(?:\d{{1,5}}[.)]\s+)?{_EMOJI}(?P<bold>[*_]{{2,3}})?{_EMOJI}"
)
_NAME: Final = re.compile(r"[A-Za-z]{1,12}(?:[- ]?\d[\w.-]{0,8})?(?![\w])|[\u4e00-\u9fff]{1,5}(?![\u4e00-\u9fff\w])")
_BEHIND: Final = re.compile(
    r"(?P<said>\s+said)?[*_]{0,3}\s*(?:[(（\[](?P<when>[^)）\]]{4,40})[)）\]])?[*_]{0,3}\s*(?P<colon>[:：])?[*_]{0,3}"
    r"\s*(?:(?:[—–·|]|-{1,2}\s)\s*(?P<after>\d{4}.{4,40}?)\s*$)?(?P<rest>.*)"
)
_VERSION: Final = re.compile(r"[- ]?\d[\w.-]*$")
_FENCE: Final = re.compile(r"\s{0,3}(```|~~~)")
_SENTINEL: Final = "\u0001end"


class _Who(Enum):
    USER = Speaker.USER
    ASSISTANT = Speaker.ASSISTANT
    NOBODY = None


@dataclass(frozen=True, slots=True)
class _Label:
    who: _Who
    when: str
    rest: str


def is_dialogue(lines: Iterable[str]) -> bool:
    """Whether both sides speak in these lines."""
    seen: set[_Who] = set()
    for _, label in _labelled(lines):
        if label is not None:
            seen.add(label.who)
        if {_Who.USER, _Who.ASSISTANT} <= seen:
            return True
    return False


def turns_of(lines: Iterable[str], *, dialogue: bool, zone: tzinfo, findings: Findings) -> Iterator[Message]:
    """The turns of a text, or the whole of it as one (long ones in parts). What stands before the first label is the person's."""
    who = _Who.USER
    when: datetime | None = None
    gathered: list[str] = []
    size = count = 0
    open_private = False
    for line, label in _labelled(lines) if dialogue else ((line, None) for line in lines):
        if label is not None or size > LONGEST_TURN:
            message, open_private = _message(who, gathered, when, count, findings, after_open=open_private)
            if message is not None:
                yield message
                count += 1
            gathered, size = [], 0
            if label is not None:
                who, when = label.who, moment_of(label.when, zone)
                line = label.rest
        gathered.append(line)
        size += len(line) + 1
    message, _ = _message(who, gathered, when, count, findings, after_open=open_private)
    if message is not None:
        yield message


def _message(
    who: _Who, lines: list[str], when: datetime | None, count: int, findings: Findings, *, after_open: bool
) -> tuple[Message | None, bool]:
    """A turn of gathered lines; and whether a private part begins in them and goes on behind them."""
    raw = ("<private>" if after_open else "") + "\n".join(lines)
    still_open = not strip_private(raw + _SENTINEL).endswith(_SENTINEL)
    if who is _Who.NOBODY:
        findings.leave_out(LeftOut.SYSTEM, int(bool(raw.strip())))
        return None, still_open
    text, private = speech(raw)
    findings.leave_out(LeftOut.PRIVATE, int(private))
    if not text:
        return None, still_open
    before = f"#{count - 1}" if count else None
    return Message(f"#{count}", before, Turn(Speaker(who.value), text, when)), still_open


def _labelled(lines: Iterable[str]) -> Iterator[tuple[str, _Label | None]]:
    fenced = ""
    for line in lines:
        fence = _FENCE.match(line)
        if fence is not None and (not fenced or fence[1] == fenced):
            fenced = "" if fenced else fence[1]
        yield line, None if fenced else _label_of(line)


def _label_of(line: str) -> _Label | None:
    before = _BEFORE.match(line)
    name = _NAME.match(line, before.end() if before else 0)
    who = _who(name[0]) if name else None
    behind = _BEHIND.match(line, name.end() if name else 0)
    if before is None or who is None or behind is None:
        return None
    rest = behind["rest"].strip()
    # without a colon only a line of its own is a label: a heading, bold type, "ChatGPT said"
    if not behind["colon"] and (rest or not (before["mark"] or before["bold"] or behind["said"])):
        return None
    return _Label(who, behind["when"] or behind["after"] or "", rest)


def _who(label: str) -> _Who | None:
    word = _VERSION.sub("", label).lower()
    if word in _USER:
        return _Who.USER
    if word in _ASSISTANT:
        return _Who.ASSISTANT
    return _Who.NOBODY if word in _NOBODY else None
