"""What Obsidian and Templater are told to leave out: excluded files and template folders, read from `.obsidian`."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFIG_FOLDER: Final = ".obsidian"
_TEMPLATE_SETTINGS: Final = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
)


@dataclass(frozen=True, slots=True)
class ObsidianIgnores:
    """The vault's ignore settings, ready to be asked. `problems` are settings that could not be read or compiled."""

    prefixes: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    template_folders: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def ignores(self, path: str) -> bool:
        """Whether a file (path relative to the vault) is left out."""
        key = _key(path)
        if key.startswith((*self.prefixes, *self.template_folders)):
            return True
        return any(pattern.search(path) for pattern in self.patterns)

    def ignores_folder(self, path: str) -> bool:
        """Whether everything below a folder is left out by a plain entry; patterns are asked file by file."""
        key = _key(path) + "/"
        return key.startswith((*self.prefixes, *self.template_folders))

    @property
    def empty(self) -> bool:
        """Whether nothing is left out."""
        return not (self.prefixes or self.patterns or self.template_folders)


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).lower()


def _json(root: Path, name: str, problems: list[str]) -> dict[str, object]:
    place = root / CONFIG_FOLDER / name
    try:
        value = json.loads(place.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        problems.append(f"{CONFIG_FOLDER}/{name}: {exc}")
        return {}
    return value if isinstance(value, dict) else {}


def _pattern(source: str, problems: list[str]) -> re.Pattern[str] | None:
    # JavaScript's named groups are the one common difference to Python's syntax
    translated = re.sub(r"\(\?<(?![=!])", "(?P<", source)
    try:
        return re.compile(translated, re.IGNORECASE)
    except re.error as exc:
        problems.append(f"{CONFIG_FOLDER}/app.json: excluded file /{source}/ is no valid pattern: {exc}")
        return None


def read_ignores(root: Path) -> ObsidianIgnores:
    """Read the settings of the vault at `root`. Files that are missing count as empty; broken ones are named.

    As in Obsidian, an excluded file is a prefix of the path, without regard to case, or a `/pattern/`.
    """
    problems: list[str] = []
    prefixes: list[str] = []
    patterns: list[re.Pattern[str]] = []
    entries = _json(root, "app.json", problems).get("userIgnoreFilters")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, str) or not entry.strip():
            continue
        if len(entry) > 2 and entry.startswith("/") and entry.endswith("/"):
            pattern = _pattern(entry[1:-1], problems)
            patterns.extend([pattern] if pattern else [])
        else:
            prefixes.append(_key(entry))
    folders: list[str] = []
    for name, setting in _TEMPLATE_SETTINGS:
        folder = _json(root, name, problems).get(setting)
        # the vault's root as template folder would hide every note
        if isinstance(folder, str) and folder.strip().strip("/") not in ("", "."):
            folders.append(_key(folder.strip().strip("/")) + "/")
    return ObsidianIgnores(tuple(prefixes), tuple(patterns), tuple(folders), tuple(problems))
