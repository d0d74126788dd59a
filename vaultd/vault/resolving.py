"""Which file a link means, as Obsidian decides it, and how a link must read after a move to still mean it."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaultd.core.note import NotePath
from vaultd.vault.links import Form, Link, find_links


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _without_suffix(path: str) -> str:
    return path[:-3] if path[-3:].lower() == ".md" else path


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


class Resolver:
    """The files of a vault, by name. `moved` renames some of them in thought."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_path: dict[str, NotePath] = {}
        self._by_name: dict[str, list[NotePath]] = {}
        for path in paths:
            self._add(NotePath(path))

    def _add(self, path: NotePath) -> None:
        self._by_path.setdefault(_key(path), path)
        self._by_name.setdefault(_key(path).rpartition("/")[2], []).append(path)

    def move(self, old: str, new: str) -> None:
        """Take note of a move that was made."""
        self.discard(old)
        self._add(NotePath(new))

    def discard(self, path: str) -> None:
        """Take note of a file that is gone."""
        found = self._by_path.pop(_key(path), None)
        if found is not None:
            self._by_name[_key(path).rpartition("/")[2]].remove(found)

    def add(self, path: str) -> None:
        """Take note of a new file."""
        if _key(path) not in self._by_path:
            self._add(NotePath(path))

    def resolve(self, target: str, source: str, *, moved: Mapping[str, str] | None = None) -> NotePath | None:
        """The file that `target`, written in the note `source`, means; None for none.

        A target with `./` or `../` is relative to the source, one with `/` in front starts at the root; any other means
        the file of that path, else the one whose path ends so: below the source's folder first, then the shortest.
        `moved` maps paths to where they are taken to be instead.
        """
        moves = moved or {}
        for name in (target, target + ".md") if target[-3:].lower() != ".md" else (target,):
            found = self._resolve(name, source, moves)
            if found is not None:
                return found
        return None

    def _resolve(self, name: str, source: str, moves: Mapping[str, str]) -> NotePath | None:
        if name.startswith("/"):
            return self._exact(name.lstrip("/"), moves)
        if name.startswith(("./", "../")):
            return self._exact(posixpath.normpath(posixpath.join(_folder(source), name)), moves)
        exact = self._exact(name, moves)
        if exact is not None:
            return exact
        key, folder = _key(name), _key(_folder(source))
        candidates = [path for path in self._named(key.rpartition("/")[2], moves) if _key(path).endswith("/" + key)]
        below = [path for path in candidates if not folder or _key(path).startswith(folder + "/")]
        return min(below or candidates, key=lambda path: (len(path), path), default=None)

    def _exact(self, path: str, moves: Mapping[str, str]) -> NotePath | None:
        key = _key(path)
        for new in moves.values():
            if _key(new) == key:
                return NotePath(new)
        found = self._by_path.get(key)
        return None if found is None or found in moves else found

    def _named(self, name_key: str, moves: Mapping[str, str]) -> list[NotePath]:
        found = [path for path in self._by_name.get(name_key, ()) if path not in moves]
        return found + [NotePath(new) for new in moves.values() if _key(new).rpartition("/")[2] == name_key]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The new bytes of a note, how many links changed, and those that could not be written in their own form."""

    raw: bytes
    changed: int
    failed: tuple[str, ...] = ()


def rewrite(raw: bytes, *, source: str, old: str, new: str, resolver: Resolver) -> Rewrite:
    """The bytes of the note `source` as they must be once `old` has become `new`; the resolver knows the vault before.

    Path-form links to the moved note are written anew, in their own form, where they would mean another file or none;
    bare `[[name]]` links only when the name itself changes. So are links to other notes that would come to mean the
    moved one, and, in the moved note itself (`source` is `old`), those that lead from its place to others. Everything
    else keeps its bytes.
    """
    text = raw.decode("utf-8", "surrogateescape")
    after = new if source == old else source
    pieces: list[str] = []
    failed: list[str] = []
    at = changed = 0
    for link in find_links(text):
        target = _new_target(link, source, after, old, new, resolver)
        if target is None:
            continue
        spelled = link.spell(target)
        if spelled is None:
            failed.append(link.written)
            continue
        pieces += [text[at : link.start], spelled]
        at = link.end
        changed += 1
    if not changed:
        return Rewrite(raw, 0, tuple(failed))
    pieces.append(text[at:])
    return Rewrite("".join(pieces).encode("utf-8", "surrogateescape"), changed, tuple(failed))


def _new_target(link: Link, source: str, after: str, old: str, new: str, resolver: Resolver) -> str | None:
    """What a link must say after the move; None where it may stay."""
    meant = resolver.resolve(link.target, source)
    if meant is None:
        return None
    renamed = _key(old).rpartition("/")[2] != _key(new).rpartition("/")[2]
    if link.bare and link.form is Form.WIKI and not (meant == old and renamed):
        return None
    moves = {old: new}
    goal = new if meant == old else meant
    if resolver.resolve(link.target, after, moved=moves) == goal:
        return None
    for target in _spellings(link.target, source, after, meant, goal):
        if resolver.resolve(target, after, moved=moves) == goal:
            return target
    return None


def _spellings(target: str, source: str, after: str, meant: str, goal: str) -> list[str]:
    """Ways to say `goal`, the one most like the link's own first; the full path always works."""
    suffixed = target[-3:].lower() == ".md"
    shown = goal if suffixed or goal[-3:].lower() != ".md" else _without_suffix(goal)
    relative = posixpath.relpath(shown, _folder(after) or ".")
    written = target if suffixed or meant[-3:].lower() != ".md" else target + ".md"
    if target.startswith("/"):
        return ["/" + shown]
    if target.startswith(("./", "../")):
        return [relative if relative.startswith("../") else "./" + relative, shown]
    if _key(written) == _key(meant) and "/" in written:
        return [shown]
    if "/" in target and _key(posixpath.join(_folder(source), written)) == _key(meant):
        return [relative, shown]
    depth = target.count("/") + 1
    return ["/".join(shown.split("/")[-depth:]), shown]
