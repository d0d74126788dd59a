"""Cut a text for a model's limits, number its sentences, and tell what of it an answer covers.

Every cut is lossless: the parts joined give the text back. No cut goes through a mask.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from vaultd.llm.redact import mask_spans

OMITTED: Final = "\n[…]\n"
LONGEST_SENTENCE: Final = 400  # characters; a longer one is numbered in pieces
SHORTEST_SENTENCE: Final = 12  # characters; a shorter one is numbered together with the next
LONGEST_NAME: Final = 40  # characters of a name that is made from a text

_EARLIEST_CUT: Final = 0.4  # of the limit: an earlier border would waste what the model may be shown
_BORDERS: Final = tuple(
    re.compile(pattern)
    for pattern in (r"\n[^\S\n]*\n\s*", r"\n+", r"[。！？!?…；;]+[”’」』\"')）】]*\s*|\.\s+", r"[，,、：:]\s*|\s+")
)
_SENTENCE_END: Final = re.compile(r"[。！？!?…；;]+[”’」』\"')）】]*[^\S\n]*\n*|\.[\"')]*(?:[^\S\n]+\n*|\n+|\Z)|\n+")
_CJK: Final = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_WORDS: Final = re.compile(rf"(?P<cjk>[{_CJK}]+)|[^\W_{_CJK}]+")
_LONGEST_MASK: Final = 40  # characters, blanks and double brackets included


def head(text: str, limit: int) -> tuple[str, str]:
    """The text in two: at most `limit` characters up to the best border (paragraph, line, sentence, word), and the rest."""
    if len(text) <= limit:
        return text, ""
    cut = _border_before(text, limit)
    return text[:cut], text[cut:]


def chunks(text: str, limit: int) -> tuple[str, ...]:
    """The text in pieces of at most `limit` characters, cut at paragraph borders where there are any."""
    out: list[str] = []
    while text:
        piece, text = head(text, limit)
        out.append(piece)
    return tuple(out)


def excerpt(text: str, limit: int) -> tuple[str, int]:
    """What a model is shown of a text in one go: its start and its end within `limit`, and the count of what is not."""
    if len(text) <= limit:
        return text, 0
    room = limit - len(OMITTED)
    start, rest = head(text, room - room // 3)
    end = _tail(rest, room // 3)
    return f"{start.rstrip()}{OMITTED}{end.lstrip()}", len(rest) - len(end)


def sentences(text: str) -> tuple[str, ...]:
    """The text as sentences fit to be numbered; joined they are the text."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    out: list[str] = []
    start = 0
    for end in (*ends, len(text)):
        piece = text[start:end]
        if not piece or (len(piece.strip()) < SHORTEST_SENTENCE and not piece.endswith("\n") and end < len(text)):
            continue
        out += chunks(piece, LONGEST_SENTENCE)
        start = end
    return tuple(_without_blanks(out))


def words_of(text: str) -> frozenset[str]:
    """Words in lower case and NFKC; runs of CJK characters as pairs of neighbours."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    out: set[str] = set()
    for match in _WORDS.finditer(folded):
        word = match[0]
        if match["cjk"] is None or len(word) == 1:
            out.add(word)
        else:
            out.update(word[at : at + 2] for at in range(len(word) - 1))
    return frozenset(out)


def share_covered(text: str, known: Collection[str]) -> float:
    """The share of the text's words that are among `known`, 0…1; 1 for a text without words."""
    words = words_of(text)
    return len(words.intersection(known)) / len(words) if words else 1.0


def name_from(text: str) -> str:
    """A name for a text that got none: its first words, at most 40 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "").lstrip("#>*-+ ")
    first = re.split(r"[。！？!?；;]|\.\s", line, maxsplit=1)[0].strip()
    return head(first, LONGEST_NAME)[0].strip(" ，,、：:") or text.strip()[:LONGEST_NAME]


def _border_before(text: str, limit: int) -> int:
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, 0, limit) if match.end() >= limit * _EARLIEST_CUT]
        if ends:
            return _outside_masks(text, ends[-1])
    return _outside_masks(text, limit)


def _outside_masks(text: str, cut: int) -> int:
    for start, end in _masks_around(text, cut):
        return start or end
    return cut


def _masks_around(text: str, cut: int) -> Iterator[tuple[int, int]]:
    around = mask_spans(text, max(cut - _LONGEST_MASK, 0), cut + _LONGEST_MASK)
    return ((start, end) for start, end in around if start < cut < end)


def _tail(text: str, limit: int) -> str:
    start = max(len(text) - limit, 0)
    for border in _BORDERS[1:]:
        match = border.search(text, start)
        if match is not None and match.end() - start <= limit * (1 - _EARLIEST_CUT):
            return text[_behind_mask(text, match.end()) :]
    return text[_behind_mask(text, start) :]


def _behind_mask(text: str, cut: int) -> int:
    return next((end for _, end in _masks_around(text, cut)), cut)


def _without_blanks(pieces: Sequence[str]) -> list[str]:
    out: list[str] = []
    for piece in pieces:
        if out and (not piece.strip() or not out[-1].strip()):
            out[-1] += piece
        else:
            out.append(piece)
    return out
