"""Which path is a note, what role its folder gives it, and where our own notes live."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from vaultd.core.bucket import UNSORTED_DOMAIN, Kind, Role
from vaultd.core.errors import OutsideVault, SettingsError
from vaultd.core.note import NotePath
from vaultd.vault import obsidian, sync
from vaultd.vault.globs import Globs
from vaultd.vault.names import safe_name

FOLDERS: Final = {
    Kind.PERMANENT: "permanent",
    Kind.DYNAMIC: "dynamic",
    Kind.FEEL: "feel",
    Kind.ARCHIVED: "archive",
}
CARDS: Final = "cards"
INBOX: Final = "inbox"
CONVERSATIONS: Final = "conversations"
STATE_FOLDER: Final = ".vaultd"
TRASH: Final = ".trash"
MAX_FILE_NAME_BYTES: Final = 120
NOTE_SUFFIX: Final = ".md"

_ROLES: Final = {
    **dict.fromkeys(FOLDERS.values(), Role.BUCKET),
    CARDS: Role.CARD,
    INBOX: Role.WAITING,
    CONVERSATIONS: Role.CONVERSATION,
}
_KINDS: Final = {folder: kind for kind, folder in FOLDERS.items()}
_PASSING: Final = ("~$", "~syncthing~")
_KINDS_WITH_DOMAIN_FOLDERS: Final = frozenset((Kind.DYNAMIC, Kind.ARCHIVED))


class Layout:
    """The vault at `root`. `memory_root` is the subfolder that holds our folders; `exclude` are gitignore-like patterns.

    Raises SettingsError for a `memory_root` that leaves the vault or is hidden.
    """

    def __init__(self, root: Path, *, memory_root: str = "", exclude: Sequence[str] = ()) -> None:
        self._given_root = Path(os.path.abspath(root))  # noqa: PTH100 – resolves no links, on purpose
        self.root = Path(os.path.realpath(root))
        self._inside = os.path.join(self.root, "")  # noqa: PTH118 – a trailing separator
        self.memory_root = _clean_memory_root(memory_root)
        self._prefix = self.memory_root + "/" if self.memory_root else ""
        self.state_dir = self.root / self._prefix / STATE_FOLDER
        self._exclude = Globs(exclude)
        self._obsidian = obsidian.read_ignores(self.root)

    def refresh(self) -> bool:
        """Read Obsidian's ignore settings again; True if they changed."""
        before, self._obsidian = self._obsidian, obsidian.read_ignores(self.root)
        return before != self._obsidian

    @property
    def problems(self) -> tuple[str, ...]:
        """Settings that could not be read, and those that hide our own folders."""
        hidden = tuple(
            f"{self._prefix}{folder}/ is among Obsidian's or vaultd's excluded files: its notes are not indexed"
            for folder in _ROLES
            if self.is_ignored_dir(self._prefix + folder)
        )
        return self._obsidian.problems + hidden

    def role_of(self, path: str) -> Role:
        """What a note is to us, by its folder. A note beside our folders is the person's own."""
        return _ROLES.get(self._folder_of(path), Role.OWN)

    def folder_kind(self, path: str) -> Kind | None:
        """The kind that a bucket's folder says; None outside the bucket folders."""
        return _KINDS.get(self._folder_of(path))

    def _folder_of(self, path: str) -> str:
        if not path.startswith(self._prefix):
            return ""
        folder, slash, _ = path[len(self._prefix) :].partition("/")
        return folder if slash else ""

    def is_note(self, path: str) -> bool:
        """Whether a path is one we index, judged by its name alone; the file need not exist."""
        folder, _, name = path.rpartition("/")
        return self.is_note_name(name) and not self.is_ignored_dir(folder) and not self.is_excluded_file(path)

    def is_note_name(self, name: str) -> bool:
        """Whether a file name is a note's: Markdown, not hidden, not passing, not put aside by a sync tool."""
        return (
            name[-3:].lower() == NOTE_SUFFIX
            and name[0] != "."
            and not name.startswith(_PASSING)
            and not sync.is_conflict_copy(name)
        )

    def is_excluded_file(self, path: str) -> bool:
        """Whether settings leave out this very file; its folder is not asked."""
        ignores = self._obsidian
        return (not ignores.empty and ignores.ignores(path)) or (bool(self._exclude) and self._exclude.match(path))

    def is_ignored_dir(self, path: str) -> bool:
        """Whether nothing below a folder is ours to read; "" is the vault itself."""
        if not path:
            return False
        if path.startswith(".") or "/." in path:
            return True
        if not self._obsidian.empty and self._obsidian.ignores_folder(path):
            return True
        return bool(self._exclude) and self._exclude.match_folder(path)

    def absolute(self, path: str) -> Path:
        """Where a path of the vault lies on disk. Raises OutsideVault if it leaves the vault, by itself or by a link."""
        place = self.named(path)
        if not os.path.realpath(place).startswith(self._inside):
            raise OutsideVault(f"{path!r} leads out of the vault")
        return Path(place)

    def named(self, path: str) -> str:
        """Where a path lies by its name alone; whether links lead there is not asked. Raises OutsideVault."""
        if not path or "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")) or _has_drive(path):
            raise OutsideVault(f"{path!r} is not a path inside the vault")
        return self._inside + path

    def relative(self, place: Path | str) -> NotePath:
        """The path of a file inside the vault, spelled as given. Raises OutsideVault elsewhere."""
        pure = Path(place)
        for root in (self.root, self._given_root):
            if pure != root and pure.is_relative_to(root):
                inside = pure.relative_to(root).as_posix()
                if ".." not in inside.split("/"):
                    return NotePath(inside)
        raise OutsideVault(f"{str(place)!r} is not inside the vault")

    def bucket_path(self, *, kind: Kind, domain: str, name: str, note_id: str) -> NotePath:
        """Where a bucket of this kind belongs; only dynamic and archived buckets lie in a folder named by domain."""
        folder = FOLDERS[kind]
        if kind in _KINDS_WITH_DOMAIN_FOLDERS:
            folder += "/" + safe_name(domain or UNSORTED_DOMAIN, MAX_FILE_NAME_BYTES)
        return self._ours(folder, safe_name(name, self._room(f"_{note_id}")) + f"_{safe_name(note_id)}")

    def card_path(self, card_id: str, topic: str) -> NotePath:
        """Where a card belongs: `cards/<id> <topic>.md`."""
        return self._ours(CARDS, f"{safe_name(card_id)} {safe_name(topic, self._room(card_id + ' '))}")

    def conversation_path(self, conversation_id: str, when: datetime) -> NotePath:
        """Where a conversation belongs: `conversations/YYYY-MM/<id>.md`, the month as in `when`'s zone."""
        name = safe_name(conversation_id, self._room(""))
        return self._ours(f"{CONVERSATIONS}/{when.year:04d}-{when.month:02d}", name)

    def waiting_path(self, name: str) -> NotePath:
        """Where a text waits for a model: `inbox/<name>.md`."""
        return self._ours(INBOX, safe_name(name, self._room("")))

    @staticmethod
    def _room(beside: str) -> int:
        # one byte is spare for a name that would look like a conflict copy
        return MAX_FILE_NAME_BYTES - len(NOTE_SUFFIX) - len(beside.encode("utf-8", "replace")) - 1

    def _ours(self, folder: str, stem: str) -> NotePath:
        if sync.is_conflict_copy(stem + NOTE_SUFFIX):
            stem += "_"
        if stem.startswith(_PASSING):
            stem = "_" + stem[1:]
        return NotePath(unicodedata.normalize("NFC", f"{self._prefix}{folder}/{stem}{NOTE_SUFFIX}"))

    def spelled_on_disk(self, path: str) -> NotePath:
        """`path` with its folders spelled as those that exist already: `work` is `Work` where only that one is there."""
        *folders, name = path.split("/")
        place, spelled = self.root, list[str]()
        for folder in folders:
            if not (place / folder).is_dir():
                folder = next((found for found in _folders_in(place) if _name_key(found) == _name_key(folder)), folder)
            spelled.append(folder)
            place = place / folder
        return NotePath("/".join((*spelled, name)))

    def free_path(self, path: str) -> NotePath:
        """`path`, or `name-2.md`, `name-3.md` … where a file stands whose name some system takes for the same."""
        folder, _, name = path.rpartition("/")
        try:
            taken = {_name_key(entry.name) for entry in os.scandir(self.absolute(folder) if folder else self.root)}
        except (FileNotFoundError, NotADirectoryError):
            taken = set()
        pure = PurePosixPath(name)
        number = 1
        while _name_key(name) in taken:
            number += 1
            name = f"{pure.stem}-{number}{pure.suffix}"
        return NotePath(f"{folder}/{name}" if folder else name)


def _folders_in(place: Path) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _name_key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _has_drive(path: str) -> bool:
    """Whether Windows would take the path for one on another drive, or with other separators."""
    return os.name == "nt" and (":" in path or "\\" in path)


def _clean_memory_root(text: str) -> str:
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    if any(part.startswith(".") for part in parts) or (os.name == "nt" and ":" in text):
        raise SettingsError(f"memory.root: {text!r} must name a folder inside the vault that is not hidden")
    return "/".join(parts)
