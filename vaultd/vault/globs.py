"""Exclude patterns as people know them from `.gitignore`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    negated: bool
    folders_only: bool


class Globs:
    """A list of patterns; the last one that matches decides, `!pattern` takes back, a folder's fate is its files'.

    `*` and `?` stop at a slash, `**` does not; a pattern with a slash in front or inside starts at the vault's root,
    any other matches at every depth; a slash at the end means folders only.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._rules = [rule for rule in map(_rule, patterns) if rule is not None]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, path: str) -> bool:
        """Whether a file is excluded, by itself or by a folder above it."""
        path = unicodedata.normalize("NFC", path)
        folder = path.rpartition("/")[0]
        return (bool(folder) and self.match_folder(folder)) or self._decide(path, folder=False)

    def match_folder(self, path: str) -> bool:
        """Whether a folder is excluded, by itself or by a folder above it."""
        parts = unicodedata.normalize("NFC", path).split("/")
        return any(self._decide("/".join(parts[: depth + 1]), folder=True) for depth in range(len(parts)))

    def _decide(self, path: str, *, folder: bool) -> bool:
        excluded = False
        for rule in self._rules:
            if (folder or not rule.folders_only) and rule.pattern.fullmatch(path):
                excluded = not rule.negated
        return excluded


def _rule(text: str) -> _Rule | None:
    text = unicodedata.normalize("NFC", text.rstrip())
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    if negated:
        text = text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    body = _translate(text.lstrip("/"))
    return _Rule(re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), negated, folders_only)


def _translate(glob: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(glob):
        step, piece = _piece(glob, at)
        out.append(piece)
        at += step
    return "".join(out)


def _piece(glob: str, at: int) -> tuple[int, str]:
    """How many characters the next part of a glob has, and its regular expression."""
    if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
        return 3, "(?:.*/)?"
    if glob.startswith("**", at):
        return 2, ".*"
    character = glob[at]
    if character == "*":
        return 1, "[^/]*"
    if character == "?":
        return 1, "[^/]"
    if character == "\\" and at + 1 < len(glob):
        return 2, re.escape(glob[at + 1])
    if character == "[":
        return _character_class(glob, at)
    return 1, re.escape(character)


def _character_class(glob: str, at: int) -> tuple[int, str]:
    end = glob.find("]", at + 2)
    if end < 0:
        return 1, re.escape("[")
    inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
    if inside[0] in "!^":
        inside = "^/" + inside[1:]
    try:
        re.compile(f"[{inside}]")
    except re.error:
        return end + 1 - at, re.escape(glob[at : end + 1])
    return end + 1 - at, f"[{inside}]"
