"""What the doctor says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "hint"]
About = Literal["conflict", "note", "house"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `where` is a path in the vault, or a part of vaultd; `fixable` by `--fix`.

    `about`: what sync tools and git left, one note, or the house around them.
    """

    level: Level
    what: str
    where: str
    mend: str
    line: int | None = None
    fixable: bool = False
    about: About = "house"
