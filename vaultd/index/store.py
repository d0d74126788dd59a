"""The LanceDB tables: where rows, words and embeddings last. Everything here can be made again from the vault.

    notes                       one row a note, without its body; changes with every property
    contents                    one row a note: words with counts, passages; changes with the body only
    embeddings_<model>_<dim>    key → vector; only ever added to, so that nothing is computed twice

The writer runs in one thread of its own, behind the mirror: the mirror is what answers, the tables are what a
restart reads. A crash between the two costs a look at the notes that changed last.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import IndexUnavailable, StorageFull
from vaultd.index.lance import import_lancedb
from vaultd.index.mirror import Loaded
from vaultd.index.postings import Postings
from vaultd.index.rows import Row
from vaultd.index.schema import (
    ContentRow,
    content_schema,
    embedding_schema,
    embedding_table,
    embedding_tables,
    note_schema,
    pack_contents,
    pack_rows,
    unpack_passages,
    unpack_rows,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

FRAGMENTS_BEFORE_COMPACTION = 120
VERSIONS_KEPT = timedelta(seconds=10)  # a scan of the embeddings may be under way in another thread
_TABLES = {"notes", "contents"}
_SESSION_INDEX_BYTES = 1 << 20
_SESSION_METADATA_BYTES = 1 << 20
_BROKEN_MANIFESTS_TO_DROP = 3
_IDS_PER_DELETE = 500


def _server(uri: str) -> dict[str, str]:
    """Where a LanceDB Cloud or Enterprise database is; LanceDB itself takes only its key from the environment."""
    if not uri.startswith("db://"):
        return {}
    named = {"region": "LANCEDB_REGION", "host_override": "LANCEDB_HOST_OVERRIDE"}
    return {key: os.environ[variable] for key, variable in named.items() if os.environ.get(variable)}


class Store:
    """The tables of one vault's index, in a folder of this machine or at a LanceDB address.

    Synchronous. One thread writes; embeddings may be read from another one meanwhile.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        self._uri = uri
        self._options = dict(storage_options or {})
        self._local = "://" not in uri
        self._db: Any = None
        self._tables: dict[str, Any] = {}
        self._commits = 0
        self._model = ""
        self._embeddings = ""

    # -- opening --------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """Where the tables lie on this machine; None where they are elsewhere, and others may use them too."""
        return Path(self._uri) if self._local else None

    @property
    def is_open(self) -> bool:
        """Whether the tables can be read and written."""
        return self._tables.keys() >= _TABLES

    def open(self, model: str) -> None:
        """Open or make the tables; what cannot be opened is mended, or put aside and made anew.

        The table of `model`'s embeddings is made when the first one comes, since only then its dimension is known.

        Raises IndexUnavailable, StorageFull.
        """
        os.environ.setdefault("LANCEDB_LOG", "error")
        lancedb = import_lancedb(whole=self._uri.startswith("db://"))

        session = lancedb.Session(
            index_cache_size_bytes=_SESSION_INDEX_BYTES, metadata_cache_size_bytes=_SESSION_METADATA_BYTES
        )
        with _mapped("open the index"):
            if self._local:
                Path(self._uri).mkdir(parents=True, exist_ok=True)
            self._db = lancedb.connect(
                self._uri,
                read_consistency_interval=timedelta(0),
                storage_options=self._options or None,
                session=session,
                **_server(self._uri),
            )
        self._tables["notes"] = self._open_table("notes", note_schema())
        self._tables["contents"] = self._open_table("contents", content_schema())
        self._model = model
        self._embeddings = ""
        for name in sorted(embedding_tables(model, self._names())):
            self._open_embeddings(int(name.rpartition("_")[2]))

    def _names(self) -> set[str]:
        with _mapped("open the index"):
            return set(self._db.list_tables().tables)

    def _open_embeddings(self, dimension: int) -> None:
        self._embeddings = embedding_table(self._model, dimension)
        self._tables[self._embeddings] = self._open_table(self._embeddings, embedding_schema(dimension))

    def _open_table(self, name: str, schema: Any) -> Any:
        if name in self._names():
            for _ in range(_BROKEN_MANIFESTS_TO_DROP + 1):
                try:
                    table = self._db.open_table(name)
                    if table.schema.metadata == schema.metadata and table.schema.names == schema.names:
                        table.count_rows()
                        return table
                    log.info("the table %s has another schema; it is made anew", name)
                    break
                except (RuntimeError, OSError, ValueError) as exc:
                    if not self._local:  # others may use it; a storage that fails for a moment must not cost it
                        raise IndexUnavailable(
                            f"the table {name} of the index at {self._uri} does not open: {exc}; if it stays so, "
                            "delete what lies there, it is made anew from the vault"
                        ) from exc
                    log.warning("the table %s does not open (%s); trying the version before", name, exc)
                    if not self._drop_newest_manifest(name):
                        break
            self._put_aside(name)
        with _mapped("make the index"):
            return self._db.create_table(name, schema=schema, mode="overwrite")

    def _drop_newest_manifest(self, name: str) -> bool:
        if not self._local:
            return False
        manifests = sorted(
            (Path(self._uri) / f"{name}.lance" / "_versions").glob("*.manifest"), key=lambda p: p.stat().st_mtime_ns
        )
        if len(manifests) < 2:
            return False
        manifests[-1].unlink()
        return True

    def _put_aside(self, name: str) -> None:
        """A table that cannot be used is removed: everything in it can be made again from the vault."""
        if self._local:
            shutil.rmtree(Path(self._uri) / f"{name}.lance", ignore_errors=True)
        else:
            with contextlib.suppress(RuntimeError, ValueError, OSError):
                self._db.drop_table(name)

    def drop_embeddings_table(self) -> None:
        """Embeddings that can't be read are put aside; they are made anew."""
        if self._embeddings:
            del self._tables[self._embeddings]
            self._put_aside(self._embeddings)
            self._embeddings = ""

    def close(self) -> None:
        """Let go of the tables."""
        self._tables.clear()
        self._db = None

    # -- reading --------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many notes the tables have. Raises IndexUnavailable."""
        with _mapped("read the index"):
            return int(self._tables["notes"].count_rows())

    def is_readable(self) -> bool:
        """Whether all that the tables say of notes can be read. Costs as much as `load`."""
        try:
            self.load()
        except IndexUnavailable:
            return False
        return True

    def load(self) -> Loaded:
        """All rows with their passages and words.

        Rows whose two halves do not fit together are left out: the reconcile finds those notes again.
        Raises IndexUnavailable.
        """
        with _mapped("read the index"):
            found = unpack_rows(self._tables["notes"].to_arrow())
            contents = self._tables["contents"].to_arrow()
            halves = zip(contents["id"].to_pylist(), contents["body_key"].to_pylist(), strict=True)
            position = {half: i for i, half in enumerate(halves)}
            rows: dict[str, Row] = {}
            chosen: list[int] = []
            for row in found:
                half = position.get((row.id, row.body_key))
                if row.id not in rows and half is not None:
                    rows[row.id] = row
                    chosen.append(half)
            picked = contents.take(chosen) if chosen else contents.slice(0, 0)
            return Loaded(list(rows.values()), range(len(rows)), unpack_passages(picked), self._words_of(picked))

    @staticmethod
    def _words_of(contents: Any) -> Postings:
        import pyarrow.compute as pc

        postings = Postings()
        if not contents.num_rows:
            return postings
        contents = contents.combine_chunks()
        words = pc.list_flatten(pc.split_pattern(contents["words"], " ")).combine_chunks().dictionary_encode()
        counts = contents["counts"]
        postings.load(
            words=words.dictionary.to_pylist(),
            slots=np.arange(contents.num_rows, dtype=np.int32),
            lengths=contents["length"].to_numpy().astype(np.float32),
            sizes=pc.list_value_length(counts).to_numpy().astype(np.int32),
            codes=words.indices.to_numpy(zero_copy_only=False),
            counts=pc.list_flatten(counts).to_numpy(),
        )
        return postings

    def embeddings(self) -> Iterator[tuple[list[bytes], npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
        """All embeddings, in batches: keys, vectors (n, d), shares of CJK (n,). Raises IndexUnavailable."""
        if not self._embeddings:
            return
        with _mapped("read the embeddings"):
            table = self._tables[self._embeddings].to_arrow()
        for batch in table.to_batches(max_chunksize=8_192):
            if batch.num_rows:
                vectors = batch["vector"].flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)
                yield batch["key"].to_pylist(), vectors, batch["share_of_cjk"].to_numpy(zero_copy_only=False)

    # -- writing --------------------------------------------------------------------------------------------------

    def put(self, rows: Sequence[tuple[Row, bool]], contents: Sequence[tuple[ContentRow, bool]]) -> None:
        """Insert or replace; the flag says whether the id is known to be new. Raises IndexUnavailable, StorageFull."""
        self._upsert("contents", contents, pack_contents)
        self._upsert("notes", rows, pack_rows)

    def _upsert(self, name: str, records: Sequence[tuple[T, bool]], pack: Callable[[Sequence[T]], Any]) -> None:
        table = self._tables[name]
        fresh = [record for record, new in records if new]
        changed = [record for record, new in records if not new]
        with _mapped("write the index"):
            if fresh:
                table.add(pack(fresh))
                self._commits += 1
            if changed:
                table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(pack(changed))
                self._commits += 1

    def delete(self, ids: Sequence[str]) -> None:
        """Take notes out of both tables. Raises IndexUnavailable, StorageFull."""
        with _mapped("write the index"):
            for start in range(0, len(ids), _IDS_PER_DELETE):
                some = ", ".join(f"'{_quoted(note_id)}'" for note_id in ids[start : start + _IDS_PER_DELETE])
                for name in ("notes", "contents"):
                    self._tables[name].delete(f"id IN ({some})")
                    self._commits += 1

    def add_embeddings(
        self, keys: Sequence[bytes], vectors: npt.NDArray[np.float32], shares: npt.NDArray[np.float32]
    ) -> None:
        """Keep embeddings (n, d). Raises IndexUnavailable, StorageFull."""
        import pyarrow as pa

        if not self._embeddings:
            self._open_embeddings(vectors.shape[1])
        table = self._tables[self._embeddings]
        data = pa.table(
            {
                "key": pa.array(keys, pa.binary(16)),
                "share_of_cjk": pa.array(shares, pa.float32()),
                "day": pa.array([int(time.time() // 86_400)] * len(keys), pa.int32()),
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(np.ascontiguousarray(vectors, np.float32).ravel()), vectors.shape[1]
                ),
            },
            schema=table.schema,
        )
        with _mapped("write the embeddings"):
            table.add(data)
        self._commits += 1

    def clear(self) -> None:
        """Empty notes and contents; embeddings stay. Raises IndexUnavailable, StorageFull."""
        with _mapped("clear the index"):
            for name, schema in (("notes", note_schema()), ("contents", content_schema())):
                self._tables[name] = self._db.create_table(name, schema=schema, mode="overwrite")

    # -- upkeep ---------------------------------------------------------------------------------------------------

    @property
    def commits(self) -> int:
        """Commits since the last compaction."""
        return self._commits

    @property
    def wants_compaction(self) -> bool:
        """Whether so many small pieces have gathered that reading and writing slow down."""
        return self._commits >= FRAGMENTS_BEFORE_COMPACTION

    def compact(self) -> None:
        """Put small pieces together, drop old versions and what a killed run left. Raises IndexUnavailable, StorageFull.

        All writes come from the thread that calls this, so on this machine a file that no version knows is nobody's.
        """
        for table in list(self._tables.values()):  # closing may come between
            with _mapped("compact the index"):
                table.optimize(cleanup_older_than=VERSIONS_KEPT, delete_unverified=self._local)
        self._commits = 0


def _quoted(text: str) -> str:
    return text.replace("'", "''")


@contextlib.contextmanager
def _mapped(action: str) -> Iterator[None]:
    """Foreign errors as ours, with what was being done."""
    try:
        yield
    except (RuntimeError, OSError, ValueError, KeyError, TypeError) as exc:
        message = str(exc).splitlines()[0][:300] if str(exc) else type(exc).__name__
        if "No space left" in str(exc) or "os error 28" in str(exc):
            raise StorageFull(
                f"could not {action}: the disk is full; free some space, vaultd goes on by itself"
            ) from exc
        raise IndexUnavailable(f"could not {action}: {message}; `vaultd reindex` makes it anew") from exc
