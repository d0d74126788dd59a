"""How likely a card belongs to a message, 0…1: the similarity that the final score of cards starts from.

A small model calls nearly everything of one life somewhat alike, so the cosine alone says little; what says much is how
far a card stands out from the other cards for this message. In units of the cards' spread:

    evidence = standing + 2 · words + 1 where the person speaks of themselves − ½ · distance to the best card's evidence
    similarity = σ(3 · (evidence − 4.1))

The cosines are taken with the message less what messages have in common (the mean of the examples of intents): some cards
lie near to whatever is asked, and that says nothing. Cards of another language are farther from a message as a whole, so
each card stands out among those of its own script. Few cards have no spread worth the name: they count together with
PRIOR_CARDS that are not there. The weights are rounded from a logistic fit on labelled messages; figures in
docs/injection.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from vaultd.scoring.decay import Flags, Floats

PRIOR_CARDS: Final = 20.0  # as many stand in for the spread of cosines of cards that are not there
PRIOR_SPREAD: Final = 0.1  # their standard deviation of cosines around 0
OUTSTANDING: Final = 0.25  # cosine beyond which a card does not widen the spread that it is to stand out from
WORDS_WORTH: Final = 2.0  # of all of the question's words
MOST_WORDS: Final = 0.6  # coverage from which on more words say no more
ONESELF_WORTH: Final = 1.0  # cards are about the person: a message that is not hardly needs one
DISTANCE_WORTH: Final = 0.5  # of the way to the best card: what is far behind it seldom belongs beside it
ENOUGH: Final = 4.1  # evidence at which a card is as likely to belong as not
STEEPNESS: Final = 3.0
NO_EMBEDDING_WORTH: Final = 0.5  # coverage that speaks for a card as much as against it where there is no embedding


def standing(cosines: Floats, group: NDArray[np.bool_]) -> Floats:
    """How far each card stands out among those on its side of `group`, in units of their spread."""
    out = np.zeros(len(cosines))
    for side in (group, ~group):
        common = np.minimum(cosines[side], OUTSTANDING)
        count = len(common) + PRIOR_CARDS
        mean = float(common.sum()) / count
        spread = np.sqrt((float(((common - mean) ** 2).sum()) + PRIOR_CARDS * PRIOR_SPREAD**2) / count)
        out[side] = (cosines[side] - mean) / spread
    return out


def belonging(standings: Floats, known: Flags, coverage: Floats, *, oneself: bool) -> Floats:
    """The similarity of each card, 0…1. `coverage`: share of the question's words, 0…1; `known`: has an embedding.

    A card without an embedding goes by its words alone.
    """
    words = np.minimum(coverage, MOST_WORDS)
    evidence = np.where(known, standings, -np.inf) + WORDS_WORTH * words + (ONESELF_WORTH if oneself else 0.0)
    best = float(evidence.max(initial=-np.inf))
    far = DISTANCE_WORTH * (best - evidence) if np.isfinite(best) else np.zeros(len(evidence))
    by_meaning = 1.0 / (1.0 + np.exp(-STEEPNESS * np.clip(evidence - far - ENOUGH, -20.0, 20.0)))
    by_words = np.clip(coverage / NO_EMBEDDING_WORTH, 0.0, 1.0) ** 2
    similarity: Floats = np.where(known, by_meaning, by_words)
    return similarity
