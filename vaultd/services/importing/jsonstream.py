"""Read JSON of any size piece by piece: walk into arrays and objects, parse small values, skip the others.

The file is never in memory as a whole, nor is a value longer than asked for. Positions are bytes from the file's start.
See docs/decisions/0012-reading-exports.md.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

BLOCK_BYTES: Final = 1 << 18
LONGEST_KEY_BYTES: Final = 1 << 16
DEEPEST: Final = 500  # the standard parser recurses; exports nest a dozen levels

_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_IN_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_LITERAL: Final = re.compile(rb"[^ \t\r\n,:{}\[\]\"]*+")

_DECODER: Final = json.JSONDecoder(strict=False)

_QUOTE, _OPEN, _CLOSE, _BLANKS = ord('"'), frozenset(b"{["), frozenset(b"}]"), frozenset(b" \t\r\n")

NOT_AT_HAND: Final = object()


class BrokenJson(Exception):
    """The text is not JSON from `offset` on (bytes)."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"broken JSON at byte {offset}: {reason}")
        self.offset = offset
        self.reason = reason


class TooLong(Exception):
    """A value longer than asked for; it has been skipped, reading goes on behind it."""

    def __init__(self, offset: int, size: int) -> None:
        super().__init__(f"a value of {size} bytes at byte {offset}")
        self.offset = offset
        self.size = size


class JsonReader:
    """Pulls values out of a stream of UTF-8 JSON, in the order in which they stand."""

    def __init__(self, stream: BinaryIO, *, block_bytes: int = BLOCK_BYTES) -> None:
        self._stream = stream
        self._block = block_bytes
        self._buffer = b""
        self._at = 0
        self._base = 0
        self._waiting = False
        while len(self._buffer) < len(codecs.BOM_UTF8) and self._fill():
            pass
        if self._buffer.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise BrokenJson(0, "the file is UTF-16; save it as UTF-8")
        if self._buffer.startswith(codecs.BOM_UTF8):
            self._at = len(codecs.BOM_UTF8)

    @property
    def offset(self) -> int:
        """How far reading is, in bytes."""
        return self._base + self._at

    def kind(self) -> str:
        """The first character of the next value: `{`, `[`, `"` or that of a literal; empty at the end of the file."""
        following = self._peek()
        return "" if following is None else chr(following)

    def members(self) -> Iterator[str]:
        """Walk an object: each key in turn, its value is the next to be read, and is skipped if it is not."""
        self._take(b"{", "an object was expected")
        yield from self._parts(b"}", keyed=True)

    def items(self) -> Iterator[str]:
        """Walk an array: the kind of each item in turn, which is the next to be read, and is skipped if it is not."""
        self._take(b"[", "an array was expected")
        yield from self._parts(b"]", keyed=False)

    def value(self, longest: int) -> Any:
        """The next value, parsed. Raises TooLong where it has more than `longest` bytes; then it is behind us."""
        self._peek()
        start = self.offset
        raw = self._span(longest)
        if raw is None:
            raise TooLong(start, self.offset - start)
        return _parsed(raw, start)

    def value_at_hand(self) -> Any:
        """The next value, if the whole of it has been read from the file already; else NOT_AT_HAND, and nothing moves."""
        self._peek()
        depth = 0
        for match in _TOKEN.finditer(self._buffer, self._at):
            start, end = match.span()
            char = self._buffer[end - 1]
            if end - start > 1:
                if not depth:
                    break
            elif char in _OPEN:
                depth += 1
                if depth > DEEPEST:
                    break
            elif char in _CLOSE:
                depth -= 1
                if depth <= 0:
                    self._waiting = False
                    raw, offset = self._buffer[self._at : end], self.offset
                    self._at = end
                    return _parsed(raw, offset)
            else:
                break
        return NOT_AT_HAND

    def skip(self) -> int:
        """Pass over the next value; how many bytes it had."""
        self._peek()
        start = self.offset
        self._span(-1)
        return self.offset - start

    def finish(self) -> None:
        """Raise BrokenJson if anything follows."""
        if self._peek() is not None:
            raise BrokenJson(self.offset, "more follows where the file should end")

    def _parts(self, end: bytes, *, keyed: bool) -> Iterator[str]:
        first = True
        while True:
            following = self._peek()
            if following == end[0]:
                self._at += 1
                return
            if not first:
                self._take(b",", f"a comma or {end.decode()} was expected")
                following = self._peek()
            if following is None:
                raise BrokenJson(self.offset, "the file ends too early")
            first = False
            label = self._key() if keyed else chr(following)
            self._waiting = True
            yield label
            if self._waiting:
                self.skip()

    def _key(self) -> str:
        if self._peek() != _QUOTE:
            raise BrokenJson(self.offset, "a key in quotes was expected")
        try:
            key = self.value(LONGEST_KEY_BYTES)
        except TooLong:
            key = ""
        self._take(b":", "a colon was expected")
        return str(key)

    def _peek(self) -> int | None:
        if self._at < len(self._buffer) and self._buffer[self._at] not in _BLANKS:
            return self._buffer[self._at]
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._fill():
                return None

    def _take(self, wanted: bytes, reason: str) -> None:
        following = self._peek()
        if following is None:
            raise BrokenJson(self.offset, "the file ends too early")
        if following != wanted[0]:
            raise BrokenJson(self.offset, reason)
        self._at += 1
        self._waiting = False

    def _fill(self) -> bool:
        """Put another block behind what is not consumed yet."""
        block = self._stream.read(self._block)
        self._base += self._at
        self._buffer = self._buffer[self._at :] + block
        self._at = 0
        return bool(block)

    def _span(self, longest: int) -> bytes | None:
        """Consume one value; its bytes, or None where it has more than `longest`."""
        self._waiting = False
        span = _Span(longest)
        following = self._peek()
        if following is None:
            raise BrokenJson(self.offset, "the file ends too early")
        if following == _QUOTE:
            self._string(span)
        elif following in _OPEN:
            self._nested(span)
        else:
            self._literal(span)
        return span.bytes()

    def _consume(self, span: _Span, end: int) -> None:
        span.add(self._buffer, self._at, end)
        self._at = end

    def _more(self) -> None:
        if not self._fill():
            raise BrokenJson(self.offset, "the file ends too early")

    def _nested(self, span: _Span) -> None:
        depth = 0
        while True:
            for match in _TOKEN.finditer(self._buffer, self._at):
                start, end = match.span()
                if end - start > 1:
                    continue
                char = self._buffer[start]
                if char in _OPEN:
                    depth += 1
                    if depth > DEEPEST:
                        raise BrokenJson(self._base + start, f"nested more than {DEEPEST} levels")
                elif char in _CLOSE:
                    depth -= 1
                    if depth == 0:
                        self._consume(span, end)
                        return
                else:  # a string that goes on in the next block
                    self._consume(span, start)
                    self._string(span)
                    break
            else:
                self._consume(span, len(self._buffer))
                self._more()

    def _string(self, span: _Span) -> None:
        self._consume(span, self._at + 1)
        while True:
            match = _IN_STRING.match(self._buffer, self._at)
            self._consume(span, match.end() if match else self._at)
            if self._at < len(self._buffer) and self._buffer[self._at] == _QUOTE:
                self._consume(span, self._at + 1)
                return
            self._more()  # a lone backslash at the block's end stays in the buffer and meets its partner

    def _literal(self, span: _Span) -> None:
        start = self.offset
        while True:
            match = _LITERAL.match(self._buffer, self._at)
            self._consume(span, match.end() if match else self._at)
            if self._at < len(self._buffer) or not self._fill():
                break
        if self.offset == start:
            raise BrokenJson(start, "a value was expected")


def _parsed(raw: bytes, offset: int) -> Any:
    # bytes that are no UTF-8 are somebody's broken text, not a reason to lose the rest
    text = raw.decode("utf-8", "replace")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        before = len(text[: exc.pos].encode("utf-8", "surrogatepass"))
        raise BrokenJson(offset + before, exc.msg) from exc
    except (ValueError, RecursionError) as exc:
        raise BrokenJson(offset, f"a value cannot be read ({type(exc).__name__})") from exc


class _Span:
    """The bytes of one value, as long as there are not too many."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._size = 0
        self._parts: list[bytes] = []

    def add(self, buffer: bytes, start: int, end: int) -> None:
        self._size += end - start
        if self._size > self._longest:
            self._parts.clear()
        elif end > start:
            self._parts.append(buffer[start:end])

    def bytes(self) -> bytes | None:
        return None if self._size > self._longest else b"".join(self._parts)
