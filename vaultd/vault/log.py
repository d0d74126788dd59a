"""The write log: every write and move of this machine, with what is needed to take it back.

One file a machine, one JSON object a line, so that sync tools have nothing to quarrel over:

    {"n": 12, "at": "…", "op": "replace", "path": "dynamic/x.md", "before": "<checksum>", "after": "<checksum>",
     "group": "11", "why": "trace", "id": "a1b2c3d4e5f6", "splice": [start, length, "<old bytes, base64>"]}

A change is logged before it is made; one that then failed gets a line {"void": n}. The old bytes of a change are what
differs between the first and the last byte that differ: a changed property costs a line of some hundred bytes. Longer
differences lie compressed beside the log, by checksum. Entries leave by age and number, their bytes with them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from vaultd.core.errors import VaultError
from vaultd.core.note import NotePath
from vaultd.vault.atomic import disk_errors
from vaultd.vault.codec import checksum
from vaultd.wholefile import write_whole

INLINE_BYTES: Final = 2048
DAYS_KEPT: Final = 30
ENTRIES_KEPT: Final = 20_000
OBJECT_BYTES_KEPT: Final = 64 * 1024 * 1024


class Operation(StrEnum):
    """What was done to a file."""

    CREATE = "create"
    REPLACE = "replace"
    MOVE = "move"
    TRASH = "trash"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Splice:
    """How to get old bytes back from new ones: `length` bytes from `start` give way to `old`.

    Where `old` is None, the bytes lie beside the log under the name `stored`.
    """

    start: int
    length: int
    old: bytes | None
    stored: str = ""

    @classmethod
    def between(cls, old: bytes, new: bytes) -> Splice:
        """The shortest one splice that turns `new` into `old`."""
        start = _common_length(old, new)
        room = min(len(old), len(new)) - start
        end = _common_length(old[len(old) - room :][::-1], new[len(new) - room :][::-1])
        return cls(start, len(new) - end - start, old[start : len(old) - end])


def _common_length(one: bytes, other: bytes) -> int:
    """How many bytes two texts share at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log. `before` and `after` are checksums, None where no file was or is; `target` is set for moves."""

    number: int
    at: datetime
    operation: Operation
    path: NotePath
    target: NotePath | None
    before: str | None
    after: str | None
    group: str
    why: str
    note_id: str
    splice: Splice | None = None

    @property
    def undoable(self) -> bool:
        """Whether the log holds what is needed to take it back."""
        return self.operation is not Operation.DELETE and (
            self.operation is not Operation.REPLACE or self.splice is not None
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Writes that belong together and are undone together."""

    id: str
    why: str


_GROUP: ContextVar[Group | None] = ContextVar("vaultd_write_group", default=None)


class WriteLog:
    """The log of one machine below `state_dir`. Thread-safe; one process a machine writes it."""

    def __init__(self, state_dir: Path, machine_id: str) -> None:
        self._place = state_dir / "log" / f"{machine_id}.jsonl"
        self._objects = state_dir / "history" / "objects" / machine_id
        self._lock = threading.RLock()
        self._last = 0
        self._is_read = False

    @contextlib.contextmanager
    def together(self, why: str) -> Iterator[str]:
        """Writes made inside (also in threads started with this context) form one group; yields its id."""
        outer = _GROUP.get()
        if outer is not None:
            yield outer.id
            return
        with self._lock:
            group = Group(str(self._next_number()), why)
        token = _GROUP.set(group)
        try:
            yield group.id
        finally:
            _GROUP.reset(token)

    def add(
        self,
        operation: Operation,
        path: NotePath,
        *,
        at: datetime,
        target: NotePath | None = None,
        old: bytes | None = None,
        new: bytes | None = None,
        why: str = "",
        note_id: str = "",
    ) -> Entry:
        """Log a change that is about to be made. `old` and `new` are the file's bytes where it is read or written."""
        splice = (
            Splice.between(old, new) if operation is Operation.REPLACE and old is not None and new is not None else None
        )
        after = (
            new
            if operation in (Operation.CREATE, Operation.REPLACE)
            else None
            if operation is Operation.DELETE
            else old
        )
        group = _GROUP.get()
        with self._lock:
            number = self._next_number()
            entry = Entry(
                number=number,
                at=at,
                operation=operation,
                path=path,
                target=target,
                before=None if old is None else checksum(old),
                after=None if after is None else checksum(after),
                group=group.id if group else str(number),
                why=why or (group.why if group else ""),
                note_id=note_id,
                splice=splice,
            )
            self._append(self._to_json(entry))
        return entry

    def void(self, entry: Entry) -> None:
        """Say that a logged change was not made after all; not where the log went away with its disk."""
        with self._lock:
            if self._place.exists():
                self._append({"void": entry.number})

    def entries(self, *, note_id: str = "", path: str = "", limit: int = 50) -> tuple[Entry, ...]:
        """The newest entries, newest first; of one note by its id, or of one path (as source or target of a move)."""
        found: list[Entry] = []
        for entry in reversed(self._read()):
            if note_id and entry.note_id != note_id:
                continue
            if path and path not in (entry.path, entry.target):
                continue
            found.append(entry)
            if len(found) == limit:
                break
        return tuple(found)

    def group(self, entry_id: str) -> tuple[Entry, ...]:
        """All entries of a group, oldest first; `entry_id` is a group's id or the number of any entry of it."""
        known = self._read()
        ids = {entry.group for entry in known if str(entry.number) == entry_id} or {entry_id}
        return tuple(entry for entry in known if entry.group in ids)

    def compact(
        self,
        *,
        now: datetime,
        days: int = DAYS_KEPT,
        entries: int = ENTRIES_KEPT,
        object_bytes: int = OBJECT_BYTES_KEPT,
    ) -> int:
        """Let go of entries older than `days`, beyond the newest `entries`, or whose bytes no longer fit; how many."""
        with self._lock:
            known = self._read()
            kept = [entry for entry in known if entry.at >= now - timedelta(days=days)][-entries:]
            kept = self._within(kept, object_bytes)
            if len(kept) == len(known):
                return 0
            lines = b"".join(_line(self._to_json(entry)) for entry in kept)
            self._rewrite(lines)
            names = {entry.splice.stored for entry in kept if entry.splice is not None}
            if self._objects.is_dir():
                with disk_errors("write log"):
                    for place in self._objects.iterdir():
                        if place.name not in names:
                            place.unlink(missing_ok=True)
        return len(known) - len(kept)

    def _within(self, entries: Sequence[Entry], object_bytes: int) -> list[Entry]:
        room = object_bytes
        kept: list[Entry] = []
        for entry in reversed(entries):
            if entry.splice is not None and entry.splice.stored:
                room -= self._stored_size(entry.splice.stored)
            if room < 0:
                break
            kept.append(entry)
        return kept[::-1]

    def _to_json(self, entry: Entry) -> dict[str, object]:
        line: dict[str, object] = {
            "n": entry.number,
            "at": entry.at.isoformat(),
            "op": entry.operation.value,
            "path": entry.path,
            "group": entry.group,
        }
        optional = {
            "to": entry.target,
            "before": entry.before,
            "after": entry.after,
            "why": entry.why or None,
            "id": entry.note_id or None,
        }
        line.update({key: value for key, value in optional.items() if value is not None})
        if entry.splice is not None:
            line["splice"] = self._splice_to_json(entry.splice)
        return line

    def _stored_size(self, name: str) -> int:
        try:
            return (self._objects / name).stat().st_size
        except OSError:
            return 0

    def _splice_to_json(self, splice: Splice) -> list[object]:
        if splice.old is None:
            return [splice.start, splice.length, None, splice.stored]
        if len(splice.old) <= INLINE_BYTES:
            return [splice.start, splice.length, base64.b64encode(splice.old).decode()]
        place = self._objects / checksum(splice.old)
        if not place.exists():
            with disk_errors("write log"):
                write_whole(place, zlib.compress(splice.old, 6))
        return [splice.start, splice.length, None, place.name]

    def old_bytes(self, entry: Entry, new: bytes) -> bytes:
        """What stood there before a REPLACE entry, given what stands there since. Raises VaultError where it is lost."""
        splice = entry.splice
        if splice is None:
            raise VaultError(f"{entry.path}: the log holds no older bytes for entry {entry.number}")
        middle = splice.old
        if middle is None:
            try:
                middle = zlib.decompress((self._objects / splice.stored).read_bytes())
            except (OSError, zlib.error) as exc:
                raise VaultError(f"{entry.path}: the older bytes of entry {entry.number} are lost: {exc}") from exc
        old = new[: splice.start] + middle + new[splice.start + splice.length :]
        if checksum(old) != entry.before:
            raise VaultError(f"{entry.path}: the older bytes of entry {entry.number} are damaged")
        return old

    def _next_number(self) -> int:
        """One that no entry has; those of a vault that was not there at the start are looked at once it is."""
        if not self._is_read:
            self._is_read = self._place.exists()
            self._last = max([self._last, *(entry.number for entry in self._read())])
        self._last += 1
        return self._last

    def _append(self, line: Mapping[str, object]) -> None:
        with disk_errors("write log"):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            with self._place.open("a+b") as file:
                if file.tell() > 0:
                    file.seek(-1, os.SEEK_END)
                    # a crash may have left half a line, which must not swallow this one
                    torn = file.read(1) != b"\n"
                else:
                    torn = False
                file.write((b"\n" if torn else b"") + _line(line))

    def _rewrite(self, lines: bytes) -> None:
        with disk_errors("write log"):
            write_whole(self._place, lines)

    def _read(self) -> list[Entry]:
        try:
            raw = self._place.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise VaultError(f"the write log can't be read: {exc}") from exc
        found: dict[int, Entry] = {}
        for text in raw.split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line = json.loads(text)
                if "void" in line:
                    found.pop(line["void"], None)
                else:
                    entry = self._from_json(line)
                    found[entry.number] = entry
        return list(found.values())

    def _from_json(self, line: Mapping[str, object]) -> Entry:
        def text(key: str) -> str | None:
            value = line.get(key)
            return value if isinstance(value, str) else None

        number = line["n"]
        if not isinstance(number, int):
            raise TypeError("an entry's number")
        target = text("to")
        return Entry(
            number=number,
            at=datetime.fromisoformat(text("at") or ""),
            operation=Operation(text("op") or ""),
            path=NotePath(text("path") or ""),
            target=None if target is None else NotePath(target),
            before=text("before"),
            after=text("after"),
            group=text("group") or str(number),
            why=text("why") or "",
            note_id=text("id") or "",
            splice=_splice_from_json(line.get("splice")),
        )


def _splice_from_json(value: object) -> Splice | None:
    match value:
        case [int(start), int(length), str(old)]:
            return Splice(start, length, base64.b64decode(old))
        case [int(start), int(length), None, str(stored)]:
            return Splice(start, length, None, stored)
    return None


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
