"""Text → words for the word index: NFKC, case folding, English stems, bigrams for scripts without blanks.

No dictionary and no stop list: 实习 and 很累 are found as they stand, and so are Japanese, Korean and Thai words.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from operator import add

import Stemmer

from vaultd.index.function_words import CONTENT, weight_of

# Han, kana, Hangul, and the scripts of South-East Asia that are written without blanks.
_RUN = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u1100-\u11ff\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUNS = re.compile(rf"([{_RUN}々〆ー]+)")
_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_MARKS = re.compile(r"[\u0300-\u036f]+")
MAX_WORD_CHARACTERS = 64
SINGLE_CHARACTER = 0.2  # what a character of a run counts beside its bigrams: 旅 of 旅游 finds 旅行; measured

_stemmer = Stemmer.Stemmer("english", 20_000)  # so many words are kept with their stems: one for all threads, as
_stemming = threading.Lock()  # each of its own would keep some megabytes; and it is not safe to share


def _folded(word: str) -> str:
    if word.isascii():
        return word
    decomposed = _MARKS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", decomposed)


def normalise(text: str) -> str:
    """NFKC and case-folded, the form in which texts are compared."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _split(text: str) -> tuple[list[str], list[str]]:
    """Runs of scripts without blanks, and plain words (folded and stemmed)."""
    pieces = _RUNS.split(normalise(text))
    between = " ".join(pieces[::2])
    plain = _ASCII_WORD.findall(between) if between.isascii() else list(map(_folded, _WORD.findall(between)))
    with _stemming:
        return pieces[1::2], _stemmer.stemWords([word[:MAX_WORD_CHARACTERS] for word in plain])


_split_question = lru_cache(maxsize=4)(_split)  # its words are asked for several times, one after the other


def _bigrams(run: str) -> list[str]:
    return list(map(add, run, run[1:])) if len(run) > 1 else [run]


def words_of(text: str) -> list[str]:
    """The words of a text, repeated as they occur: bigrams of runs first, then stems."""
    runs, plain = _split(text)
    return [word for run in runs for word in _bigrams(run)] + plain


def counted_words(text: str) -> tuple[dict[str, int], int]:
    """Words with their counts, and the text's length in words.

    Single characters of runs are counted too, marked with a leading dot, so that a question of one
    character finds them; they do not add to the length.
    """
    runs, plain = _split(text)
    words = [word for run in runs for word in _bigrams(run)] + plain
    counts = Counter(words)
    if runs:
        counts.update([f".{character}" for character in "".join(runs)])
    return counts, len(words)


def query_words(text: str) -> list[str]:
    """The distinct words of a question; a run of one character asks for that character anywhere."""
    runs, plain = _split_question(text)
    words = [word for run in runs for word in (_bigrams(run) if len(run) > 1 else [f".{run}"])]
    return list(dict.fromkeys([*words, *plain]))


def weighted_words(text: str) -> dict[str, float]:
    """The words of a question with what each counts, 0.1…1 (`weight_of`), and the single characters of its runs.

    A character counts little, and not at all where it only holds a sentence together, since its bigrams do not.
    """
    runs, plain = _split_question(text)
    words: dict[str, float] = {}
    for run in runs:
        if len(run) == 1:
            words[f".{run}"] = CONTENT
            continue
        words.update((bigram, weight_of(bigram)) for bigram in _bigrams(run))
        words.update(
            (f".{one}", SINGLE_CHARACTER) for one in run if weight_of(one + one) == CONTENT and f".{one}" not in words
        )
    words.update((word, weight_of(word)) for word in plain)
    return words
