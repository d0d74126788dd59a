"""What an assistant said, read from a copy of the bytes that went by: a stream of events, or one JSON answer."""

from __future__ import annotations

import codecs
import json
from typing import Any, Final

MOST_CHARACTERS: Final = 200_000  # of a reply that are looked at
MOST_BUFFERED: Final = 4_000_000  # characters of one event or one JSON answer


class ReplyReader:
    """Feed it the chunks as they come; `text` is the reply so far: of the first choice, all choices in `texts`."""

    def __init__(self, *, streamed: bool) -> None:
        self._streamed = streamed
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""
        self._parts: dict[int, list[str]] = {}
        self._length = 0
        self.finished = False

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        self._buffer += self._decode.decode(chunk)
        if not self._streamed:
            self._buffer = self._buffer[:MOST_BUFFERED]
            return
        *lines, self._buffer = self._buffer.split("\n")
        self._buffer = self._buffer[:MOST_BUFFERED]
        for line in lines:
            self._event(line.strip("\r"))

    def end(self) -> None:
        """There are no more bytes."""
        if self._streamed:
            self._event(self._buffer.strip("\r"))
        else:
            answer = _object(self._buffer)
            for choice in _choices(answer):
                self._take(choice, "message")
        self._buffer = ""

    def _event(self, line: str) -> None:
        if not line.startswith("data:"):
            return
        data = line[5:].strip()
        if data == "[DONE]":
            self.finished = True
            return
        for choice in _choices(_object(data)):
            self._take(choice, "delta")

    def _take(self, choice: dict[str, Any], field: str) -> None:
        index = choice.get("index")
        said = choice.get(field)
        if choice.get("finish_reason"):
            self.finished = True
        if not isinstance(said, dict):
            return
        text = text_of(said.get("content"))
        if text and self._length < MOST_CHARACTERS:
            self._length += len(text)
            self._parts.setdefault(index if isinstance(index, int) else 0, []).append(text)

    @property
    def text(self) -> str:
        """The first choice's text."""
        return "".join(self._parts[min(self._parts)]) if self._parts else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each choice that has one."""
        return tuple("".join(self._parts[index]) for index in sorted(self._parts))


def text_of(content: object) -> str:
    """The text of a message's content: a text, or the text parts of a list; images and sounds say nothing here."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in ("text", "input_text", None))
    return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _choices(answer: dict[str, Any]) -> list[dict[str, Any]]:
    found = answer.get("choices")
    return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []
