"""One batch of paths → rows: present ones first, gone ones after, so that a move keeps its row and its embeddings."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Protocol

from vaultd.core import properties as keys
from vaultd.core.bucket import Role
from vaultd.core.note import FileStamp, Note, NotePath, path_key
from vaultd.core.properties import PropertyReader
from vaultd.index.mirror import Content, Mirror, Use
from vaultd.index.passages import passages_of
from vaultd.index.rows import Place, Row, derived_id, row_of
from vaultd.index.schema import ContentRow
from vaultd.index.tables import TableWriter
from vaultd.index.tokens import counted_words
from vaultd.index.vectors import PassageRef
from vaultd.vault import sync

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_NOTHING = Content({}, 0, ())


class Files(Protocol):
    """What the indexer needs of the vault: reading, and which role a path has."""

    def read(self, path: NotePath) -> Note | None:
        """The note at a path, None where there is none."""

    def stamp(self, path: NotePath) -> FileStamp | None:
        """What the directory says of a path, None where there is no note."""


@dataclass(slots=True)
class BatchReport:
    """What a batch did. `looked` are its paths; `contents` are ids whose body changed; `failed` are paths that could not
    be looked at.
    """

    looked: tuple[NotePath, ...] = ()
    put: list[str] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    removed: list[Row] = field(default_factory=list)
    moved: list[tuple[str, NotePath, NotePath]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    failed: list[NotePath] = field(default_factory=list)


class Indexer:
    """Looks at paths and makes mirror and tables say what the files say. Called from one thread at a time.

    `aside` are the numbered copies that cloud drives put beside a note, as they were when they were last looked at.
    Where `is_note` says no, a note is gone for the index, though its file may be there: a person excluded it.
    Notes at paths in `anew` are stored once as if the index did not know them. `is_elder` says whether the first path
    takes the id from the second, which the index knows to have it, whatever was seen here.
    """

    def __init__(
        self,
        files: Files,
        place_of: Callable[[str], Place],
        mirror: Mirror,
        tables: TableWriter,
        use_of: Callable[[str], Use],
        key_of: Callable[[str], bytes],
        zone: tzinfo = UTC,
        is_elder: Callable[[NotePath, NotePath], bool] = lambda _one, _other: False,
        is_note: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._files = files
        self._place_of = place_of
        self._mirror = mirror
        self._tables = tables
        self._use_of = use_of
        self._key_of = key_of
        self._zone = zone
        self._is_elder = is_elder
        self._is_note = is_note
        self.aside: dict[NotePath, FileStamp] = {}
        self.anew: set[NotePath] = set()

    def apply(
        self, paths: Iterable[NotePath], admits: Callable[[Sequence[NotePath]], bool] = lambda _: True
    ) -> BatchReport:
        """Look at each path once. One note that fails is logged and counted; the others go on.

        `admits` is asked whether the notes that are gone, and stand nowhere else now, may leave.
        """
        report = BatchReport(tuple(dict.fromkeys(paths)))
        present: list[Note] = []
        gone: list[NotePath] = []
        for path in report.looked:
            try:
                note = self._files.read(path) if self._is_note(path) else None
            except Exception:
                log.exception("could not look at %s", path)
                report.failed.append(path)
                continue
            if note is None:
                gone.append(path)
            else:
                present.append(note)
        vanished = self._vanished(gone)
        for note in sorted(present, key=lambda n: (len(n.path), n.path)):
            self._put(note, vanished, report)
        missed = [path for path in gone if self._mirror.is_only_one(path)]
        held = set() if not missed or admits(missed) else set(missed)
        for path in gone:
            self.aside.pop(path, None)
            if path not in held:
                self._remove(path, report)
        looked = {*gone, *(note.path for note in present)}
        for path in [path for path in self.aside if sync.numbered_sibling(path) in looked]:
            self._look_again(path, report)
        self._mirror.fold()
        return report

    def _vanished(self, gone: Sequence[NotePath]) -> dict[str, Row | None]:
        """Rows without an id of their own that vanished, by checksum; None where the checksum is not unique."""
        rows: dict[str, Row | None] = {}
        for path in gone:
            row = self._mirror.by_path(path)
            if row is not None and row.role is Role.BUCKET and not row.has_id:
                rows[row.checksum] = None if row.checksum in rows else row
        return rows

    def _look_again(self, path: NotePath, report: BatchReport) -> None:
        """A copy that was set aside: its original is gone, or may have another id now."""
        del self.aside[path]
        self._put_again(path, report)

    def _is_aside(self, note: Note, place: Place, before: Row | None, report: BatchReport) -> bool:
        """Whether a note is a cloud drive's numbered copy of another, by name and id; then it has no row."""
        self.aside.pop(note.path, None)
        original = sync.numbered_sibling(note.path) if place.role in (Role.BUCKET, Role.CARD) else None
        if original is None:
            return False
        holder = self._mirror.get(PropertyReader(note.properties).text(keys.ID))
        if holder is None or path_key(holder.path) != path_key(original) or self._files.stamp(holder.path) is None:
            return False
        self.aside[note.path] = note.stamp
        if before is not None:
            self._remove(note.path, report)
        return True

    def _put(self, note: Note, vanished: dict[str, Row | None], report: BatchReport) -> None:
        place = self._place_of(note.path)
        before = self._mirror.by_path(note.path)
        if self._is_aside(note, place, before, report):
            return
        if (
            note.problem is not None
            and not note.problem.writable
            and before is not None
            and (not before.problem or before.stale)
        ):
            row = before.with_problem(note)
            report.problems.append(row.id)
            self._store(row, None, report)
            return
        note_id = self._id_of(note, place, before, vanished)
        known = self._mirror.get(note_id)
        if known is not None and known.path != note.path:
            report.moved.append((note_id, known.path, note.path))
        if before is not None and before.id != note_id:
            self._mirror.remove(before.id)
            self._tables.remove(before.id)
        row = row_of(note, place, note_id, known, self._zone)
        anew = note.path in self.anew
        self.anew.discard(note.path)
        if row == known and not anew:
            return
        if row.problem:
            report.problems.append(note_id)
        content = None
        if anew or known is None or known.body_key != row.body_key:
            # conversations are not searched: their words would only weigh on those of memories
            content = _NOTHING if place.role is Role.CONVERSATION else self._content(note.body)
            report.contents.append(note_id)
        self._store(row, content, report)
        if known is not None and path_key(known.path) != path_key(note.path):
            self._put_again(known.path, report)

    def _put_again(self, path: NotePath, report: BatchReport) -> None:
        """A note without a row, if it is there: its id went to another one, or its original is gone."""
        note = self._files.read(path)
        if note is not None:
            self._put(note, {}, report)

    def _store(self, row: Row, content: Content | None, report: BatchReport) -> None:
        with self._mirror.lock:  # a recall in between would be added to the count before it
            self._mirror.put(row, content, self._use_of(row.id))
        body = None
        if content is not None:
            body = ContentRow(row.id, row.body_key, content.words, content.length, content.passages)
        self._tables.put(row, body)
        report.put.append(row.id)

    def _content(self, body: str) -> Content:
        words, length = counted_words(body)
        refs = tuple(PassageRef(self._key_of(p.text), p.start, p.end) for p in passages_of(body))
        return Content(words, length, refs)

    def _id_of(self, note: Note, place: Place, before: Row | None, vanished: dict[str, Row | None]) -> str:
        if place.role not in (Role.BUCKET, Role.CARD):
            return derived_id(note.path)
        wanted = PropertyReader(note.properties).text(keys.ID)
        if not _ID.fullmatch(wanted):
            if before is not None and not before.has_id:
                return before.id
            left = vanished.pop(note.checksum, None)
            return left.id if left is not None else derived_id(note.path)
        holder = self._mirror.get(wanted)
        if holder is None or path_key(holder.path) == path_key(note.path):
            return wanted
        if self._files.stamp(holder.path) is None:
            return wanted
        if sync.numbered_sibling(holder.path) == note.path:
            # the cloud drive's copy was seen before its original
            self.aside[holder.path] = holder.stamp
            return wanted
        # a copy: the path already known keeps the id, unless history knows better
        return wanted if self._is_elder(note.path, holder.path) else derived_id(note.path, wanted)

    def _remove(self, path: NotePath, report: BatchReport) -> None:
        row = self._mirror.by_path(path)
        if row is None:
            return
        if row.path != path and self._files.stamp(row.path) is not None:
            return  # the same name, spelled with other code points, is there
        self._mirror.remove(row.id)
        self._tables.remove(row.id)
        report.removed.append(row)
