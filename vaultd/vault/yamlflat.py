"""A quick reader for the frontmatter that nearly every note has: `key: value` lines and lists of plain items.

It answers only where it is sure to say what the full loader says, and leaves everything else to it.
"""

from __future__ import annotations

import re
from typing import Final

from vaultd.core.note import PropertyValue
from vaultd.vault.yamlscalar import STRANGE, TYPED_WORDS, resolve_plain

_KEY_LINE = re.compile(r"([^\W\d](?:[\w -]{0,98}[\w-])?):(?: +(.*))?")
_ITEM_LINE = re.compile(r"( *)-(?: +(.*))?")
_PLAIN_START = re.compile(r"[-+.]?\w")
_QUOTED = re.compile(r"\"[^\"\\]*\"|'[^']*'")
_FLOW_LIST = re.compile(r"\[[^\[\]{}:#\"'&*!|>%@`?\\]*\]")
_UNSURE: Final = object()


def read(text: str) -> dict[str, PropertyValue] | None:
    """The mapping that a block's text holds; None where the full loader has to look."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text or STRANGE.search(text):
        return None
    lines = _Lines()
    for line in text.split("\n"):
        if line and line[0] != "#" and not lines.take_key(line) and not lines.take_item(line):
            return None
    return lines.properties or None


class _Lines:
    """What the lines so far have said."""

    __slots__ = ("_indent", "_items", "_open_key", "properties")

    def __init__(self) -> None:
        self.properties: dict[str, PropertyValue] = {}
        self._open_key: str | None = None  # the last key, while no value stands on its line
        self._items: list[PropertyValue] | None = None  # of the list under it
        self._indent = ""

    def take_key(self, line: str) -> bool:
        """Whether the line is a key with a value that is sure."""
        match = _KEY_LINE.fullmatch(line)
        if match is None:
            return False
        key, source = match.groups("")
        source = source.rstrip(" ")
        value = _value(source)
        if value is _UNSURE or key in self.properties or key in TYPED_WORDS:
            return False
        self.properties[key] = value  # type: ignore[assignment]
        self._open_key, self._items = (None if source else key), None
        return True

    def take_item(self, line: str) -> bool:
        """Whether the line is an item, with a value that is sure, of the list under the last key."""
        match = _ITEM_LINE.fullmatch(line)
        if match is None or self._open_key is None:
            return False
        source = match.group(2) or ""
        source = source.rstrip(" ")
        item = _item(source) if source else None
        if self._items is None:
            self._items, self._indent = [], match[1]
            self.properties[self._open_key] = self._items
        if item is _UNSURE or match[1] != self._indent:
            return False
        self._items.append(item)  # type: ignore[arg-type]
        return True


def _value(source: str) -> object:
    """The value after a key's colon, or _UNSURE."""
    if not source:
        return None
    if source[0] == "[":
        return _flow_list(source)
    return _item(source)


def _flow_list(source: str) -> object:
    if source == "[]":
        return []
    if not _FLOW_LIST.fullmatch(source):
        return _UNSURE
    parts = [part.strip(" ") for part in source[1:-1].split(",")]
    if not all(map(_PLAIN_START.match, parts)):
        return _UNSURE
    return [resolve_plain(part) for part in parts]


def _item(source: str) -> object:
    """A scalar on its own, or _UNSURE."""
    if source[0] in "\"'":
        return source[1:-1] if _QUOTED.fullmatch(source) else _UNSURE
    if not _PLAIN_START.match(source) or ": " in source or " #" in source or source[-1] == ":":
        return _UNSURE
    return resolve_plain(source)
