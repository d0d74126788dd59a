"""The error tree. Every message is one line that says what to do.

VaultdError
├── BadInput            a caller's value is wrong (tools, REST, command line)
├── SettingsError       a setting is wrong: key, value, what is allowed
├── AlreadyServed       another daemon of this machine serves the vault
├── NoSuchMemory        an id that no note carries
├── VaultError
│   ├── VaultUnavailable    the root is missing, emptied, or most notes vanished at once
│   ├── UnreadableNote      bytes that are not a note; carries line and reason
│   ├── UnwritableNote      the note must not be written (bad block, read-only, conflict, merge under way)
│   ├── LostRace            the note changed between read and write
│   ├── OutsideVault        a path that leaves the vault
│   └── StorageFull         no space left, or a read-only disk
├── IndexUnavailable    the index cannot be opened or read
└── ModelError
    ├── ModelUnavailable    none configured, none on this platform, or not reachable
    ├── ModelRefused        401, 403: the key is wrong
    ├── ModelBusy           429: try again after retry_after_s
    ├── ModelTimedOut       no answer in time
    ├── ModelBadAnswer      an answer that is not what was asked for
    └── CapReached          the daily request cap is used up
"""

from __future__ import annotations


class VaultdError(Exception):
    """Root of every error that vaultd raises on purpose."""


class BadInput(VaultdError):
    """A caller's value is wrong; the message names it and what is allowed."""


class SettingsError(VaultdError):
    """A setting is wrong; the message names the key, the value and what is allowed."""


class AlreadyServed(VaultdError):
    """Another daemon of this machine serves the vault; the message says where."""


class NoSuchMemory(VaultdError):
    """No note carries this id."""

    def __init__(self, note_id: str) -> None:
        super().__init__(f"no memory has the id {note_id!r}; search for it first")
        self.note_id = note_id


class VaultError(VaultdError):
    """Something about the files."""


class VaultUnavailable(VaultError):
    """The vault's root is missing, emptied, or most of its notes vanished at once."""


class UnreadableNote(VaultError):
    """Bytes that cannot be read as a note."""

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line


class UnwritableNote(VaultError):
    """The note must not be written now; nothing was changed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class LostRace(VaultError):
    """The note changed between read and write; nothing was overwritten."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: the note was changed meanwhile; read it again and repeat the change")
        self.path = path


class OutsideVault(VaultError):
    """A path that leaves the vault."""


class StorageFull(VaultError):
    """No space left on the disk, or the disk is read-only."""


class IndexUnavailable(VaultdError):
    """The index cannot be opened or read."""


class ModelError(VaultdError):
    """Something about a model, local or remote."""


class ModelUnavailable(ModelError):
    """No model is configured, none exists on this platform, or it cannot be reached."""


class ModelRefused(ModelError):
    """The endpoint refused the key (401, 403)."""


class ModelBusy(ModelError):
    """The endpoint asks to wait (429); retry_after_s is None where it did not say how long."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelTimedOut(ModelError):
    """No answer in time."""


class ModelBadAnswer(ModelError):
    """An answer that is not what was asked for."""


class CapReached(ModelError):
    """The daily request cap is used up."""
