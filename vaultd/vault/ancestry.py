"""Which of two notes with one id stood at its path first, by git's history: every clone with the same commits says the same.

A machine alone needs no such question: the path it knew keeps the id, and what appears beside it is a copy. But where one
machine renamed a note and another one edited or renamed it too, git leaves both files, and each machine knew another one.
"""

from __future__ import annotations

import logging
import math
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.core.note import NotePath
from vaultd.vault.sync import git_folder, is_git_synced

log = logging.getLogger(__name__)

MOST_ASKED: Final = 64  # questions to git's history for one commit; a folder that was copied whole asks for thousands
HEAD_ASKED_EVERY_S: Final = 1.0  # in a clone without a reflog
PAUSE_S: Final = 30.0  # after a question that git left open: the next notes need not wait for it as well
_TIMEOUT_S: Final = 10
_NONE: Final = 1  # git's exit code for "there is none"; a higher one says that it failed


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A commit, and its author's date in epoch seconds."""

    at: float
    commit: str


_NOT_YET: Final = _Arrival(float("inf"), "")


class _LeftOpen(Exception):
    """Git failed, or took too long."""


class Ancestry:
    """Answers from the history of the commit that is checked out. Blocks; called from one thread at a time."""

    def __init__(self, root: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._monotonic = monotonic
        self._paused_until = -math.inf
        self._head = ""
        self._head_asked: float | None = None
        self._mark: tuple[int, int] | None = None
        self._tracked: frozenset[str] = frozenset()
        self._arrivals: dict[NotePath, _Arrival] = {}

    def is_elder(self, one: NotePath, other: NotePath) -> bool:
        """Whether history has `one` at its path for longer than `other`; False where it can't tell (no git, neither
        committed, too many questions, a git that fails: that one is asked again after a while). Of two that came with
        the same commit the first by name is the elder.
        """
        if not is_git_synced(self._root) or self._monotonic() < self._paused_until:
            return False
        try:
            return self._is_elder(one, other)
        except _LeftOpen as exc:
            level = logging.WARNING if self._paused_until == -math.inf else logging.DEBUG  # said once
            log.log(level, "git does not say which of %s and %s was there first: %s", one, other, exc)
            self._paused_until = self._monotonic() + PAUSE_S
            return False

    def _is_elder(self, one: NotePath, other: NotePath) -> bool:
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
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD").strip()
        if head != self._head:
            listed = self._git("ls-tree", "-r", "-z", "--name-only", head) if head else ""
            self._head, self._tracked = head, frozenset(listed.split("\0"))
            self._arrivals.clear()
        self._head_asked, self._mark = now, mark  # not before: what was left open is asked again

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
            said = self._git("log", "-1", "--diff-filter=A", "--format=%at %H", self._head, "--", path).split()
            self._arrivals[path] = _Arrival(float(said[0]), said[1]) if len(said) == 2 else _NOT_YET
        return self._arrivals[path]

    def _git(self, *arguments: str) -> str:
        """What git says; nothing where there is none. Raises _LeftOpen."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self._root), *arguments],
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
                env=os.environ | {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"},
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise _LeftOpen(exc) from exc
        if done.returncode not in (0, _NONE):
            raise _LeftOpen(os.fsdecode(done.stderr).strip() or f"git {arguments[0]} ended with {done.returncode}")
        return os.fsdecode(done.stdout)
