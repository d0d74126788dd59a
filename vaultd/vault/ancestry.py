"""Which of two notes with one id stood at its path first, by git's history: every clone with the same commits says the same.

A machine alone needs no such question: the path it knew keeps the id, and what appears beside it is a copy. But where one
machine renamed a note and another one edited or renamed it too, git leaves both files, and each machine knew another one.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.core.note import NotePath
from vaultd.vault.sync import git_folder, is_git_synced

MOST_ASKED: Final = 64  # questions to git's history for one commit; a folder that was copied whole asks for thousands
HEAD_ASKED_EVERY_S: Final = 1.0  # in a clone without a reflog
_TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A commit, and its author's date in epoch seconds."""

    at: float
    commit: str


_NOT_YET: Final = _Arrival(float("inf"), "")


class Ancestry:
    """Answers from the history of the commit that is checked out. Blocks; called from one thread at a time."""

    def __init__(self, root: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._monotonic = monotonic
        self._head = ""
        self._head_asked: float | None = None
        self._mark: tuple[int, int] | None = None
        self._tracked: frozenset[str] = frozenset()
        self._arrivals: dict[NotePath, _Arrival] = {}

    def is_elder(self, one: NotePath, other: NotePath) -> bool:
        """Whether history has `one` at its path for longer than `other`; False where it can't tell (no git, neither
        committed, too many questions). Of two that came with the same commit the first by name is the elder.
        """
        if not is_git_synced(self._root):
            return False
        self._refresh()
        came, other_came = self._arrival(one), self._arrival(other)
        if came is None or other_came is None or came == other_came == _NOT_YET:
            return False
        if came.at == other_came.at and came.commit != other_came.commit:
            return self._precedes(came.commit, other_came.commit, otherwise=one < other)
        return (came.at, one) < (other_came.at, other)

    def _precedes(self, commit: str, later: str, *, otherwise: bool) -> bool:
        """Of two commits of one second, whether the first is the other's ancestor."""
        common = self._git("merge-base", commit, later).strip()
        return otherwise if common not in (commit, later) else common == commit

    def _refresh(self) -> None:
        now, mark = self._monotonic(), self._reflog_mark()
        fresh = self._head_asked is not None and now - self._head_asked < HEAD_ASKED_EVERY_S
        if mark == self._mark and (fresh or mark is not None):
            return
        self._head_asked, self._mark = now, mark
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD").strip()
        if head != self._head:
            self._head = head
            self._arrivals.clear()
            self._tracked = frozenset(self._git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0"))

    def _reflog_mark(self) -> tuple[int, int] | None:
        """Changes whenever another commit is checked out; None where this clone keeps no reflog."""
        folder = git_folder(self._root)
        try:
            status = None if folder is None else (folder / "logs" / "HEAD").stat()
        except OSError:
            return None
        return None if status is None else (status.st_size, status.st_mtime_ns)

    def _arrival(self, path: NotePath) -> _Arrival | None:
        """With which commit a path came into history the last time; None where that is not to be asked."""
        if path not in self._tracked:
            return _NOT_YET
        if path not in self._arrivals:
            if len(self._arrivals) >= MOST_ASKED:
                return None
            # the author's date: a rebase makes commits anew, but keeps it
            said = self._git("log", "-1", "--diff-filter=A", "--format=%at %H", "HEAD", "--", path).split()
            self._arrivals[path] = _Arrival(float(said[0]), said[1]) if len(said) == 2 else _NOT_YET
        return self._arrivals[path]

    def _git(self, *arguments: str) -> str:
        """What git says; nothing where it can't be asked."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self._root), *arguments],
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
                env=os.environ | {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return os.fsdecode(done.stdout) if done.returncode == 0 else ""
