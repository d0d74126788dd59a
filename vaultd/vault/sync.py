"""What sync tools leave behind: conflict copies, numbered siblings, evicted files, merges under way."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from vaultd.core.note import NotePath

# The name of a conflict copy without `.md`; each pattern's first group is the original's name.
# "(conflict …)" alone is no proof, it may be a title; a date behind it is.
_CONFLICT_NAMES: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # Syncthing; versions before 0.14 gave no device
        r"(.+?)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?",
        # Nextcloud, ownCloud, Dropbox (with the owner in front), Obsidian Sync (capital C, the device behind)
        r"(.+?) \((?:[^()]{1,80}? )?conflicted copy(?: [^()]*(?:\(\d+\))?)?\)",
        # Dropbox in other languages
        (
            r"(.+?) ?[(（][^()（）]{0,80}(?:的冲突副本|的衝突複本|in konflikt stehende kopie|copie en conflit"
            r"|copia en conflicto)[^()（）]*(?:\(\d+\))?[)）]"
        ),
        # clients that say "conflict" only
        r"(.+?) \(conflict(?: copy)?[ -][^()]*\d{4}-?\d{2}-?\d{2}[^()]*\)",
        # ownCloud before 2.5, Nextcloud before 2.6
        r"(.+?)_conflict-\d{8}-\d{6}",
        # Seafile
        r"(.+?) \(SFConflict [^()]+\)",
        # pCloud
        r"(.+?) ?\[conflicted\](?: ?\(\d+\))?",
    )
)
_CONFLICT_HINT: Final = re.compile(r"[ck]onfli[ck]t|冲突|衝突", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(.+?)(?: \((?:[1-9]|[1-9]\d)\)| (?:[2-9]|[1-9]\d))", re.DOTALL)
_TEMPORARY: Final = re.compile(
    r"\.syncthing\..*|~syncthing~.*|\.vaultd-.*\.tmp|.*\.tmp|.*~|\..*\.sw[a-z]|4913|~\$.*|.*\.(?:part|partial|crdownload|bak)",
    re.IGNORECASE | re.DOTALL,
)
_EVICTED: Final = re.compile(r"\.(.+)\.icloud", re.DOTALL)

SF_DATALESS: Final = 0x40000000  # macOS: the content lives in the cloud, reading would fetch it
RECALL_ON_DATA_ACCESS: Final = 0x00400000  # Windows: the same for OneDrive

_GIT_MARKS: Final = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


def _split(path: str) -> tuple[str, str, str]:
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    return (folder + slash, stem, dot + extension) if dot else (folder + slash, name, "")


def conflict_original(path: str) -> NotePath | None:
    """The note that a sync tool's conflict copy was made of; None where `path` is no conflict copy by its name."""
    folder, stem, extension = _split(path)
    original = stem
    # a copy of a copy carries two marks
    while (match := _first_match(original)) is not None:
        original = match
    return None if original == stem else NotePath(folder + original + extension)


def _first_match(stem: str) -> str | None:
    if not _CONFLICT_HINT.search(stem):
        return None
    for pattern in _CONFLICT_NAMES:
        match = pattern.fullmatch(stem)
        if match:
            return match[1]
    return None


def is_conflict_copy(path: str) -> bool:
    """Whether the name alone says that a sync tool put this file aside."""
    return conflict_original(path) is not None


def numbered_sibling(path: str) -> NotePath | None:
    """`a 2.md`, `a (1).md` → `a.md`: a copy by iCloud or a cloud drive, *if* both carry one id; that is for the caller."""
    folder, stem, extension = _split(path)
    match = _NUMBERED.fullmatch(stem)
    return NotePath(folder + match[1] + extension) if match else None


def is_temporary(name: str) -> bool:
    """Whether a file name (without folder) is an editor's or a sync tool's passing file."""
    return _TEMPORARY.fullmatch(name) is not None


def evicted_original(name: str) -> str | None:
    """`.a.md.icloud` → `a.md`: iCloud took the content away; the note is not deleted."""
    match = _EVICTED.fullmatch(name)
    return match[1] if match else None


def is_dataless(status: os.stat_result) -> bool:
    """Whether reading this file would fetch it from a cloud (macOS file provider, Windows cloud files)."""
    flags = getattr(status, "st_flags", 0)
    attributes = getattr(status, "st_file_attributes", 0)
    return bool(flags & SF_DATALESS or attributes & RECALL_ON_DATA_ACCESS)


def git_folder(root: Path) -> Path | None:
    """The git directory that `root` belongs to (its own or a parent's; worktrees and submodules too); None without git."""
    for folder in (root, *root.parents):
        place = folder / ".git"
        try:
            mode = place.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
            return place
        return _linked_git_folder(place)
    return None


def _linked_git_folder(place: Path) -> Path | None:
    try:
        text = place.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    first = text.splitlines()[0] if text else ""
    if not first.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(place.parent / first.removeprefix("gitdir:").strip()))


def is_git_synced(root: Path) -> bool:
    """Whether the vault lies in a git work tree."""
    return git_folder(root) is not None


def merge_under_way(root: Path) -> str | None:
    """`merge`, `rebase`, `cherry-pick` or `revert` while git is in the middle of one; None otherwise."""
    place = git_folder(root)
    if place is None:
        return None
    for mark, what in _GIT_MARKS.items():
        if (place / mark).exists():
            return what
    return None
