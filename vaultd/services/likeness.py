"""How far two texts are the same memory, 0…1: what a text to keep is compared by, unlike a question.

A question is answered by the best there is, however little that may be. A text is joined to another one only where both
say the same; near it, in topic or in wording, lie most of the other memories of a life.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.index.tokens import weighted_words
from vaultd.scoring.relevance import on_curve

Floats = npt.NDArray[np.float64]

COMPARED: Final = 8  # notes whose text is read
_MEANING: Final = ((0.0, 0.0), (0.85, 0.4), (0.93, 0.7), (0.96, 0.86), (1.0, 1.0))  # similarity ─► likeness; 0.96 is a
# cosine of about 0.8 for the built-in model, which a reworded text reaches and another one of the same subject does not
_WORDS: Final = ((0.0, 0.0), (0.5, 0.4), (0.7, 0.7), (0.8, 0.86), (1.0, 1.0))  # share of words in common ─► likeness
OTHER_NUMBERS: Final = 0.7  # at most, where the texts name different numbers: 5 km is not 6 km; too little to be joined


def likenesses(content: str, bodies: Sequence[str], similarity: Floats) -> Floats:
    """Likeness of a text with each body; `similarity` is calibrated, NaN where it is not known."""
    asked = weighted_words(content)
    of_words = np.array([_overlap(asked, weighted_words(body)) for body in bodies])
    alike = np.maximum(on_curve(_MEANING, np.nan_to_num(similarity, nan=0.0)), on_curve(_WORDS, of_words))
    same = np.array([_numbers(asked) == _numbers(weighted_words(body)) for body in bodies], np.bool_)
    out: Floats = np.where(same, alike, np.minimum(alike, OTHER_NUMBERS))
    return out


def _overlap(first: dict[str, float], second: dict[str, float]) -> float:
    """Weight of the words in common, as a share of both texts' mean weight (Dice)."""
    both = sum(first.values()) + sum(second.values())
    return 2 * sum(weight for word, weight in first.items() if word in second) / both if both else 0.0


def _numbers(words: dict[str, float]) -> frozenset[str]:
    return frozenset(word for word in words if any(letter.isdecimal() for letter in word))
