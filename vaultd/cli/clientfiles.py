"""Settings files of other programs: put one entry in, keep everything else, and a backup."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from vaultd.config.files import read_text, write_text
from vaultd.core.errors import SettingsError

BOM: Final = "\ufeff"


class UnfitFile(ValueError):
    """A file that our entry cannot be put into without a risk for the rest."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a file; `backup` None where there was no file before."""

    changed: bool
    backup: Path | None = None

    @classmethod
    def into(cls, path: Path, merge: Callable[[str], str]) -> Written:
        """Replace the file's text by what `merge` makes of it. Raises SettingsError, and then nothing has changed."""
        before = read_text(path)
        try:
            after = merge(before or "")
        except UnfitFile as exc:
            raise SettingsError(
                f"{path}: {exc}; add the entry by hand (the command without --write prints it)"
            ) from exc
        if after == before:
            return cls(changed=False)
        backup = None
        if before is not None:
            backup = path.with_name(f"{path.name}.{datetime.now().astimezone():%Y%m%d-%H%M%S}.bak")
            try:
                shutil.copy2(path, backup)
            except OSError as exc:
                raise SettingsError(f"{backup}: cannot be written ({exc.strerror}); nothing was changed") from exc
        write_text(path, after)
        return cls(changed=True, backup=backup)


def merge_json(text: str, table: str, name: str, entry: Mapping[str, object]) -> str:
    """The JSON text with `entry` as `table`.`name`; indent and order as they were. Raises UnfitFile."""
    bare = text.removeprefix(BOM)
    try:
        found: Any = json.loads(bare) if bare.strip() else {}
    except ValueError as exc:
        raise UnfitFile(f"is not plain JSON ({exc})") from exc
    if not isinstance(found, dict) or not isinstance(found.setdefault(table, {}), dict):
        raise UnfitFile(f"has no object {table!r}")
    if found[table].get(name) == entry:
        return text
    found[table][name] = dict(entry)
    newline = "\r\n" if "\r\n" in text else "\n"
    ending = newline if not bare.strip() or bare.endswith("\n") else ""
    after = json.dumps(found, ensure_ascii=False, indent=_indent_of(bare)).replace("\n", newline)
    return text[: len(text) - len(bare)] + after + ending


def _indent_of(text: str) -> str:
    found = re.search(r"^\{\s*?\n([ \t]+)", text)
    return found[1] if found else "  "


def merge_toml(text: str, table: str, name: str, entry: Mapping[str, object]) -> str:
    """The TOML text with `entry` as [table.name]; every other line stays as it is. Raises UnfitFile."""
    bare = text.removeprefix(BOM)
    try:
        before: dict[str, Any] = tomllib.loads(bare)
    except tomllib.TOMLDecodeError as exc:
        raise UnfitFile(f"is not TOML ({exc})") from exc
    if before.get(table, {}).get(name) == entry:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    kept = _without_tables(bare, f"{table}.{name}")
    block = newline.join([f"[{table}.{name}]", *(f"{key} = {_toml(value)}" for key, value in entry.items())]) + newline
    gap = "" if not kept.strip() else newline if kept.endswith("\n") else newline * 2
    after = kept + gap + block
    if not _holds(after, {**before, table: {**before.get(table, {}), name: dict(entry)}}):
        raise UnfitFile(f"has {name!r} in a form that cannot be replaced safely")
    return text[: len(text) - len(bare)] + after


def _holds(text: str, wanted: Mapping[str, object]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _without_tables(text: str, name: str) -> str:
    """The text without the table `name` and those below it; comments above the next table belong to that one."""
    header = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?$")
    kept: list[str] = []
    held: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        found = header.match(line)
        if found:
            title = found[1].replace('"', "").replace("'", "")
            inside = title == name or title.startswith(f"{name}.")
            kept += held
            held = []
        if not inside:
            kept.append(line)
        elif line.strip().startswith("#"):
            held.append(line)
        elif line.strip():
            held = []
    return "".join(kept + held).rstrip("\r\n") + ("\n" if kept else "")


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
