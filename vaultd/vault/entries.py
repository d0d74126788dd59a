"""The lines that belong to each property of a block, so that one can be changed without touching the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import yaml

from vaultd.core.errors import UnreadableNote, UnwritableNote
from vaultd.vault import yamlcore
from vaultd.vault.yamlscalar import key_text, resolve_plain

_COMMENT_LINE = re.compile(r"[ \t]*#")


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def lines_of(text: str) -> list[str]:
    """Lines with their newlines; broken at `\\n` alone, unlike str.splitlines."""
    return _LINE.findall(text)


class Form(StrEnum):
    """How a value is written."""

    SCALAR = "scalar"
    BLOCK_SCALAR = "block scalar"
    BLOCK_LIST = "block list"
    FLOW_LIST = "flow list"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the header, by character offsets."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One property: its lines are header[start:end], its value's source is header[value.start:value.end].

    `leaves` are the scalars within the value: of a block or flow list, its items. `quote` is "" for a bare scalar.
    """

    key: str
    start: int
    end: int
    colon: int
    value: Span
    form: Form
    quote: str
    leaves: tuple[Span, ...]
    anchors: frozenset[str]
    aliases: frozenset[str]

    def comment_lines(self, header: str) -> str:
        """The lines within this property that hold a comment alone."""
        kept, offset = [], self.start
        for line in lines_of(header[self.start : self.end]):
            inside = any(leaf.start < offset < leaf.end for leaf in self.leaves)
            if _COMMENT_LINE.match(line) and not inside:
                kept.append(line)
            offset += len(line)
        return "".join(kept)


@dataclass(frozen=True, slots=True)
class Entries:
    """All properties of a header, in their order."""

    entries: tuple[Entry, ...]
    indent: str

    def find(self, key: str) -> Entry | None:
        """The property with this key."""
        return next((entry for entry in self.entries if entry.key == key), None)


def entries_of(header: str, path: str) -> Entries:
    """Cut a block's lines into properties.

    Raises UnwritableNote where that can't be done: a mapping in braces, keys written in YAML's long form.
    """
    try:
        events = [
            event
            for event in yamlcore.events(header)
            if not isinstance(
                event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentStartEvent | yaml.DocumentEndEvent
            )
        ]
    except UnreadableNote as exc:
        raise UnwritableNote(path, exc.reason) from exc
    if not events:
        return Entries((), "")
    if not isinstance(events[0], yaml.MappingStartEvent):
        return Entries((), "")
    if events[0].flow_style:
        raise UnwritableNote(path, "the properties are written in braces; write one on each line")
    return _Cutter(header, path, events).cut()


class _Cutter:
    """Walks the events of a block mapping."""

    def __init__(self, header: str, path: str, events: list[Any]) -> None:
        self._header = header
        self._path = path
        self._events = events

    def cut(self) -> Entries:
        out: list[Entry] = []
        indents: set[str] = set()
        at = 1
        while not isinstance(self._events[at], yaml.MappingEndEvent):
            after_key = self._node_end(at)
            after_value = self._node_end(after_key)
            entry, indent = self._entry(at, after_key, after_value)
            out.append(entry)
            indents.add(indent)
            at = after_value
        if len(indents) > 1:
            raise UnwritableNote(self._path, "the keys are not indented alike")
        return Entries(tuple(out), indents.pop() if indents else "")

    def _node_end(self, at: int) -> int:
        """The position behind the node that starts at `at`."""
        depth = 0
        while True:
            event = self._events[at]
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            at += 1
            if depth == 0:
                return at

    def _entry(self, key_at: int, value_at: int, end_at: int) -> tuple[Entry, str]:
        key_event = self._events[key_at]
        place = _place(key_event)
        start = self._line_start(place.start)
        indent = self._header[start : place.start]
        if indent.strip(" ") or value_at - key_at > 1 or isinstance(key_event, yaml.AliasEvent):
            line = self._header.count("\n", 0, start) + 2
            raise UnwritableNote(self._path, f"line {line}: the key is not written as `key:`")
        colon = self._header.index(":", place.end) + 1
        node = self._events[value_at:end_at]
        value = _span(node)
        typed = key_event.value if key_event.style else resolve_plain(key_event.value)
        entry = Entry(
            key=key_text(typed),
            start=start,
            end=self._lines_end(value.end, colon),
            colon=colon,
            value=value,
            form=_form(node),
            quote=getattr(node[0], "style", None) or "",
            leaves=tuple(_place(event) for event in node if isinstance(event, yaml.ScalarEvent)),
            anchors=frozenset(_anchors(node, of_aliases=False)),
            aliases=frozenset(_anchors(node, of_aliases=True)),
        )
        return entry, indent

    def _line_start(self, offset: int) -> int:
        return self._header.rfind("\n", 0, offset) + 1

    def _lines_end(self, value_end: int, colon: int) -> int:
        """The end of the line that holds the value's last character, blank lines below it left out."""
        last = colon + len(self._header[colon:value_end].rstrip(" \t\r\n"))
        newline = self._header.find("\n", last)
        return len(self._header) if newline < 0 else newline + 1


def _place(event: Any) -> Span:
    return Span(event.start_mark.index, event.end_mark.index)


def _anchors(node: list[Any], *, of_aliases: bool) -> list[str]:
    """The anchors that a value sets, or those that it refers to."""
    named = [event for event in node if getattr(event, "anchor", None)]
    return [event.anchor for event in named if isinstance(event, yaml.AliasEvent) == of_aliases]


def _span(node: list[Any]) -> Span:
    """A value from its first character to its last. A block collection's own end lies too far down, so its parts tell."""
    start = end = _place(node[0]).start
    in_flow: list[bool] = []
    for event in node:
        if isinstance(event, yaml.CollectionStartEvent):
            in_flow.append(bool(event.flow_style))
        elif not isinstance(event, yaml.CollectionEndEvent) or in_flow.pop():
            end = max(end, _place(event).end)
    return Span(start, end)


def _form(node: list[Any]) -> Form:
    first = node[0]
    if isinstance(first, yaml.ScalarEvent):
        return Form.BLOCK_SCALAR if first.style in ("|", ">") else Form.SCALAR
    if isinstance(first, yaml.SequenceStartEvent) and all(isinstance(event, yaml.ScalarEvent) for event in node[1:-1]):
        return Form.FLOW_LIST if first.flow_style else Form.BLOCK_LIST
    return Form.OTHER
