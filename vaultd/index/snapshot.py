"""What a mirror held when the daemon stopped, so that the next start need not work it out of the tables again.

    mark │ rows, slots, passages, words, labels │ keys │ shares │ vectors │ checksum

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
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from vaultd.config.files import PRIVATE
from vaultd.core.errors import IndexUnavailable
from vaultd.index.flatrows import flat_rows, rows_of
from vaultd.index.labels import Labels
from vaultd.index.mirror import Heads, Loaded, Mirror
from vaultd.index.postings import Postings
from vaultd.index.rows import Row
from vaultd.index.schema import SCHEMA_VERSION, embedding_tables
from vaultd.index.vectors import Batch, PassageRef

log = logging.getLogger(__name__)

_TABLES = ("notes", "contents")
_KEY_BYTES = 16
_MARK_BYTES = 16
_SIZE = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


class Snapshot:
    """One file beside the tables that lie in `folder`; `model` is whose embeddings are kept, "" for none."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model
        self._path = folder / "snapshot"

    def keep(self, mirror: Mirror, embeddings: Callable[[], Iterable[Batch]]) -> None:
        """Keep what a mirror holds, unless it is kept already. The tables hold all of it, and nobody writes any more."""
        fresh = self._path.with_suffix(".new")
        try:
            mark = self._mark()
            if self._head() == mark:
                return
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as file:
                file.write(mark)
                checksum = 0
                for part in (_packed(mirror), *_packed_embeddings(embeddings())):
                    for piece in (_SIZE.pack(sum(len(piece) for piece in part)), *part):
                        file.write(piece)
                        checksum = zlib.crc32(piece, checksum)
                file.write(_CHECKSUM.pack(checksum))
            fresh.replace(self._path)
        except (OSError, IndexUnavailable) as exc:
            log.info("the index is not kept for a quick start: %s", exc)
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)

    def read(self) -> tuple[Loaded, list[Batch]] | None:
        """What was kept, with the embeddings; None where that is not what the tables hold now."""
        try:
            mark = self._mark()
            with self._path.open("rb") as file:
                if file.read(_MARK_BYTES) != mark:
                    return None
                content = memoryview(file.read())
        except OSError as exc:
            if not isinstance(exc, FileNotFoundError):
                log.info("what was kept for a quick start cannot be read: %s", exc)
            return None
        end = len(content) - _CHECKSUM.size
        if end < 0 or zlib.crc32(content[:end]) != _CHECKSUM.unpack_from(content, end)[0]:
            return None
        parts = []
        while content[:end]:
            (size,) = _SIZE.unpack_from(content)
            parts.append(content[_SIZE.size : _SIZE.size + size])
            content, end = content[_SIZE.size + size :], end - _SIZE.size - size
        try:
            return _unpacked(parts[0]), _unpacked_embeddings(*parts[1:])
        except (EOFError, IndexError, KeyError, TypeError, ValueError) as exc:
            log.warning("what was kept for a quick start is not what it should be: %s", exc)
            return None

    def drop(self) -> None:
        """Keep nothing."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

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
        program = (importlib.metadata.version("vaultd"), sys.version, SCHEMA_VERSION)
        held: list[object] = [program, [field.name for field in fields(Row)], self._model]
        names = [*_TABLES, *sorted(embedding_tables(self._model, (place.name for place in self._folder.iterdir())))]
        for name in names:
            with os.scandir(self._folder / f"{name}.lance" / "_versions") as entries:
                stamps = ((entry.name, entry.stat()) for entry in entries)
                held.append((name, sorted((file, status.st_size, status.st_mtime_ns) for file, status in stamps)))
        return hashlib.blake2b(repr(held).encode(), digest_size=_MARK_BYTES).digest()


def _packed(mirror: Mirror) -> list[bytes | memoryview]:
    with mirror.lock:
        loaded, heads = mirror.loaded(), mirror.heads
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
    return [content]


def _unpacked(part: memoryview) -> Loaded:
    kept = marshal.loads(part)
    return Loaded(
        rows=rows_of(kept["rows"]),
        slots=kept["slots"],
        passages=[tuple(PassageRef(*ref) for ref in refs) for refs in kept["passages"]],
        body_words=Postings.of(kept["body_words"]),
        heads=Heads(Postings.of(kept["title_words"]), Labels(kept["tags"]), Labels(kept["domains"])),
    )


def _packed_embeddings(batches: Iterable[Batch]) -> Iterator[list[bytes | memoryview]]:
    """Keys, shares of CJK, vectors: the pieces of each."""
    batches = list(batches)
    yield [b"".join(keys) for keys, _, _ in batches]
    for arrays in ([shares for _, _, shares in batches], [vectors for _, vectors, _ in batches]):
        yield [np.ascontiguousarray(array, np.float32).reshape(-1).view(np.uint8).data for array in arrays]


def _unpacked_embeddings(keys: memoryview, shares: memoryview, vectors: memoryview) -> list[Batch]:
    count = len(keys) // _KEY_BYTES
    if not count:
        return []
    cut = [bytes(keys[i * _KEY_BYTES : (i + 1) * _KEY_BYTES]) for i in range(count)]
    return [(cut, np.frombuffer(vectors, np.float32).reshape(count, -1), np.frombuffer(shares, np.float32))]
