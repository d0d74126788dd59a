"""Take back what the write log holds: every file byte for byte as it was, or nothing at all."""

from __future__ import annotations

from vaultd.core.errors import BadInput, UnwritableNote
from vaultd.core.note import NotePath, Receipt
from vaultd.vault.codec import checksum
from vaultd.vault.log import Entry, Operation
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter


def undo(writer: VaultWriter, reader: VaultReader, entry_id: str) -> tuple[Receipt, ...]:
    """Take back an entry of the log, or the whole group it belongs to, the newest change first.

    A file that is no longer as we left it is not touched, and then none is: UnwritableNote says which. BadInput for an
    unknown entry, or one whose file was removed for good. The undoing is logged as a group of its own: undo it to redo.
    """
    with writer.exclusively():
        entries = writer.log.group(entry_id)
        if not entries:
            raise BadInput(f"the write log has no entry {entry_id!r}; `vaultd log` lists them")
        _check_undoable(entries)
        _check_untouched(entries, reader)
        with writer.log.together(f"undo {entry_id}"):
            return tuple(_take_back(entry, writer, reader) for entry in reversed(entries))


def _check_undoable(entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        if not entry.undoable:
            raise BadInput(f"entry {entry.number} removed {entry.path} for good; it can't be undone")


def _check_untouched(entries: tuple[Entry, ...], reader: VaultReader) -> None:
    """Whether each file that the group touched is as the group's last change left it."""
    left: dict[NotePath, str | None] = {}
    for entry in entries:
        if entry.target is None:
            left[entry.path] = entry.after
        else:
            left[entry.path] = None
            left[entry.target] = entry.after
    for path, expected in left.items():
        raw = reader.read_bytes(path)
        if (None if raw is None else checksum(raw)) != expected:
            what = "is gone" if raw is None else "exists again" if expected is None else "was changed"
            raise UnwritableNote(path, f"{what} since; nothing was undone")


def _take_back(entry: Entry, writer: VaultWriter, reader: VaultReader) -> Receipt:
    if entry.operation is Operation.CREATE:
        return writer.delete(entry.path, permanent=False)
    if entry.target is not None:
        return writer.move(entry.target, entry.path, allow_own=True)
    raw = reader.read_bytes(entry.path)
    if raw is None:
        raise UnwritableNote(entry.path, "is gone since")
    old = writer.log.old_bytes(entry, raw)
    return writer.replace(entry.path, old, expected=checksum(raw), keep=False, allow_own=True)
