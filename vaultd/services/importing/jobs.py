"""Imports on disk: the stored upload, what an import is doing, and a log that a crash cannot spoil.

    <state folder>/imports/<job>/job.json     what it is and how far; replaced whole
                                 upload       as it came
                                 log.jsonl    every step, appended; what counts after a crash
    <state folder>/imports/imported.jsonl     which conversations are in the memory already

Raises VaultError (StorageFull) where the disk does not take it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final

from vaultd.core.errors import BadInput
from vaultd.core.properties import parse_moment
from vaultd.vault.atomic import disk_errors
from vaultd.wholefile import write_whole

UPLOAD_FILE: Final = "upload"
LOG_FILE: Final = "log.jsonl"
JOB_FILE: Final = "job.json"

_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")


class JobState(StrEnum):
    """How far an import is."""

    UPLOADED = "uploaded"
    READ = "read"
    RUNNING = "running"
    PAUSED = "paused"
    INCOMPLETE = "incomplete"
    DONE = "done"


class Mode(StrEnum):
    """What becomes of a conversation: memories by a chat model, or one note of its whole text."""

    MEMORIES = "memories"
    NOTES = "notes"


class Branches(StrEnum):
    """Which threads of a conversation are imported."""

    CURRENT = "current"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a person chooses. `again`: also what an earlier import brought in; `partial`: although the end is missing."""

    mode: Mode = Mode.MEMORIES
    branches: Branches = Branches.CURRENT
    again: bool = False
    partial: bool = False

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> ImportOptions:
        """From a request. Raises BadInput, which names what is allowed."""
        try:
            return cls(
                mode=Mode(raw.get("mode", Mode.MEMORIES)),
                branches=Branches(raw.get("branches", Branches.CURRENT)),
                again=bool(raw.get("again", False)),
                partial=bool(raw.get("partial", False)),
            )
        except ValueError as exc:
            raise BadInput(f"{exc}; mode is memories or notes, branches is current or all") from exc


@dataclass(frozen=True, slots=True)
class Job:
    """One import, as its file says. `plan` and `preflight` are plain values for faces; `reason` says why it rests."""

    id: str
    filename: str
    size: int
    created: datetime
    state: JobState = JobState.UPLOADED
    reason: str = ""
    options: ImportOptions = field(default_factory=ImportOptions)
    preflight: Mapping[str, Any] | None = None
    chunks: int = 0
    finished: datetime | None = None
    counts: Mapping[str, int] | None = None

    def written(self) -> dict[str, Any]:
        """As it stands in the file, and as faces show it."""
        raw = dataclasses.asdict(self)
        raw["created"] = self.created.isoformat()
        raw["finished"] = None if self.finished is None else self.finished.isoformat()
        return raw

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Job:
        """From the file. Raises ValueError, KeyError, TypeError where it is none."""
        created = parse_moment(raw["created"])
        if created is None:
            raise ValueError("created")
        finished = raw.get("finished")
        return cls(
            id=str(raw["id"]),
            filename=str(raw["filename"]),
            size=int(raw["size"]),
            created=created,
            state=JobState(raw["state"]),
            reason=str(raw["reason"]),
            options=ImportOptions.parse(raw["options"]),
            preflight=raw["preflight"],
            chunks=int(raw["chunks"]),
            finished=None if finished is None else parse_moment(finished),
            counts=raw.get("counts"),
        )


class JobStore:
    """The imports below one folder, which nobody else writes."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / "imports"
        self._made: set[str] = set()

    @property
    def ledger_file(self) -> Path:
        """Where imported conversations are noted."""
        return self._folder / "imported.jsonl"

    def folder(self, job_id: str) -> Path:
        """A job's folder. Raises BadInput for an id that no job has."""
        folder = self._folder / job_id
        if not _ID.fullmatch(job_id) or not (folder / JOB_FILE).exists():
            raise BadInput(f"no import has the id {job_id[:40]!r}; list them first")
        return folder

    def create(self, filename: str, *, now: datetime, rng: random.Random) -> tuple[Job, Path]:
        """A new job and its empty folder, which no job file makes valid yet."""
        job = Job(f"{now:%Y%m%d-%H%M%S}-{rng.getrandbits(32):08x}", _shown_name(filename), 0, now)
        folder = self._folder / job.id
        self._made.add(job.id)
        with disk_errors(str(folder)):
            folder.mkdir(mode=0o700, parents=True)
        return job, folder

    def save(self, job: Job) -> None:
        """Put a job's file in the place of the old one."""
        keep_text(self._folder / job.id / JOB_FILE, json.dumps(job.written(), ensure_ascii=False, indent=1))

    def load(self, job_id: str) -> Job:
        """A job. Raises BadInput."""
        path = self.folder(job_id) / JOB_FILE
        try:
            return Job.read(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise BadInput(f"{path}: the import's file cannot be read ({exc}); remove the folder") from exc

    def all(self) -> list[Job]:
        """Every job that can be read, newest first."""
        found: list[Job] = []
        if not self._folder.is_dir():
            return found
        for path in self._folder.iterdir():
            if _ID.fullmatch(path.name) and (path / JOB_FILE).exists():
                try:
                    found.append(self.load(path.name))
                except BadInput:
                    continue
        return sorted(found, key=lambda job: job.id, reverse=True)

    def remove(self, job_id: str) -> None:
        """Delete a job with everything that is stored of it."""
        folder = self.folder(job_id)
        with disk_errors(str(folder)):
            (folder / JOB_FILE).unlink()
            shutil.rmtree(folder)

    def drop(self, folder: Path) -> None:
        """Delete the folder of an upload that did not arrive."""
        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Delete folders without a job file: uploads that a crash cut short. Those that come in now stay."""
        if not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            left = _ID.fullmatch(path.name) and path.name not in self._made and not (path / JOB_FILE).exists()
            if left and path.is_dir():
                self.drop(path)


class StepLog:
    """A file of JSON lines that is only appended to, each line on the disk before `append` returns.

    A line that a crash tore is no line: it is cut off at the next start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def lines(self) -> Iterator[dict[str, Any]]:
        """The whole lines."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for raw in file:
                try:
                    line = json.loads(raw)
                except ValueError:
                    continue
                if raw.endswith(b"\n") and isinstance(line, dict):
                    yield line

    def append(self, line: Mapping[str, Any]) -> None:
        """Add a line."""
        raw = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._lock, disk_errors(str(self._path)):
            if self._file is None:
                self._file = self._open()
            self._file.write(raw)
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file, once a line that is being written is whole."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _open(self) -> BinaryIO:
        file = self._path.open("a+b")
        end = file.seek(0, os.SEEK_END)
        while end:
            file.seek(max(end - 4096, 0))
            block = file.read(min(end, 4096))
            newline = block.rfind(b"\n")
            if newline >= 0:
                end = max(end - 4096, 0) + newline + 1
                break
            end = max(end - 4096, 0)
        file.truncate(end)
        return file


def keep_text(path: Path, text: str) -> None:
    """Put a text in the place of a file of an import that is there. Raises VaultError."""
    with disk_errors(str(path)):
        write_whole(path, text.encode("utf-8", "replace"), durable=True, make_folder=False)


class UploadFile:
    """The file of an upload as it comes in."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._path = path
        self._most = most_bytes
        with disk_errors(str(path)):
            self._file = path.open("wb")
        self.size = 0

    def take(self, blocks: Iterator[bytes]) -> int:
        """All blocks, then the end; the size in bytes."""
        for block in blocks:
            self.write(block)
        self.finish()
        return self.size

    def write(self, block: bytes) -> None:
        """The next block. Raises BadInput where the upload is too big."""
        self.size += len(block)
        if self.size > self._most:
            self._file.close()
            raise BadInput(f"the upload has more than {self._most / 2**30:g} GiB; that is the most")
        with disk_errors(str(self._path)):
            self._file.write(block)

    def finish(self) -> None:
        """Bring it to the disk."""
        with disk_errors(str(self._path)):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def abandon(self) -> None:
        """Close it as it is."""
        self._file.close()


def _shown_name(filename: str) -> str:
    name = filename.replace("\\", "/").rsplit("/", 1)[-1]
    cleaned = "".join(char for char in name.encode("utf-8", "replace").decode() if char.isprintable())
    return cleaned[:200] or "upload"
