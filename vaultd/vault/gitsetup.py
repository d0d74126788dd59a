"""Teach git, in one clone, to merge notes property by property.

`.gitattributes` is synced and names the driver; what the driver is stands in each clone's own configuration, so every
clone is set up once. A clone without it, or whose vaultd is gone, merges as git always does: nothing is lost.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.core.errors import VaultError
from vaultd.vault.atomic import disk_errors
from vaultd.vault.merging import LEFT_TO_A_PERSON
from vaultd.vault.sync import git_folder
from vaultd.wholefile import write_whole

DRIVER: Final = "vaultd"
_BEGIN: Final = "# vaultd: merge notes property by property; each clone needs `vaultd git install` once"
_END: Final = "# vaultd: end"
_LINES: Final = (
    _BEGIN,
    f"*.md merge={DRIVER}",
    "**/.vaultd/machines/*/*.jsonl merge=union",
    "**/.vaultd/log/*.jsonl merge=union",
    _END,
)
_EXCLUDED: Final = (
    "# vaultd: what is being written, for some milliseconds; git add would stumble over it",
    ".vaultd-*.tmp",
    _END,
)
_TIMEOUT_S: Final = 30
_NAME_KEY: Final = f"merge.{DRIVER}.name"
_DRIVER_KEY: Final = f"merge.{DRIVER}.driver"


@dataclass(frozen=True, slots=True)
class GitStatus:
    """How one clone is set up. `driver_works` is None where no driver is set."""

    in_git: bool
    attributes: bool = False
    driver: bool = False
    driver_works: bool | None = None
    excluded: bool = False

    @property
    def complete(self) -> bool:
        """Whether notes are merged property by property here, and passing files are left alone."""
        return self.attributes and self.driver and bool(self.driver_works) and self.excluded


def driver_line(command: str) -> str:
    """The driver as git runs it: ours; where that is missing or broken, git's own merge with its ordinary markers."""
    return (
        f"{command} merge-file --driver %O %A %B %L %P; s=$?; "
        f"[ $s -eq 0 ] && exit 0; [ $s -eq {LEFT_TO_A_PERSON} ] && exit 1; "
        "exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
    )


def own_command() -> str:
    """How this very vaultd is called from a shell."""
    return f"{shlex.quote(sys.executable)} -m vaultd"


def install(root: Path, *, command: str | None = None) -> GitStatus:
    """Set up attributes and driver. Raises VaultError where the vault is in no git work tree."""
    _needs_git(root)
    for place, block in _blocks(root):
        _write_lines(place, [*_without(block, _lines(place)), *block])
    _git(root, "config", "--local", _NAME_KEY, "notes, property by property")
    _git(root, "config", "--local", _DRIVER_KEY, driver_line(command or own_command()))
    return status(root)


def uninstall(root: Path) -> GitStatus:
    """Take out what `install` set up. Raises VaultError where the vault is in no git work tree."""
    _needs_git(root)
    for place, block in _blocks(root):
        before = _lines(place)
        rest = _without(block, before)
        if rest != before:
            _write_lines(place, rest)
    subprocess.run(
        ["git", "-C", str(root), "config", "--local", "--remove-section", f"merge.{DRIVER}"],
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return status(root)


def status(root: Path) -> GitStatus:
    """How this clone is set up. Raises VaultError where git is missing."""
    if git_folder(root) is None:
        return GitStatus(in_git=False)
    line = _git(root, "config", "--get", _DRIVER_KEY, may_fail=True).strip()
    works = None
    if line:
        program = shlex.split(line)[0]
        works = Path(program).exists()
    attribute = _git(root, "check-attr", "merge", "--", "dynamic/note.md", may_fail=True).strip()
    ignored = _git(root, "check-ignore", "--", "dynamic/.vaultd-0.tmp", may_fail=True)
    return GitStatus(True, attribute.endswith(f": {DRIVER}"), bool(line), works, bool(ignored))


def _needs_git(root: Path) -> None:
    if git_folder(root) is None:
        raise VaultError(f"{root} is in no git work tree; `git init` it first")


def _git(root: Path, *arguments: str, may_fail: bool = False) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise VaultError(f"git can't be run: {exc}") from exc
    if done.returncode and not may_fail:
        raise VaultError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _blocks(root: Path) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    """The files that get some lines of ours, and which."""
    return (root / ".gitattributes", _LINES), (_exclude_file(root), _EXCLUDED)


def _exclude_file(root: Path) -> Path:
    """What this clone alone ignores; all work trees of a clone share it."""
    return root / _git(root, "rev-parse", "--git-path", "info/exclude").rstrip("\n")


def _lines(place: Path) -> list[str]:
    try:
        return place.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []


def _without(block: tuple[str, ...], lines: list[str]) -> list[str]:
    """The lines but for a block of ours, as this or another version wrote it."""
    if block[0] not in lines or _END not in lines[lines.index(block[0]) :]:
        return lines
    start = lines.index(block[0])
    return lines[:start] + lines[lines.index(_END, start) + 1 :]


def _write_lines(place: Path, lines: list[str]) -> None:
    with disk_errors(place.name):
        if not lines:
            place.unlink(missing_ok=True)
            return
        write_whole(place, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
