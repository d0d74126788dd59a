"""From a model's proposal to memories that together hold every sentence of the text, word for word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from vaultd.core.bucket import DEFAULT_IMPORTANCE, UNSORTED_DOMAIN
from vaultd.core.emotion import Emotion
from vaultd.llm.analyst import Piece
from vaultd.llm.answers import Draft
from vaultd.llm.parts import name_from, share_covered, words_of
from vaultd.llm.redact import masks_in, without_masks

MOST_PIECES: Final = 6
SAID_FROM: Final = 0.5  # share of a sentence's words that a model's own text must have to count as saying it
LEFT_OVER_FROM: Final = 0.3  # share of the text from which sentences that nobody took become a memory of their own


def pieces_of(sentences: Sequence[str], drafts: Sequence[Draft]) -> tuple[Piece, ...]:
    """At most six memories, and one more for what they leave out.

    A sentence belongs to the first draft that names it. Few sentences that none names go with their neighbours; many
    become a memory of their own. A draft with a text instead of numbers keeps that text, and what it does not say of
    the original is kept likewise.
    """
    drafts = _at_most_six(drafts)
    owners = _owners(drafts)
    own_texts = "\n".join(draft.content for draft in drafts if not draft.numbers)
    left = [at for at, sentence in enumerate(sentences) if at not in owners and not _said(sentence, own_texts)]
    if left and not (owners and _share_of(sentences, left) < LEFT_OVER_FROM):
        return (*_made(sentences, drafts, owners), _rest("".join(_runs(sentences, left))))
    for at in left:
        owners[at] = _neighbour(owners, at)
    return tuple(_made(sentences, drafts, owners))


def _at_most_six(drafts: Sequence[Draft]) -> Sequence[Draft]:
    if len(drafts) <= MOST_PIECES:
        return drafts
    last = drafts[MOST_PIECES - 1 :]
    numbers = tuple(sorted({number for draft in last for number in draft.numbers}))
    content = "\n\n".join(draft.content for draft in last if draft.content and not draft.numbers)
    if numbers and content:  # of both sorts: the texts stay with the sentences' piece through what they fail to cover
        content = ""
    return (*drafts[: MOST_PIECES - 1], replace(last[0], numbers=numbers, content=content))


def _owners(drafts: Sequence[Draft]) -> dict[int, int]:
    owners: dict[int, int] = {}
    for index, draft in enumerate(drafts):
        for number in draft.numbers:
            owners.setdefault(number, index)
    return owners


def _said(sentence: str, texts: str) -> bool:
    if not sentence.strip():
        return True
    if not texts or not masks_in(sentence) <= masks_in(texts):
        return False
    if not words_of(sentence):
        return sentence.strip() in texts
    return share_covered(sentence, words_of(texts)) >= SAID_FROM


def _share_of(sentences: Sequence[str], places: Sequence[int]) -> float:
    whole = sum(len(sentence.strip()) for sentence in sentences)
    return sum(len(sentences[at].strip()) for at in places) / whole if whole else 0.0


def _neighbour(owners: dict[int, int], at: int) -> int:
    """The draft of the nearest sentence before, else after."""
    before = [other for other in owners if other < at]
    return owners[max(before) if before else min(owners)]


def _made(sentences: Sequence[str], drafts: Sequence[Draft], owners: dict[int, int]) -> Iterator[Piece]:
    for index, draft in enumerate(drafts):
        mine = sorted(at for at, owner in owners.items() if owner == index)
        content = "".join(_runs(sentences, mine)).strip() if draft.numbers else draft.content
        if content:
            yield _piece(draft, content)


def _runs(sentences: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """The sentences as they stand in the text; a line break where others stood between."""
    for before, at in zip((None, *places), places, strict=False):
        if before is not None and at != before + 1 and not sentences[before].endswith("\n"):
            yield "\n"
        yield sentences[at]


def _piece(draft: Draft, content: str) -> Piece:
    return Piece(
        name=draft.name or name_from(without_masks(content)),
        content=content,
        domain=draft.domain,
        valence=draft.valence,
        arousal=draft.arousal,
        tags=draft.tags,
        importance=draft.importance,
        when=draft.when,
    )


def _rest(content: str) -> Piece:
    plain = Emotion()
    return Piece(
        name=name_from(without_masks(content)),
        content=content.strip(),
        domain=(UNSORTED_DOMAIN,),
        valence=plain.valence,
        arousal=plain.arousal,
        tags=(),
        importance=DEFAULT_IMPORTANCE,
    )
