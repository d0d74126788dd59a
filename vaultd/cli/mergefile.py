"""`vaultd merge-file`"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

FILE: Final = click.Path(dir_okay=False, path_type=Path)
CONFLICTS: Final = 1


@click.command("merge-file")
@click.argument("base", type=FILE)
@click.argument("ours", type=FILE)
@click.argument("theirs", type=FILE)
@click.argument("marker_size", type=int, default=7)
@click.argument("path", default="")
@click.option("--driver", is_flag=True, help="For git: another exit code for conflicts than for a crash.")
def merge_file(base: Path, ours: Path, theirs: Path, marker_size: int, path: str, driver: bool) -> int:
    """Merge OURS and THEIRS, both made from BASE, property by property; the result takes the place of OURS.

    Leaves with exit code 1 where markers are left to you. git calls this once `vaultd git install` was run.

    \b
    Examples:
      vaultd merge-file base.md mine.md yours.md
    """
    from vaultd.vault.merging import LEFT_TO_A_PERSON, merge_notes

    try:
        sides = [place.read_bytes() for place in (base, ours, theirs)]
        merged = merge_notes(sides[0], sides[1], sides[2], marker_size=marker_size)
        if merged.raw != sides[1]:
            ours.write_bytes(merged.raw)
    except OSError as exc:
        raise click.FileError(path or str(exc.filename), exc.strerror) from exc
    if not merged.conflicts:
        return 0
    return LEFT_TO_A_PERSON if driver else CONFLICTS
