"""What a mirror held when the daemon stopped, so that the next start need not work it out of the tables again.

    mark │ checksum │ rows, slots, passages, words, labels

It holds as long as the tables are, to the last version, what they were then, and as the program is the same: that is
its mark. Whatever is wrong with it, the tables are read instead; it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import logging
import marshal
import os
import sys
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

from vaultd.config.files import PRIVATE
from vaultd.index.flatrows import flat_rows, rows_of
from vaultd.index.labels import Labels
from vaultd.index.mirror import Heads, Loaded
from vaultd.index.postings import Postings
from vaultd.index.rows import Row
from vaultd.index.schema import SCHEMA_VERSION
from vaultd.index.vectors import PassageRef

log = logging.getLogger(__name__)

_TABLES = ("notes", "contents")
_MARK_BYTES = 16
_CHECKSUM_BYTES = 4


class Snapshot:
    """One file beside the tables that lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "snapshot"

    def keep(self, loaded: Loaded) -> None:
        """Keep this, unless it is kept already. The tables hold all of it, and nobody writes to them any more."""
        heads = loaded.heads or Heads.of(loaded.rows, loaded.slots)
        fresh = self._path.with_suffix(".new")
        try:
            mark = self._mark()
            if self._head() == mark:
                return
            content = marshal.dumps(
                {
                    "rows": flat_rows(loaded.rows),
                    "slots": list(loaded.slots),
                    "passages": [[(ref.key, ref.start, ref.end) for ref in refs] for refs in loaded.passages],
                    "body_words": loaded.body_words.flat(),
                    "title_words": heads.title_words.flat(),
                    "tags": heads.tags.slots,
                    "domains": heads.domains.slots,
                }
            )
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as file:
                file.write(mark + _checksum(content))
                file.write(content)
            fresh.replace(self._path)
        except OSError as exc:
            log.info("the index is not kept for a quick start: %s", exc)
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)

    def read(self) -> Loaded | None:
        """What was kept, None where that is not what the tables hold now."""
        try:
            mark = self._mark()
            with self._path.open("rb") as file:
                if file.read(len(mark)) != mark:
                    return None
                checksum, content = file.read(_CHECKSUM_BYTES), file.read()
            return _loaded(marshal.loads(content)) if _checksum(content) == checksum else None
        except OSError as exc:
            if not isinstance(exc, FileNotFoundError):
                log.info("what was kept for a quick start cannot be read: %s", exc)
            return None

    def _head(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                return file.read(_MARK_BYTES)
        except FileNotFoundError:
            return b""

    def _mark(self) -> bytes:
        """A hash of what must be the same for the content to hold: the program, and the versions of the tables.

        Raises OSError where a table is not there.
        """
        held = [
            importlib.metadata.version("vaultd"),
            sys.version,
            SCHEMA_VERSION,
            [field.name for field in fields(Row)],
        ]
        for name in _TABLES:
            with os.scandir(self._folder / f"{name}.lance" / "_versions") as entries:
                stamps = ((entry.name, entry.stat()) for entry in entries)
                held.append(sorted((file, status.st_size, status.st_mtime_ns) for file, status in stamps))
        return hashlib.blake2b(repr(held).encode(), digest_size=_MARK_BYTES).digest()


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big")


def _loaded(kept: dict[str, Any]) -> Loaded:
    return Loaded(
        rows=rows_of(kept["rows"]),
        slots=kept["slots"],
        passages=[tuple(PassageRef(*ref) for ref in refs) for refs in kept["passages"]],
        body_words=Postings.of(kept["body_words"]),
        heads=Heads(Postings.of(kept["title_words"]), Labels(kept["tags"]), Labels(kept["domains"])),
    )
