"""Small files of ours outside the vault: read whole, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vaultd.core.errors import SettingsError
from vaultd.wholefile import write_whole

PRIVATE: Final = 0o600


def read_text(path: Path) -> str | None:
    """The text of a file, newlines as they are; None where it does not exist. Raises SettingsError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{path}: byte {exc.start} is not UTF-8; save the file as UTF-8 text") from exc
    except OSError as exc:
        raise SettingsError(f"{path}: cannot be read ({exc.strerror})") from exc


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Put `text` in the place of a file, or leave the file as it was; a link stays a link. Raises SettingsError.

    A new file can be read by its owner alone. An existing one keeps its mode, unless it is to be `private`.
    """
    target = path.resolve()
    mode = PRIVATE
    try:
        if not private and target.exists():
            mode = target.stat().st_mode & 0o777
        write_whole(target, text.encode("utf-8"), durable=True, mode=mode)
    except OSError as exc:
        raise SettingsError(f"{path}: cannot be written ({exc.strerror}); check the folder's permissions") from exc
