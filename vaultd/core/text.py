"""Plain text work: strip wikilinks, estimate tokens, cut at a sentence end, count scripts."""

from __future__ import annotations

import math
import re
from itertools import chain

_WIKILINK = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_NOT_CJK = re.compile(r"[^\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff]+")
_LATIN_WORD = re.compile(r"[A-Za-z0-9À-ɏЀ-ӿ]+")
_ASCII_WORDS_ALONE = bytes(c if chr(c).isalnum() else ord(" ") for c in range(128)).ljust(256)
_SENTENCE_END = re.compile(r"[。！？!?…]+[”’」』\"')]*|\.(?=\s|$)|\n+")

TOKENS_PER_CJK_CHARACTER = 1.5  # INTERNALS §3.8
TOKENS_PER_WORD = 1.3  # INTERNALS §3.8


def strip_wikilinks(text: str) -> str:
    """`[[target|shown]]` becomes `shown`, `[[target]]` becomes `target`."""
    return _WIKILINK.sub(lambda m: m[2] or m[1], text) if "[[" in text else text


def count_scripts(text: str) -> tuple[int, int]:
    """How many CJK characters and how many words of letters or digits a text has."""
    if text.isascii():
        return 0, len(text.encode().translate(_ASCII_WORDS_ALONE).split())
    return len("".join(_NOT_CJK.split(text))), len(_LATIN_WORD.findall(text))


def estimate_tokens(text: str) -> int:
    """Estimate of a language model's tokens: 1.5 a CJK character, 1.3 a word of letters or digits."""
    return _tokens(*count_scripts(text))


def _tokens(cjk: int, words: int) -> int:
    return math.ceil(cjk * TOKENS_PER_CJK_CHARACTER + words * TOKENS_PER_WORD)


def cut_at_sentence(text: str, max_tokens: int) -> str:
    """The longest run of whole sentences within `max_tokens`; a first sentence that is longer is cut inside."""
    return counted_cut(text, max_tokens)[0]


def counted_cut(text: str, max_tokens: int) -> tuple[str, int]:
    """The same with its estimate of tokens."""
    end = cjk = words = 0
    for stop in chain((match.end() for match in _SENTENCE_END.finditer(text)), (len(text),)):
        more_cjk, more_words = count_scripts(text[end:stop])  # no word goes over a sentence's end
        if _tokens(cjk + more_cjk, words + more_words) > max_tokens:
            break
        end, cjk, words = stop, cjk + more_cjk, words + more_words
    else:
        return text, _tokens(cjk, words)
    return (text[:end].rstrip(), _tokens(cjk, words)) if end else _cut_inside(text, max_tokens)


def _cut_inside(text: str, max_tokens: int) -> tuple[str, int]:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip(), estimate_tokens(text[:low])


def share_of_cjk(text: str) -> float:
    """CJK characters as a share of CJK characters and latin words, 0…1; 0 for neither."""
    cjk, words = count_scripts(text)
    return cjk / (cjk + words) if cjk + words else 0.0


def clean_text(text: str) -> str:
    """Text that can be stored: lone surrogates replaced, NUL removed, newlines as `\\n`."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
