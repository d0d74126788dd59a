"""What an upload holds: one file, or the files in a ZIP, read where they lie and never unpacked to their names.

A ZIP in a ZIP, one with a password, and one that would unpack to more than anybody exports are refused.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, Self, cast

from vaultd.core.errors import BadInput
from vaultd.core.text import clean_text

MOST_MEMBERS: Final = 200_000
MOST_UNPACKED_BYTES: Final = 4 << 30
SUSPICIOUS_RATIO: Final = 250  # deflate ends at about 1,030; JSON of chats stays under 30
SUSPICIOUS_FROM_BYTES: Final = 32 << 20

_ARCHIVES: Final = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_JUNK: Final = frozenset((".ds_store", "thumbs.db", "desktop.ini"))
_JUNK_FOLDERS: Final = frozenset(("__macosx", ".obsidian", ".trash", ".git", ".vaultd", ".stversions"))


@dataclass(frozen=True, slots=True)
class Member:
    """One readable file of an upload. `name` is a relative POSIX path; `when` its last change, where that is known."""

    name: str
    size: int
    when: datetime | None
    open: Callable[[], BinaryIO]

    @property
    def suffix(self) -> str:
        """The name's ending, lower case, with its dot."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name without folders and ending."""
        return PurePosixPath(self.name).stem


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of an upload, in the order of their names; `nested` are ZIPs inside, which are not opened."""

    members: tuple[Member, ...]
    nested: tuple[str, ...] = ()
    is_archive: bool = False


def contents(upload: Path, filename: str, *, zone: tzinfo = UTC, when: datetime | None = None) -> Contents:
    """What an upload holds. Raises BadInput for an empty file, and for an archive that can't or must not be opened."""
    with upload.open("rb") as file:
        start = file.read(8)
    size = upload.stat().st_size
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise BadInput(f"{filename}: is empty; export again and upload the file that you get")
    if start.startswith(_ZIP_STARTS):
        return _zip_contents(upload, filename, zone)
    for magic, kind in _ARCHIVES.items():
        if start.startswith(magic):
            raise BadInput(f"{filename}: is a {kind} archive; unpack it, and upload the JSON or a ZIP")
    if filename.lower().endswith(".zip"):
        raise BadInput(f"{filename}: is called a ZIP and is none; download it again")
    return Contents((Member(filename, size, when, lambda: upload.open("rb")),))


def _zip_contents(upload: Path, filename: str, zone: tzinfo) -> Contents:
    try:
        with zipfile.ZipFile(upload) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as exc:
        raise BadInput(f"{filename}: the ZIP is broken ({exc}); download it again") from exc
    if len(infos) > MOST_MEMBERS:
        raise BadInput(f"{filename}: holds {len(infos):,} files; {MOST_MEMBERS:,} is the most")
    members: list[Member] = []
    nested: list[str] = []
    for info in infos:
        name = name_in(info)
        if info.is_dir() or _is_junk(name) or stat.S_ISLNK(info.external_attr >> 16):
            continue
        if name.lower().endswith(".zip"):
            nested.append(name)
            continue
        members.append(Member(name, info.file_size, _changed(info, zone), _opener(upload, info, name)))
    _refuse_bombs(filename, infos)
    return Contents(tuple(sorted(members, key=lambda member: member.name)), tuple(nested), is_archive=True)


def _refuse_bombs(filename: str, infos: list[zipfile.ZipInfo]) -> None:
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MOST_UNPACKED_BYTES:
        raise BadInput(
            f"{filename}: would unpack to {unpacked / 2**30:.1f} GiB; {MOST_UNPACKED_BYTES >> 30} is the most"
        )
    for info in infos:
        if info.file_size > SUSPICIOUS_FROM_BYTES and info.file_size > SUSPICIOUS_RATIO * max(info.compress_size, 1):
            raise BadInput(
                f"{filename}: {name_in(info)} would unpack to {SUSPICIOUS_RATIO} times its size; no export does"
            )


def name_in(info: zipfile.ZipInfo) -> str:
    """A file's name in a ZIP. One that is not marked as UTF-8 is UTF-8 all the same, or GBK, or what the ZIP says."""
    name = info.filename
    if not info.flag_bits & 0x800 and not name.isascii():
        try:
            raw = name.encode("cp437")
        except UnicodeEncodeError:
            raw = b""
        for encoding in ("utf-8", "gb18030") if raw else ():
            try:
                name = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    parts = clean_text(name).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def _is_junk(name: str) -> bool:
    parts = name.lower().split("/")
    return not name or parts[-1] in _JUNK or parts[-1].startswith("._") or not _JUNK_FOLDERS.isdisjoint(parts)


def _changed(info: zipfile.ZipInfo, zone: tzinfo) -> datetime | None:
    try:
        moment = datetime(*info.date_time, tzinfo=zone)
    except ValueError:
        return None
    return moment if moment.year > 1980 else None  # the first moment of a ZIP's calendar stands for "unknown"


def _opener(upload: Path, info: zipfile.ZipInfo, name: str) -> Callable[[], BinaryIO]:
    return lambda: cast("BinaryIO", _Packed(upload, info, name))


class _Packed:
    """A file in a ZIP, read as a stream; what goes wrong with it is a BadInput that names it."""

    def __init__(self, upload: Path, info: zipfile.ZipInfo, name: str) -> None:
        self._name = name
        self._archive = zipfile.ZipFile(upload)
        try:
            self._stream = self._archive.open(info)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as exc:
            self._archive.close()
            hint = "has a password; unpack it, and upload the JSON" if info.flag_bits & 1 else f"is broken ({exc})"
            raise BadInput(f"{name} in the ZIP {hint}") from exc

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as exc:
            raise BadInput(f"{self._name} in the ZIP is broken ({exc}); download it again") from exc

    def close(self) -> None:
        self._stream.close()
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
