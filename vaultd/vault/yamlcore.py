"""YAML as Obsidian reads it: the 1.2 core schema over libyaml's parser.

libyaml is a YAML 1.1 parser, so three things are put right here: plain scalars are typed by the core schema (`yes`,
`12:30` and `2026-01-31` are text, `0123` is 123), characters that only 1.1 takes for line breaks or refuses are carried
through in disguise, and keys that stand twice are an error. Keys are always text, as they are in JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from vaultd.core.errors import UnreadableNote
from vaultd.core.note import PropertyValue
from vaultd.vault import yamlflat
from vaultd.vault.yamlscalar import STRANGE, key_text, resolve_plain

MAX_DEPTH: Final = 100  # nested lists and mappings; also ends an alias that holds itself
_SPARE_NODES: Final = 1000  # nodes that aliases may add to what the text itself can hold

_TAGGED: Final[dict[str, type]] = {  # by the tag a text wrote out; other tags leave text
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:null": type(None),
}
# In brackets libyaml takes any `?` for the long form of a key; in 1.2 it must stand alone.
_MASKED = re.compile(STRANGE.pattern + r"|\?(?=\S)")
_TAB_LINE = re.compile(r"^\t[ \t]*(?=\r?\n|\Z)", re.MULTILINE)  # blank in 1.2, an error in 1.1
_PRIVATE: Final = (range(0xE000, 0xF8FF), range(0x10_0000, 0x10_FFFD))

_ADVICE: Final[dict[str, str]] = {
    "mapping values are not allowed in this context": "put the text that holds `: ` in quotes",
    "found character that cannot start any token": "put a text that starts with @, `, % or a tab in quotes",
    "did not find expected key": "something is left behind a value; put the whole text in quotes",
    "did not find expected ',' or ']'": "a bracket is not closed",
    "did not find expected ',' or '}'": "a brace is not closed",
    "found undefined alias": "put a text that starts with * in quotes",
    "found a tab character that violates indentation": "use blanks for indentation, not tabs",
    "could not find expected ':'": "a line is not `key: value`",
}

# PyYAML's wheels hold libyaml wherever we run; without it everything works, ten times slower.
_Base: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Composer(_Base):  # type: ignore[misc]
    """Nodes without PyYAML's typing: a node's tag is None unless the text wrote one."""

    def resolve(self, kind: type, value: str | None, implicit: object) -> str | None:
        return None

    def descend_resolver(self, parent: object, index: object) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


class Disguise:
    """Carries characters that libyaml would trip over through it, as private-use characters the text does not hold."""

    def __init__(self, text: str) -> None:
        strange = sorted(set(_MASKED.findall(text)))
        taken = set(text) if strange else set()
        free = (chr(code) for codes in _PRIVATE for code in codes if chr(code) not in taken)
        self._masks = dict(zip(strange, free, strict=False))
        self._show = {ord(mask): char for char, mask in self._masks.items()}

    def hide(self, text: str) -> str:
        """The text that libyaml may see: as many characters, with line breaks at `\\n` and `\\r\\n` only."""
        if "\t" in text:
            text = _TAB_LINE.sub(lambda match: " " * len(match[0]), text)
        return _MASKED.sub(lambda match: self._masks[match[0]], text) if self._masks else text

    def show(self, text: str) -> str:
        """The characters as they stand in the file."""
        return text.translate(self._show) if self._show else text


def load(text: str, path: str = "") -> PropertyValue:
    """The value of a block's YAML text. Raises UnreadableNote with the line within the text, counted from 1."""
    flat = yamlflat.read(text)
    return load_fully(text, path) if flat is None else flat


def load_fully(text: str, path: str = "") -> PropertyValue:
    """As `load`, always by way of libyaml."""
    disguise = Disguise(text)
    try:
        node = yaml.compose(disguise.hide(text), _Composer)
    except yaml.YAMLError as exc:
        raise _unreadable(exc, path) from exc
    return None if node is None else _Constructor(text, disguise.show, path).value(node, 0)


def events(text: str, path: str = "") -> Iterator[Any]:
    """libyaml's parsing events of a block's text; marks count characters. Raises UnreadableNote as `load` does."""
    disguise = Disguise(text)
    try:
        for event in yaml.parse(disguise.hide(text), _Base):
            if isinstance(event, yaml.ScalarEvent):
                event.value = disguise.show(event.value)
            yield event
    except yaml.YAMLError as exc:
        raise _unreadable(exc, path) from exc


def _unreadable(exc: yaml.YAMLError, path: str) -> UnreadableNote:
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    reason = str(getattr(exc, "problem", None) or re.split(r"[\r\n]", str(exc))[0])
    advice = f"{reason} ({_ADVICE[reason]})" if reason in _ADVICE else reason
    return UnreadableNote(path, f"the frontmatter is not YAML: {advice}", None if mark is None else mark.line + 1)


class _Constructor:
    """Nodes to values, with a budget that ends alias bombs."""

    def __init__(self, text: str, show: Callable[[str], str], path: str) -> None:
        self._text = text
        self._show = show
        self._path = path
        self._budget = len(text) + _SPARE_NODES
        self._lines: list[str] | None = None
        self._checked: set[int] = set()

    def value(self, node: Any, depth: int, column: int | None = None) -> PropertyValue:
        """What a node says; `column` is where the block list or mapping around it stands, None within brackets."""
        self._budget -= 1
        if self._budget < 0:
            raise self._wrong(node, "aliases repeat too much")
        if depth > MAX_DEPTH:
            raise self._wrong(node, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.ScalarNode):
            if node.style and node.style in "'\"":
                self._check_indentation(node, column)
            return self._scalar(node)
        if node.flow_style:
            self._check_indentation(node, column)
        inner = None if node.flow_style else node.start_mark.column
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1, inner) for item in node.value]
        return self._mapping(node, depth, inner)

    def _check_indentation(self, node: Any, column: int | None) -> None:
        """Raise where quotes or brackets go on further left than the package Obsidian uses allows; libyaml doesn't look."""
        first, last = node.start_mark.line, node.end_mark.line
        if first == last or column is None or id(node) in self._checked:
            return
        self._checked.add(id(node))  # an alias may stand anywhere
        if self._lines is None:
            self._lines = self._text.split("\n")
        for number in range(first + 1, last + 1):
            line = self._lines[number]
            bare = line.lstrip(" ")
            indent = len(line) - len(bare)
            in_brackets = isinstance(node, yaml.CollectionNode)
            closing = in_brackets and number == last and node.end_mark.column == indent + 1
            comment = in_brackets and bare[:1] == "#"
            if bare.strip() and not comment and indent <= column - closing:
                reason = "quotes or brackets over several lines: indent these lines more than their key"
                raise UnreadableNote(self._path, reason, number + 1)

    def _wrong(self, node: Any, reason: str) -> UnreadableNote:
        return UnreadableNote(self._path, reason, node.start_mark.line + 1)

    def _scalar(self, node: Any) -> PropertyValue:
        text = self._show(node.value)
        if node.tag is None:
            return text if node.style else resolve_plain(text)
        typed = resolve_plain(text)
        return typed if type(typed) is _TAGGED.get(node.tag) else text

    def _mapping(self, node: Any, depth: int, column: int | None) -> dict[str, PropertyValue]:
        out: dict[str, PropertyValue] = {}
        seen: set[tuple[bool, object]] = set()
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                typed = self._scalar(key_node)
                key, identity = key_text(typed), (isinstance(typed, bool), typed)
                if identity in seen:
                    raise self._wrong(key_node, f"the key {key!r} stands twice")
                seen.add(identity)
            else:
                key = self._collection_key(key_node, depth + 1)
            out[key] = self.value(value_node, depth + 1, column)
        return out

    def _collection_key(self, node: Any, depth: int) -> str:
        """A list or mapping as a key, which `{{title}}` is: written out on one line."""
        if depth > MAX_DEPTH:
            raise self._wrong(node, f"lists and mappings are nested more than {MAX_DEPTH} deep")
        self._budget -= 1
        if self._budget < 0:
            raise self._wrong(node, "aliases repeat too much")
        if isinstance(node, yaml.ScalarNode):
            return self._text[node.start_mark.index : node.end_mark.index]
        if isinstance(node, yaml.SequenceNode):
            parts = [self._collection_key(item, depth + 1) for item in node.value]
            return f"[ {', '.join(parts)} ]" if parts else "[]"
        pairs = [
            (self._collection_key(key, depth + 1), self._collection_key(value, depth + 1)) for key, value in node.value
        ]
        parts = [f"{key}: {value}" if value else key for key, value in pairs]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
