"""How much a word of a question says: words that only hold a sentence together count little, in English and Chinese.

A stop list throws such words away; here they keep a tenth, so that a question of nothing else still finds something,
and a note that says it word for word still comes first. In a small vault their rarity would otherwise make "what" and
"did" look like names: few notes are questions.
"""

from __future__ import annotations

from typing import Final

import Stemmer

CONTENT: Final = 1.0
HALF: Final = 0.5  # a bigram of one function character and one of content: 的猫, 很累
FUNCTION: Final = 0.1

_ENGLISH: Final = (
    "a about all also am an and any are as at be because been being but by can could d did do does doing done down for "
    "from get got had has have having he her hers herself him himself his how i if in into is it its itself just ll m "
    "may me might more most my myself no not of off on once or our ours ourselves out over own re s said same say she "
    "should so some such t than that the their theirs them themselves then there these they this those to too up us ve "
    "very was we were what whatever when where which while who whom whose why will with would yes yet you your yours "
    "yourself"
)
_CHINESE: Final = frozenset(
    "的了吗呢吧啊呀嘛哪么是我你您他她它们谁几在和与及或就也都还很着把被对过这那个些有没不会能可要让给从到以之其所"
)


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(Stemmer.Stemmer("english").stemWords(words.split()))


_STEMS: Final = _stemmed(_ENGLISH)


def weight_of(word: str) -> float:
    """What a word of a question counts, 0.1…1: `word` is a stem, or a bigram of a script without blanks."""
    if word.isascii():
        return FUNCTION if word in _STEMS else CONTENT
    if len(word) != 2:
        return CONTENT
    functions = (word[0] in _CHINESE) + (word[1] in _CHINESE)
    return (CONTENT, HALF, FUNCTION)[functions]
