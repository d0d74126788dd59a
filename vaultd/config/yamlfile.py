"""The text of config.yaml as a list of entries: dotted name, value, line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from vaultd.config.entry import Entry
from vaultd.core.errors import SettingsError
from vaultd.settings import SECTIONS

# libyaml's parser is ten times faster than the one in Python, where PyYAML was built with it
Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SECTION_NAMES: Final = frozenset(section.name for section in SECTIONS)


def read_entries(text: str, path: Path) -> list[Entry]:
    """All entries of the file. Raises SettingsError with file and line where it is not what config.yaml can be."""
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return []
        if not isinstance(root, yaml.MappingNode):
            raise SettingsError(f"{path}: not a list of settings; write `key: value`, a line each")
        return _entries(loader, root, (), path)
    except yaml.MarkedYAMLError as exc:
        raise SettingsError(f"{path}{_line_of(exc)}: {exc.problem or exc.context}; mend this line") from exc
    except yaml.YAMLError as exc:
        raise SettingsError(f"{path}: {str(exc).splitlines()[0]}; save the file as UTF-8 text") from exc
    finally:
        loader.dispose()


def _entries(loader: Any, mapping: yaml.MappingNode, above: tuple[str, ...], path: Path) -> list[Entry]:
    found: list[Entry] = []
    seen: dict[str, int] = {}
    for key_node, value_node in mapping.value:
        line = key_node.start_mark.line + 1
        name = ".".join((*above, str(key_node.value)))
        if name in seen:
            raise SettingsError(f"{path} line {line}: {name} stands twice (first in line {seen[name]}); keep one")
        seen[name] = line
        if isinstance(value_node, yaml.MappingNode):
            found += _entries(loader, value_node, (*above, str(key_node.value)), path)
            continue
        value = loader.construct_object(value_node, deep=True)
        if value is None and name in _SECTION_NAMES:
            continue
        found.append(Entry(name, value, line))
    return found


def _line_of(exc: yaml.MarkedYAMLError) -> str:
    mark = exc.problem_mark or exc.context_mark
    return f" line {mark.line + 1}" if mark else ""
