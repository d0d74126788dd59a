"""Where a note's frontmatter block stands, and what it says.

The rule is Obsidian's: `---` at the first byte (a BOM may stand before it), up to the next line that is `---`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from frontmatter.default_handlers import BaseHandler

from vaultd.core.errors import UnreadableNote
from vaultd.core.note import PropertyValue
from vaultd.vault import yamlcore

BOM: Final = "\ufeff"
MAX_HEADER_CHARACTERS: Final = 1 << 20

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parts:
    """A note's text in five pieces, which joined give the text. Without a block, all but `bom` and `body` are empty."""

    bom: str
    opening: str
    header: str
    closing: str
    body: str

    @property
    def has_block(self) -> bool:
        """Whether a frontmatter block stands on top."""
        return bool(self.opening)

    @property
    def text(self) -> str:
        """The whole text again."""
        return self.bom + self.opening + self.header + self.closing + self.body

    def with_header(self, header: str) -> Parts:
        """The same note with other lines in its block."""
        return replace(self, header=header)


def opens_block(text: str) -> bool:
    """Whether the text starts with the line that opens a block."""
    return _OPENING.match(text) is not None


def part(text: str) -> Parts:
    """Cut a note's text at its block. Raises UnreadableNote where a block is opened and never closed."""
    bom = BOM if text.startswith(BOM) else ""
    start = len(bom)
    opening = _OPENING.match(text, start)
    if opening is None:
        return Parts(bom, "", "", "", text[start:])
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise UnreadableNote("", "the frontmatter is opened by `---` and never closed", 1)
    return Parts(bom, opening[0], text[opening.end() : closing.start()], closing[0], text[closing.end() :])


class ObsidianHandler(BaseHandler):
    """Obsidian's frontmatter for python-frontmatter: its fences, its YAML. Reading only; nothing is ever dumped."""

    FM_BOUNDARY = _CLOSING
    START_DELIMITER = END_DELIMITER = "---"

    def detect(self, text: str) -> bool:
        """Whether the text starts with a block."""
        return opens_block(text.removeprefix(BOM))

    def split(self, text: str) -> tuple[str, str]:
        """The block's YAML text and the body. Raises ValueError where there is no block, as the library expects."""
        parts = part(text)
        if not parts.has_block:
            raise ValueError("no frontmatter")
        return parts.header, parts.body

    def load(self, fm: str) -> dict[str, Any]:
        """The block's properties. Raises UnreadableNote with the line within the file, counted from 1."""
        return properties(fm)


def properties(header: str) -> dict[str, PropertyValue]:
    """What the lines of a block say. Raises UnreadableNote with the line within the file, counted from 1."""
    if len(header) > MAX_HEADER_CHARACTERS:
        raise UnreadableNote("", f"the frontmatter is longer than {MAX_HEADER_CHARACTERS:,} characters", 1)
    try:
        value = yamlcore.load(header)
    except UnreadableNote as exc:
        raise UnreadableNote("", exc.reason, None if exc.line is None else exc.line + 1) from exc
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableNote("", "no properties stand between the first two `---` lines", 2)
    return value
