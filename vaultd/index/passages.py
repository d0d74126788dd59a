"""A note's body → passages of about 400 tokens to embed.

A passage depends on the body alone, never on a property or the path: a rename or a changed property must not
call the model. A later passage carries the headings it stands under, which are part of the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vaultd.core.text import count_scripts, share_of_cjk, strip_wikilinks

TOKENS_PER_PASSAGE = 400  # of the estimate below; the built-in model takes 510 of its own
TOKENS_PER_CJK_CHARACTER = 0.8  # of multilingual-e5's vocabulary, a little above the mean
TOKENS_PER_WORD = 1.5
CHARACTERS_PER_TOKEN = 6  # at most: long strings without blanks are cut by the model as well
SHORT_CHARACTERS = int((TOKENS_PER_PASSAGE - TOKENS_PER_WORD) / TOKENS_PER_CJK_CHARACTER)  # never more tokens
MAX_PASSAGES = 256  # per note: about 100,000 tokens; words beyond are still found by the word index
_CHARACTERS_PER_PIECE = 1_200  # no paragraph, sentence or line is taken whole beyond this

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_BREAK = re.compile(r"(?<=[。！？!?…])|(?<=\.)\s+")
_LONG = re.compile(rf".{{1,{_CHARACTERS_PER_PIECE}}}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passage:
    """Text to embed, and where it stands in the body (characters)."""

    text: str
    start: int
    end: int

    @property
    def share_of_cjk(self) -> float:
        """Of the text's characters and words, 0…1."""
        return share_of_cjk(self.text)


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    tokens: float
    headings: tuple[str, ...]


def passages_of(body: str) -> tuple[Passage, ...]:
    """The passages of a body, in order; none for a body without words."""
    made = (_passage(body, run, first=not at) for at, run in enumerate(_runs(body)))
    return tuple(passage for passage in made if passage.text)


def spans_of(body: str) -> Iterator[tuple[int, int]]:
    """Where the passages of a body begin and end (characters), one after the other; blank ones too."""
    return ((run[0].start, run[-1].end) for run in _runs(body))


def _runs(body: str) -> Iterator[list[_Piece]]:
    """The pieces of each passage, at most MAX_PASSAGES, found as they are asked for."""
    if not body.strip():
        return
    if len(body) <= SHORT_CHARACTERS or _tokens(body) <= TOKENS_PER_PASSAGE:
        yield [_Piece(0, len(body), 0, ())]
        return
    made = 0
    run: list[_Piece] = []
    tokens = 0.0
    for piece in _pieces(body):
        if run and tokens + piece.tokens > TOKENS_PER_PASSAGE:
            yield run
            run, tokens, made = [], 0.0, made + 1
            if made == MAX_PASSAGES:
                return
        run.append(piece)
        tokens += piece.tokens
    if run:
        yield run


def _passage(body: str, run: list[_Piece], *, first: bool) -> Passage:
    start, end = run[0].start, run[-1].end
    text = strip_wikilinks(body[start:end]).strip()
    if text and not first and run[0].headings:
        text = f"{' › '.join(run[0].headings)}\n{text}"
    return Passage(text, start, end)


def _tokens(text: str) -> float:
    cjk, words = count_scripts(text)
    return max(cjk * TOKENS_PER_CJK_CHARACTER + words * TOKENS_PER_WORD, len(text) / CHARACTERS_PER_TOKEN)


def _pieces(body: str) -> Iterator[_Piece]:
    """Lines, and where a line is long its sentences, each with the headings above it."""
    headings: dict[int, str] = {}
    position = 0
    for line in body.splitlines(keepends=True):
        above = tuple(headings[level] for level in sorted(headings))
        heading = _HEADING.match(line.strip("\r\n"))
        if heading:
            level = len(heading[1])
            headings = {k: v for k, v in headings.items() if k < level} | {level: heading[2]}
        for part in _parts(line):
            yield _Piece(position, position + len(part), _tokens(part), above)
            position += len(part)


def _parts(line: str) -> list[str]:
    if len(line) <= _CHARACTERS_PER_PIECE // 4:
        return [line]
    out: list[str] = []
    last = 0
    for match in _BREAK.finditer(line):
        if match.end() > last:
            out.extend(_LONG.findall(line[last : match.end()]))
            last = match.end()
    out.extend(_LONG.findall(line[last:]))
    return out
