"""Text files of any size as lines, whatever they are encoded in."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final

from vaultd.core.text import share_of_cjk
from vaultd.services.importing.formats.archive import Member
from vaultd.services.importing.turns import Findings, LeftOut

BLOCK_BYTES: Final = 1 << 18
LONGEST_LINE: Final = 1 << 19  # characters; a longer one comes in pieces
_SAMPLE_BYTES: Final = 1 << 16

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(member: Member) -> str | None:
    """The encoding of a text file: UTF by its mark, else UTF-8, GB 18030 or Windows-1252 by what fits; None: no text."""
    with member.open() as stream:
        sample = stream.read(_SAMPLE_BYTES)
        marked = next((name for bom, name in _BOMS if sample.startswith(bom)), None)
        if marked is not None:
            return marked
        if b"\0" in sample:
            return None
        decoder = codecs.getincrementaldecoder("utf-8")()
        block = sample
        try:
            while block:
                decoder.decode(block)
                block = stream.read(BLOCK_BYTES)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _legacy(sample)
    return "utf-8"


def text_encoding(member: Member, findings: Findings) -> str | None:
    """The encoding of a file to import; what is no text is left out, and told."""
    encoding = encoding_of(member)
    if encoding is None:
        findings.leave_out(LeftOut.UNREADABLE)
        findings.warn(f"{member.name} is no text and is left out")
    return encoding


def _legacy(sample: bytes) -> str:
    try:
        chinese = sample[: sample.rfind(b"\n") + 1 or None].decode("gb18030")
    except UnicodeDecodeError:
        return "cp1252"
    return "gb18030" if share_of_cjk(chinese) > 0.05 else "cp1252"


def lines_of(member: Member, encoding: str) -> Iterator[str]:
    """The lines of a text file without their ends. Bytes that cannot be read become `�`."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest = ""
    with member.open() as stream:
        while True:
            block = stream.read(BLOCK_BYTES)
            text = rest + decoder.decode(block, final=not block)
            whole = text.replace("\r\n", "\n")
            parts = whole.split("\n")
            rest = parts.pop()
            yield from (part.replace("\r", "\n") for part in parts)
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = ""
            if not block:
                break
    if rest:
        yield rest
