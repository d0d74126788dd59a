"""A changed property as new source lines: what need not change keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from vaultd.core.errors import UnwritableNote
from vaultd.core.note import PropertyValue
from vaultd.core.properties import moment_text
from vaultd.vault.entries import Entry, Form, Span
from vaultd.vault.linediff import matches
from vaultd.vault.yamlscalar import source, text_source

_ITEM_START = re.compile(r"([ \t]*-[ \t]+)")
_COMMENT = re.compile(r"[ \t]+#[^\r\n]*")
_INDENT: Final = "  "  # of an item below its key, as Obsidian writes lists

NewValue = PropertyValue | datetime


def readable(value: NewValue) -> PropertyValue:
    """What reading gives back for a value that was written."""
    return moment_text(value) if isinstance(value, datetime) else value


def new_lines(key: str, value: NewValue, *, indent: str, newline: str) -> str:
    """A property that was not there."""
    head = f"{indent}{text_source(key)}:"
    if isinstance(value, list) and value:
        return head + newline + _block_items(value, indent + _INDENT + "- ", newline)
    text = source(value)
    return head + (" " + text if text else "") + newline


def changed_lines(header: str, entry: Entry, old: PropertyValue, value: NewValue, path: str) -> str:
    """The lines of a property that gets another value. Raises UnwritableNote where a comment would be lost."""
    newline = "\r\n" if header[: entry.end].endswith("\r\n") else "\n"
    if isinstance(value, list) and value:
        if entry.form is Form.BLOCK_LIST and isinstance(old, list) and (items := _item_lines(header, entry)):
            return _edited_block_list(header, entry, items, old, value, newline)
        if entry.form is Form.FLOW_LIST and isinstance(old, list):
            return _spliced(header, entry, _edited_flow_list(header, entry, old, value, path))
        return _as_block_list(header, entry, value, newline)
    if isinstance(value, list) and entry.form is Form.FLOW_LIST:
        return _spliced(header, entry, _edited_flow_list(header, entry, [], value, path))
    quote = entry.quote if isinstance(value, str) and entry.quote in ("'", '"') and isinstance(old, str) else ""
    return _as_one_line(header, entry, source(value, quote=quote), newline)


def removed_lines(header: str, entry: Entry) -> str:
    """What stays of a property that is taken out: the lines that are comments alone."""
    return entry.comment_lines(header)


def _block_items(values: Sequence[PropertyValue], start: str, newline: str) -> str:
    return "".join(start + _item_source(value) + newline for value in values)


def _item_source(value: PropertyValue) -> str:
    return "null" if value is None else source(value)


def _one_line(header: str, entry: Entry) -> bool:
    return "\n" not in header[entry.start : entry.value.end]


def _spliced(header: str, entry: Entry, text: str) -> str:
    """The property's lines with other source in the place of its value."""
    gap = "" if not text or header[entry.colon : entry.value.start] else " "
    before, after = header[entry.start : entry.value.start], header[entry.value.end : entry.end]
    return (before.rstrip(" \t") if not text else before) + gap + text + after


def _as_one_line(header: str, entry: Entry, text: str, newline: str) -> str:
    if _one_line(header, entry):
        return _spliced(header, entry, text)
    head = header[entry.start : entry.colon] + (" " + text if text else "")
    return head + _comment(header, entry) + newline + entry.comment_lines(header)


def _as_block_list(header: str, entry: Entry, values: Sequence[PropertyValue], newline: str) -> str:
    key_line = header[entry.start : entry.colon]
    indent = key_line[: len(key_line) - len(key_line.lstrip(" "))]
    comments = "" if _one_line(header, entry) else entry.comment_lines(header)
    items = _block_items(values, indent + _INDENT + "- ", newline)
    return key_line + _comment(header, entry) + newline + comments + items


def _comment(header: str, entry: Entry) -> str:
    """The comment on the key's line where the value begins below it, or on the value's last line."""
    for offset in (entry.colon, entry.value.end):
        if match := _COMMENT.match(header, offset, entry.end):
            return match[0]
    return ""


def _item_lines(header: str, entry: Entry) -> list[Span]:
    """The line of each item; none where an item takes more than a line of its own."""
    out: list[Span] = []
    for leaf in entry.leaves:
        start = header.rfind("\n", 0, leaf.start) + 1
        end = header.find("\n", leaf.end) + 1 or len(header)
        match = _ITEM_START.match(header, start)
        alone = match is not None and match.end() <= max(leaf.start, start) and start >= entry.colon
        if not alone or "\n" in header[start : end - 1] or (out and out[-1].end > start):
            return []
        out.append(Span(start, end))
    return out


def _edited_block_list(
    header: str,
    entry: Entry,
    items: Sequence[Span],
    old: Sequence[PropertyValue],
    new: Sequence[PropertyValue],
    newline: str,
) -> str:
    """Items that stay keep their lines, comments between items keep their place."""
    start = _ITEM_START.match(header, items[0].start)
    item_start = start[1] if start else _INDENT + "- "
    out = [header[entry.start : items[0].start]]
    gaps = [header[one.end : other.start] for one, other in pairwise(items)]
    gaps.append(header[items[-1].end : entry.end])
    for kept, first, last, wanted in _runs(old, new):
        if wanted:
            out.append(_block_items(wanted, item_start, newline))
        for index in range(first, last):
            out.append((header[items[index].start : items[index].end] if kept else "") + gaps[index])
    return "".join(out)


def _edited_flow_list(
    header: str, entry: Entry, old: Sequence[PropertyValue], new: Sequence[PropertyValue], path: str
) -> str:
    """Items that stay keep their source, the list its spacing."""
    leaves = entry.leaves
    text = header[entry.value.start : entry.value.end]
    edges = [entry.value.start, *(edge for leaf in leaves for edge in (leaf.start, leaf.end)), entry.value.end]
    gaps = [header[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2)]
    if any("#" in gap for gap in gaps):
        raise UnwritableNote(path, f"a comment stands inside the list {entry.key!r}; move it out of the brackets")
    if not leaves or not new or not text.startswith("["):
        return source(list(new))
    separator = gaps[1] if len(leaves) > 1 else ", "
    sources: list[str] = []
    for kept, first, last, wanted in _runs(old, new):
        sources += [source(value, in_flow=True) for value in wanted]
        if kept:
            sources += [header[leaf.start : leaf.end] for leaf in leaves[first:last]]
    return gaps[0] + separator.join(sources) + gaps[-1]


def _runs(
    old: Sequence[PropertyValue], new: Sequence[PropertyValue]
) -> list[tuple[bool, int, int, Sequence[PropertyValue]]]:
    """From old to new: (kept, first, last) of old items, and the new items that stand before them."""
    old_names, new_names = ([source(value, in_flow=True) for value in values] for values in (old, new))
    out: list[tuple[bool, int, int, Sequence[PropertyValue]]] = []
    at = new_at = 0
    for first, new_first, length in [*matches(old_names, new_names), (len(old), len(new), 0)]:
        if at < first or new_at < new_first:
            out.append((False, at, first, new[new_at:new_first]))
        if length:
            out.append((True, first, first + length, ()))
        at, new_at = first + length, new_first + length
    return out
