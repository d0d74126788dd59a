"""Changing settings in a person's config.yaml: only the lines that must change, every comment stays.

Places come from the YAML parser, the new text is read again before it is written, and a change that would alter anything
else is refused. Secrets are never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from vaultd.config.aliases import EMBEDDING_ENABLED, spellings
from vaultd.config.files import read_text, write_text
from vaultd.config.loading import variables
from vaultd.config.yamlfile import read_entries
from vaultd.config.yamltext import as_yaml, quoted
from vaultd.core.errors import SettingsError
from vaultd.settings import KEYS, Value

INDENT: Final = 2


def save(path: Path, changes: Mapping[str, Value]) -> None:
    """Write changed settings into the config file, which is made where there is none.

    Raises SettingsError for a secret, for a key that does not exist, and where the file cannot be changed safely.
    """
    for name in changes:
        if KEYS[name].secret:
            raise SettingsError(f"{name}: a secret is not kept in {path.name}; set {variables(KEYS[name])[0]} instead")
    before = read_text(path) or ""
    after = edited(before, changes, path)
    if after == before:
        return
    if (read_text(path) or "") != before:
        raise SettingsError(f"{path}: the file was changed meanwhile; repeat the change")
    write_text(path, after)


def edited(text: str, changes: Mapping[str, Value], path: Path) -> str:
    """The text with the changes in it. Raises SettingsError where something else would change."""
    wanted = {entry.name: entry.value for entry in read_entries(text, path)}
    for name, value in changes.items():
        spelled = next((old for old in spellings(name) if old in wanted), name)
        scalar = as_yaml(KEYS[name], value)
        text = _with_entry(text, spelled, scalar, path)
        wanted[spelled] = yaml.safe_load(scalar)
        if name == "embedding.provider" and wanted.get(EMBEDDING_ENABLED) is False and value != "none":
            text = _with_entry(text, EMBEDDING_ENABLED, "true", path)
            wanted[EMBEDDING_ENABLED] = True
    if not _says(text, wanted, path):
        raise SettingsError(f"{path}: {', '.join(changes)} cannot be changed safely; edit the file by hand")
    return text


def _says(text: str, wanted: Mapping[str, object], path: Path) -> bool:
    try:
        return {entry.name: entry.value for entry in read_entries(text, path)} == wanted
    except SettingsError:
        return False


@dataclass(frozen=True, slots=True)
class _Place:
    """The deepest mapping on the way to a key, what of the name is left below it, and the entry that is there."""

    mapping: yaml.MappingNode
    rest: tuple[str, ...]
    key: yaml.ScalarNode | None
    value: yaml.Node | None


def _with_entry(text: str, name: str, scalar: str, path: Path) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    newline = "\r\n" if "\r\n" in text else "\n"
    if not isinstance(root, yaml.MappingNode):
        return _spliced(text, len(text), _block(tuple(name.split(".")), scalar, 0, newline), newline)
    place = _find(root, tuple(name.split(".")))
    if place.key is None or place.value is None:
        return _inserted(text, place, scalar, newline)
    if place.value.start_mark.index < place.key.end_mark.index:  # an alias points back to its anchor
        raise SettingsError(f"{path}: {name} is a YAML alias; edit the file by hand")
    if place.rest:
        return _below_empty(text, place.key, _block(place.rest, scalar, _column_below(place.key), newline), newline)
    return _replaced(text, place.key, place.value, scalar, newline)


def _find(mapping: yaml.MappingNode, names: tuple[str, ...]) -> _Place:
    for key, value in mapping.value:
        if isinstance(key, yaml.ScalarNode) and key.value == names[0]:
            if len(names) > 1 and isinstance(value, yaml.MappingNode):
                return _find(value, names[1:])
            return _Place(mapping, names[1:], key, value)
    return _Place(mapping, names, None, None)


def _replaced(text: str, key: yaml.Node, value: yaml.Node, scalar: str, newline: str) -> str:
    start, end = value.start_mark.index, _end_of(value)
    if isinstance(value, yaml.SequenceNode) and not value.flow_style:
        scalar = _as_block_list(scalar, key.start_mark.column, value.start_mark.column, newline)
    elif start == end:  # nothing stands behind the colon
        scalar = f" {scalar}"
    elif isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
        scalar += newline
    return text[:start] + scalar + text[end:]


def _as_block_list(scalar: str, key_column: int, column: int, newline: str) -> str:
    items = yaml.safe_load(scalar)
    if not items:
        return "[]" if column > key_column else "  []"  # at the key's own column it would no longer belong to it
    return f"{newline}{' ' * column}".join(f"- {quoted(item)}" for item in items)


def _below_empty(text: str, key: yaml.Node, block: str, newline: str) -> str:
    """`llm:` with nothing behind it gets its first key on the next line."""
    return _spliced(text, _line_end(text, key.end_mark.index), block, newline)


def _column_below(key: yaml.Node) -> int:
    return int(key.start_mark.column) + INDENT


def _inserted(text: str, place: _Place, scalar: str, newline: str) -> str:
    mapping = place.mapping
    if mapping.flow_style:
        before_brace = mapping.end_mark.index - 1
        entry = ": {".join(place.rest) + f": {scalar}" + "}" * (len(place.rest) - 1)
        comma = ", " if mapping.value else ""
        return text[:before_brace].rstrip() + comma + entry + text[before_brace:]
    column = mapping.value[0][0].start_mark.column
    block = _block(place.rest, scalar, column, newline)
    if column == 0:
        return _spliced(text, len(text), block, newline)
    last_key, last_value = mapping.value[-1]
    end = max(_end_of(last_value), last_key.end_mark.index)
    if end and text[end - 1] == "\n":  # a block scalar ends at the start of the next line
        return _spliced(text, end, block, newline)
    return _spliced(text, _line_end(text, end), block, newline)


def _end_of(node: yaml.Node) -> int:
    """Where a value's last character stands; the parser counts the blank lines and comments behind it as well."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_end_of(value) or key.end_mark.index for key, value in node.value[-1:])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end_of(node.value[-1])
    return int(node.end_mark.index)


def _line_end(text: str, index: int) -> int:
    """The start of the line after the one that `index` is on."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _block(names: tuple[str, ...], scalar: str, column: int, newline: str) -> str:
    lines = [f"{' ' * (column + INDENT * depth)}{name}:" for depth, name in enumerate(names)]
    return newline.join(lines) + f" {scalar}{newline}"


def _spliced(text: str, index: int, block: str, newline: str) -> str:
    missing = newline if index and text[index - 1] != "\n" else ""
    return text[:index] + missing + block + text[index:]
