"""Files of our own, written whole or not at all. Notes have `vault.atomic`, which looks for other people's saves."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Final

PART_NAME: Final = re.compile(r"\.vaultd-part-[0-9a-f]{8}\.tmp")
"""What a crash may leave beside such a file."""


def write_whole(
    place: Path, raw: bytes, *, durable: bool = False, mode: int | None = None, make_folder: bool = True
) -> None:
    """Put `raw` in the place of a file, or leave the file as it was. Raises OSError.

    `durable`: to the platter. `mode`: the file's permissions, and nobody but its owner reads it before; None: as the
    umask says. `make_folder`: where its folder is not there yet.
    """
    if make_folder:
        place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".vaultd-part-{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
