"""Message texts made fit to keep: storable characters, no markup of the service, no private parts."""

from __future__ import annotations

import html
import re
from typing import Final

from vaultd.core.text import clean_text
from vaultd.llm.redact import strip_private

LONGEST_TITLE: Final = 120  # characters

_ENTITY: Final = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_UNESCAPED: Final = re.compile(r"[<>]|&(?!(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_ESCAPED_PRIVATE: Final = re.compile(r"&lt;(\s{0,3}/?\s{0,3}private\s{0,3})&gt;", re.IGNORECASE)
_CONTROLS: Final = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_CITATIONS: Final = re.compile(r"\ue200[^\ue201]{0,500}\ue201|【\d{1,3}(?::\d{1,3})?†[^】\n]{0,200}】|[\ue200-\ue20f]")
_UNSUPPORTED: Final = re.compile(
    r"(?:```[^\S\n]*\n)?This block is not supported on your current device yet\.(?:\n[^\S\n]*```)?\n?"
)


def speech(text: str) -> tuple[str, bool]:
    """A message's text as it is kept, and whether private parts were taken out of it.

    HTML entities are put back where the whole text was escaped, i.e. has no bare `<`, `>` or `&`; elsewhere somebody
    typed them. Lone surrogates, NUL and control characters go, and so do the services' marks of citations and of blocks
    that an export leaves out.
    """
    whole = _CONTROLS.sub("", clean_text(text))
    if "&" in whole:
        whole = _ESCAPED_PRIVATE.sub(r"<\1>", whole)
        if _ENTITY.search(whole) and not _UNESCAPED.search(whole):
            whole = _CONTROLS.sub("", clean_text(html.unescape(whole)))
    if "\ue200" in whole or "†" in whole:
        whole = _CITATIONS.sub("", whole)
    if "This block is not supported" in whole:
        whole = _UNSUPPORTED.sub("", whole)
    kept = strip_private(whole)
    return kept.strip(), kept != whole


def one_line(text: object, *, longest: int = LONGEST_TITLE) -> str:
    """A title or a name in one line, cut at `longest` characters; empty for what is no text."""
    if not isinstance(text, str):
        return ""
    cleaned, _ = speech(text[: longest * 20])
    line = " ".join(cleaned.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
