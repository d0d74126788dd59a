"""Who this machine is: a random id in its own state folder, never in the vault."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Final

from vaultd.core.errors import StorageFull

MACHINE_ID: Final = re.compile(r"[0-9a-f]{12}")


def machine_id(state_folder: Path) -> str:
    """The 12 hex characters that name this machine in journals; made at first use. Raises StorageFull."""
    place = state_folder / "machine-id"
    known = _read(place)
    if known is not None:
        return known
    try:
        state_folder.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"machine-id.{secrets.token_hex(4)}.tmp")
        part.write_text(secrets.token_hex(6) + "\n", encoding="ascii")
        # a link fails where another process was faster, and then its id counts
        try:
            place.hardlink_to(part)
        except OSError:
            if _read(place) is None:
                part.replace(place)
        part.unlink(missing_ok=True)
    except OSError as exc:
        raise StorageFull(f"{state_folder} can't be written: {exc.strerror}; set VAULTD_STATE_DIR") from exc
    made = _read(place)
    if made is None:
        raise StorageFull(f"{place} can't be read back")
    return made


def _read(place: Path) -> str | None:
    try:
        text = place.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return text if MACHINE_ID.fullmatch(text) else None
