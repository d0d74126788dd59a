"""Move a note and keep the links to it alive; one group in the write log, so that one undo takes all of it back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vaultd.core.errors import OutsideVault, UnreadableNote, VaultError
from vaultd.core.note import FileStamp, NotePath, Receipt, path_key
from vaultd.vault.layout import Layout
from vaultd.vault.links import find_links, possible_targets
from vaultd.vault.reader import Skipped, VaultReader
from vaultd.vault.resolving import Resolver, Rewrite, rewrite
from vaultd.vault.writer import VaultWriter

_CANVAS_SUFFIX = ".canvas"


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did: the note's own receipt, one for each note whose links changed, and what is left to a person."""

    receipt: Receipt
    rewritten: tuple[Receipt, ...] = ()
    left: tuple[Skipped, ...] = ()

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """All receipts, the moved note's first."""
        return (self.receipt, *self.rewritten)


@dataclass(frozen=True, slots=True)
class DeadLink:
    """A link that led to a note which is at `now`. `line` counts from 1; a canvas has none."""

    path: NotePath
    line: int | None
    written: str
    now: NotePath


class Mover:
    """Moves notes. Knows which notes link to which names; before a run of moves, `refresh` reads what changed.

    Within a run, `look` at what someone else may have changed.
    """

    def __init__(self, layout: Layout, reader: VaultReader, writer: VaultWriter) -> None:
        self._layout = layout
        self._reader = reader
        self._writer = writer
        self._stamps: dict[NotePath, FileStamp] = {}
        self._names_in: dict[NotePath, frozenset[str]] = {}
        self._linking: dict[str, set[NotePath]] = {}
        self._canvases: list[NotePath] = []
        self._resolver = Resolver(())

    def refresh(self) -> None:
        """Read the links of every note that changed since the last call. Raises VaultUnavailable."""
        scan = self._reader.scan()
        for path in self._stamps.keys() - scan.stamps.keys():
            self._forget(path)
        for path, stamp in scan.stamps.items():
            if self._stamps.get(path) != stamp:
                self._forget(path)
                self._learn(path, stamp)
        self._list_files()

    def look(self, paths: Iterable[NotePath]) -> None:
        """Read the links of these notes, where they changed, came or went since they were last read."""
        stamps = {path: self._reader.stamp(path) if self._layout.is_note(path) else None for path in paths}
        for path in [path for path, stamp in stamps.items() if stamp is None]:
            # before what came: it may be the same name with other capitals
            self._forget(path)
            self._resolver.discard(path)
            del stamps[path]
        for path, stamp in stamps.items():
            self._resolver.add(path)
            if self._stamps.get(path) != stamp:
                self._forget(path)
                self._learn(path, stamp)

    def move(self, path: NotePath, target: NotePath, *, why: str = "") -> Moved:
        """Move a note; then rewrite path-form links that would stop leading to it, each in its own form.

        Raises what `VaultWriter.move` raises; then nothing has changed. A note whose links can't be rewritten (read-only,
        busy, a path that its form can't carry) and a canvas that shows the note are named in `left`.
        """
        with self._writer.exclusively(), self._writer.log.together(why or "move"):
            receipt = self._writer.move(path, target, why=why)
            target = receipt.path
            left = [
                Skipped(canvas, f"a canvas shows {path}, which is now {target}") for canvas in self._canvases_with(path)
            ]
            rewritten: list[Receipt] = []
            for source in sorted(self._sources(path, target)):
                self._rewrite(source, path, target, rewritten, left)
            self._resolver.move(path, target)
            self._rename(path, target)
            settled = {done.path: done for done in rewritten}
            return Moved(settled.pop(target, receipt), tuple(settled.values()), tuple(left))

    def left_behind(self, moved: Mapping[NotePath, NotePath]) -> list[DeadLink]:
        """Links that lead nowhere since a note went from a path to another; `refresh` before."""
        found: list[DeadLink] = []
        for old, new in moved.items():
            for source in sorted(self._linking.get(_name(old), ())):
                found += self._dead_links(source, old, new)
            found += [DeadLink(canvas, None, str(old), new) for canvas in self._canvases_with(old)]
        return found

    def _dead_links(self, source: NotePath, old: NotePath, new: NotePath) -> Iterator[DeadLink]:
        try:
            text = (self._reader.read_bytes(source) or b"").decode("utf-8", "surrogateescape")
        except UnreadableNote:
            return
        for link in find_links(text):
            then = self._resolver.resolve(link.target, source, moved={new: old})
            if then == old and self._resolver.resolve(link.target, source) is None:
                yield DeadLink(source, text.count("\n", 0, link.start) + 1, link.written, new)

    def _sources(self, path: NotePath, target: NotePath) -> set[NotePath]:
        """The notes that may have to change: those that link to the old or the new name, and the note itself."""
        return {path}.union(*(self._linking.get(_name(name), ()) for name in (path, target)))

    def _rewrite(
        self, source: NotePath, old: NotePath, new: NotePath, rewritten: list[Receipt], left: list[Skipped]
    ) -> None:
        place = new if source == old else source
        last: list[Rewrite] = []

        def edit(raw: bytes) -> bytes:
            last[:] = [rewrite(raw, source=source, old=old, new=new, resolver=self._resolver)]
            return last[0].raw

        try:
            receipt = self._writer.change(place, edit, why="links", keep=False, allow_own=True)
        except VaultError as exc:
            # the move itself is done; a link that stays behind is told, and never a reason to stop half-way
            left.append(Skipped(place, f"its links to {old} were not rewritten: {exc}"))
            return
        if last and last[0].changed:
            rewritten.append(receipt)
            self._forget(place)
            self._learn(place, self._reader.stamp(place))
        left.extend(
            Skipped(place, f"its link {written} can't say {new}") for written in (last[0].failed if last else ())
        )

    def _learn(self, path: NotePath, stamp: FileStamp | None) -> None:
        try:
            raw = self._reader.read_bytes(path)
        except UnreadableNote:
            return
        if raw is None or stamp is None:
            return
        self._stamps[path] = stamp
        names: frozenset[str] = frozenset()
        if b"[[" in raw or b"](" in raw:
            names = frozenset(map(_name, possible_targets(raw.decode("utf-8", "surrogateescape"))))
        self._names_in[path] = names
        for name in names:
            self._linking.setdefault(name, set()).add(path)

    def _forget(self, path: NotePath) -> None:
        self._stamps.pop(path, None)
        for name in self._names_in.pop(path, frozenset()):
            self._linking[name].discard(path)

    def _rename(self, path: NotePath, target: NotePath) -> None:
        self._forget(path)
        self._forget(target)
        self._learn(target, self._reader.stamp(target))

    def _list_files(self) -> None:
        """Every file that a link may mean, attachments included."""
        files: list[str] = []
        self._canvases = []
        root = os.fspath(self._layout.root)
        for folder, folders, names in os.walk(root):
            inside = os.path.relpath(folder, root).replace(os.sep, "/")
            prefix = "" if inside == "." else inside + "/"
            folders[:] = [name for name in folders if not name.startswith(".")]
            files.extend(prefix + name for name in names if not name.startswith("."))
        self._resolver = Resolver(files)
        self._canvases = [NotePath(path) for path in files if path.lower().endswith(_CANVAS_SUFFIX)]

    def _canvases_with(self, path: NotePath) -> list[NotePath]:
        return [canvas for canvas in self._canvases if path_key(path) in self._files_in(canvas)]

    def _files_in(self, canvas: NotePath) -> set[str]:
        try:
            nodes = json.loads(self._reader.read_bytes(canvas) or b"{}").get("nodes", [])
            return {path_key(str(node["file"])) for node in nodes if "file" in node}
        except (ValueError, TypeError, AttributeError, UnreadableNote, OutsideVault):
            return set()


def _name(path: str) -> str:
    """What links to a file are looked up by: its name without folder and `.md`, as the file system may fold it."""
    name = path_key(path).rpartition("/")[2].casefold()
    return name.removesuffix(".md")
