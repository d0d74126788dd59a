"""A file or a folder on this machine as an upload: a file is copied, a folder's notes are put into a ZIP."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from vaultd.core.errors import BadInput
from vaultd.vault.atomic import disk_errors

TAKEN: Final = frozenset((".md", ".markdown", ".txt", ".json"))
_SKIPPED_FOLDERS: Final = frozenset((".obsidian", ".trash", ".git", ".vaultd", ".stversions", "node_modules"))
_EARLIEST_IN_ZIP: Final = 1980


def pack_folder(path: Path, target: Path, most_bytes: int) -> int:
    """Copy what is to be imported to `target`; its size in bytes. Links are not followed.

    Raises BadInput where there is nothing to import, or too much; VaultError where the disk does not take it.
    """
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or folder")
    if path.is_file():
        if path.stat().st_size > most_bytes:
            raise BadInput(f"{path.name}: has more than {most_bytes / 2**30:g} GiB; that is the most")
        with disk_errors(str(target)):
            shutil.copyfile(path, target)
        return target.stat().st_size
    return _pack(path, target, most_bytes)


def _pack(folder: Path, target: Path, most_bytes: int) -> int:
    size = count = 0
    with disk_errors(str(target)), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in _files(folder):
            size += file.stat().st_size
            if size > most_bytes:
                raise BadInput(f"{folder.name}: holds more than {most_bytes / 2**30:g} GiB; that is the most")
            name = file.relative_to(folder.parent).as_posix().encode("utf-8", "replace").decode()
            info = zipfile.ZipInfo(name, _moment_in_zip(file))
            info.compress_type = zipfile.ZIP_DEFLATED
            with file.open("rb") as source, archive.open(info, "w", force_zip64=True) as packed:
                shutil.copyfileobj(source, packed)
            count += 1
    if not count:
        raise BadInput(f"{folder}: holds no .md, .txt or .json file")
    return target.stat().st_size


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            file = Path(place, name)
            if file.suffix.lower() in TAKEN and file.is_file() and not file.is_symlink():
                yield file


def _moment_in_zip(file: Path) -> tuple[int, int, int, int, int, int]:
    """A file's last change as a ZIP writes it, in local time."""
    changed = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
    year = min(max(changed.year, _EARLIEST_IN_ZIP), 2107)
    return (year, changed.month, changed.day, changed.hour, changed.minute, changed.second)
