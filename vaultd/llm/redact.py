"""Keep keys, passwords and private parts out of what is sent to a model, and put them back into what comes back.

A secret becomes `⟦secret:1⟧`, a `<private>…</private>` part becomes `⟦private:1⟧`. Missing one secret is worse than
masking an innocent word, since every mask is undone by `Redaction.restore`; so the patterns are wide.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

SECRET: Final = "secret"
PRIVATE: Final = "private"

_OPEN: Final = re.compile(r"[<＜]\s{0,6}private\s{0,3}[>＞]", re.IGNORECASE)
_TAG: Final = re.compile(r"[<＜]\s{0,3}(?P<closes>[/／]?)\s{0,3}private\s{0,3}[>＞]", re.IGNORECASE)

# What a mask looks like in an answer: models swap brackets. The exact form comes first, so that "[⟦secret:1⟧]" keeps its own.
_LABEL: Final = rf"\s*({SECRET}|{PRIVATE})\s*[:：]\s*(\d{{1,7}})\s*"
_MASK: Final = re.compile(
    "|".join((rf"⟦{_LABEL}⟧", rf"\[\[{_LABEL}\]\]", rf"\[{_LABEL}\]", rf"【{_LABEL}】")), re.IGNORECASE
)

_VENDOR_KEYS: Final = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, DeepSeek, OpenRouter, SiliconFlow …
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",  # AWS
    r"LTAI[A-Za-z0-9]{12,}",  # Alibaba Cloud
    r"AKID[A-Za-z0-9]{13,}",  # Tencent Cloud
    r"AIza[A-Za-z0-9_-]{30,}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"(?:hf|npm|gsk|r8|whsec)_[A-Za-z0-9]{16,}",
    r"(?:pypi|pplx|xai|tvly|nvapi)-[A-Za-z0-9_-]{16,}",
    r"do[opr]_v1_[a-f0-9]{32,}",  # DigitalOcean
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}",  # Shopify
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",  # JSON web token
    r"\d{8,10}:[A-Za-z0-9_-]{35}",  # Telegram bot
)
_SECRET_WORDS: Final = (
    r"(?<![a-z])(?:pass|pin(?:[ _-]?code)?)|pass(?:word|wd|code)|pwd|(?:api|access|secret|private|encryption|licen[cs]e)[ _-]?key"
    r"|(?:auth|access|refresh|bearer|session|bot)?[ _-]?token|(?:client[ _-]?)?secret|credentials?"
    r"|密\s?码|口令|密钥|秘钥|私钥|令牌|验证码|授权码"
)
_PHRASE_WORDS: Final = r"passphrase|(?:seed|recovery|backup)[ _-]?(?:phrase|words?|codes?)|mnemonic|助记词|恢复码"
_VALUE: Final = r"(?:\"(?P<a>[^\"\n]{3,200})\"|'(?P<b>[^'\n]{3,200})'|`(?P<c>[^`\n]{3,200})`|(?P<d>[^\s，。；、]{3,500}(?<![.,;:])))"
_SAYS: Final = r"\s{0,3}(?:[:：=＝]|\s(?:is|was)\s|[是为])"


class _Pattern(NamedTuple):
    """A pattern is tried only on a text that has one of the `hints` in lower case: most texts have none."""

    hints: tuple[str, ...]
    regex: re.Pattern[str]


_PATTERNS: Final = (
    _Pattern(
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    _Pattern(("",), re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_VENDOR_KEYS)})")),
    _Pattern(
        ("bearer", "basic"),
        re.compile(r"\b(?:bearer|basic)\s{1,3}(?=\S{0,500}[\d._~+/=-])(?P<a>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE),
    ),
    _Pattern(("://",), re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/@:]{0,200}:(?P<a>[^\s/]{1,500})@", re.IGNORECASE)),
    _Pattern(
        ("=",),
        re.compile(
            r"[?&#][a-z_-]{0,20}(?:token|key|secret|password|passwd|signature|sig|auth|code)=(?P<a>[^\s&#\"'<>]{6,})",
            re.IGNORECASE,
        ),
    ),
    _Pattern(
        (
            *("pass", "pwd", "pin", "key", "token", "secret", "credential"),
            *("密", "口令", "秘钥", "私钥", "令牌", "验证码", "授权码"),
        ),
        re.compile(rf"(?:{_SECRET_WORDS})[\"'*_`]{{0,3}}{_SAYS}[>\s]{{0,3}}[*]{{0,2}}{_VALUE}", re.IGNORECASE),
    ),
    _Pattern(
        ("phrase", "word", "code", "mnemonic", "助记词", "恢复码"),
        re.compile(rf"(?:{_PHRASE_WORDS}){_SAYS}\s{{0,3}}(?P<a>[^\n]{{3,}})", re.IGNORECASE),
    ),
)
_DIGIT_RUN: Final = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,60}(?!\d)")
_DIGIT_GROUP: Final = re.compile(r"\d+")
_CARD_DIGITS: Final = range(13, 20)  # ISO/IEC 7812 numbers of payment cards
_CARD_GROUPS: Final = 5  # most groups that a card's number is written in
_WORD: Final = re.compile(r"[A-Za-z0-9+]{20,}={0,2}")
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9+/_-]{28,}={0,2}")
_HEX: Final = re.compile(r"[0-9a-fA-F]{32,}")
_LEAST_ENTROPY_BITS: Final = 3.5  # a character; hexadecimal can reach 4, base 64 can reach 6
_LEAST_CHANGES: Final = 5  # from letters to digits or from one case to the other
_LEAST_CHANGE_SHARE: Final = 0.35  # of neighbours in a word with separators; random base 62 has 0.62, a path under 0.2

Span = tuple[int, int]


def strip_private(text: str) -> str:
    """The text without its `<private>…</private>` parts, whatever their case; an unclosed part runs to the end."""
    kept: list[str] = []
    position = 0
    for start, end in _private_spans(text):
        kept.append(text[position:start])
        position = end
    whole = "".join([*kept, text[position:]])
    opened = _OPEN.search(whole)  # two halves of a tag that met: nobody types that by accident
    return whole if opened is None else whole[: opened.start()]


def find_secrets(text: str) -> tuple[Span, ...]:
    """Where the text holds what looks like a secret: disjoint spans, in order."""
    return _united([*_matches(text), *_cards(text), *_random_words(text)])


class Redaction:
    """The masks over the texts of one request. Equal secrets get equal masks."""

    def __init__(self, *texts: str) -> None:
        self._taken = {number for text in texts for _, number in masks_in(text)}
        self._values: dict[tuple[str, int], str] = {}
        self._masks: dict[str, str] = {}
        self.masked: tuple[str, ...] = tuple(self._masked(text) for text in texts)

    def restore(self, text: str, *, private: bool = True) -> str:
        """The text with every mask put back; private parts only on request (else their masks vanish)."""

        def original(match: re.Match[str]) -> str:
            label = _label_of(match)
            value = self._values.get(label)
            if value is None:
                return match[0]
            return value if private or label[0] == SECRET else ""

        return _MASK.sub(original, text)

    def _masked(self, text: str) -> str:
        private = _private_spans(text)
        secrets = [rest for span in find_secrets(text) for rest in _outside(span, private)]
        spans = sorted([*((span, PRIVATE) for span in private), *((span, SECRET) for span in secrets)])
        out: list[str] = []
        position = 0
        for (start, end), kind in spans:
            out += (text[position:start], self._mask(kind, text[start:end]))
            position = end
        return "".join([*out, text[position:]])

    def _mask(self, kind: str, value: str) -> str:
        if value not in self._masks:
            number = len(self._taken) + 1
            while number in self._taken:
                number += 1
            self._taken.add(number)
            self._values[kind, number] = value
            self._masks[value] = f"⟦{kind}:{number}⟧"
        return self._masks[value]


def without_masks(text: str) -> str:
    """The text with its masks taken out, for names and tags, which never carry a secret."""
    return _MASK.sub("", text)


def masks_in(text: str) -> frozenset[tuple[str, int]]:
    """The masks that stand in the text, whatever their brackets."""
    return frozenset(_label_of(match) for match in _MASK.finditer(text))


def mask_spans(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Where masks stand between two positions, so that a text is not cut inside one."""
    return (match.span() for match in _MASK.finditer(text, start, len(text) if end is None else end))


def _label_of(match: re.Match[str]) -> tuple[str, int]:
    kind, number = (group for group in match.groups() if group is not None)
    return kind.lower(), int(number)


def _private_spans(text: str) -> list[Span]:
    spans: list[Span] = []
    depth = start = 0
    for tag in _TAG.finditer(text):
        if not tag["closes"]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, tag.end()))
    return [*spans, (start, len(text))] if depth else spans


def _matches(text: str) -> Iterator[Span]:
    lowered = text.lower()
    for hints, regex in _PATTERNS:
        if not any(hint in lowered for hint in hints):
            continue
        for match in regex.finditer(text):
            yield match.span(match.lastgroup or 0)


def _cards(text: str) -> Iterator[Span]:
    for run in _DIGIT_RUN.finditer(text):
        groups = [group.span() for group in _DIGIT_GROUP.finditer(text, *run.span())]
        for first, (start, _) in enumerate(groups):
            for _, end in groups[first : first + _CARD_GROUPS]:
                digits = text[start:end].replace(" ", "").replace("-", "")
                if len(digits) in _CARD_DIGITS and _passes_luhn(digits):
                    yield start, end


def _passes_luhn(digits: str) -> bool:
    """ISO/IEC 7812-1 annex B: every second digit from the right doubled, digit sums added, divisible by ten."""
    doubled = (sum(divmod(int(digit) * 2, 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[::-2]))) % 10 == 0 and len(set(digits)) > 1


def _random_words(text: str) -> Iterator[Span]:
    for match in _WORD.finditer(text):
        if _looks_random(match[0]):
            yield match.span()
    for match in _LONG_WORD.finditer(text):
        if _looks_random_with_separators(match[0]):
            yield match.span()


def _looks_random(word: str) -> bool:
    if len({_sort_of(character) == "digit" for character in word.rstrip("=")}) < 2:
        return False
    return bool(_HEX.fullmatch(word)) or (
        _changes(word) >= _LEAST_CHANGES and _entropy_bits(word) >= _LEAST_ENTROPY_BITS
    )


def _looks_random_with_separators(word: str) -> bool:
    plain = re.sub(r"[+/_=-]", "", word)
    return len({_sort_of(character) for character in plain}) == 3 and _changes(plain) >= _LEAST_CHANGE_SHARE * len(
        plain
    )


def _changes(word: str) -> int:
    return sum(_sort_of(left) != _sort_of(right) for left, right in pairwise(word))


def _sort_of(character: str) -> str:
    return "digit" if character.isdigit() else "upper" if character.isupper() else "lower"


def _entropy_bits(word: str) -> float:
    """Shannon's entropy of the word's characters, in bits a character."""
    return -sum(count / len(word) * math.log2(count / len(word)) for count in Counter(word).values())


def _outside(span: Span, holes: Sequence[Span]) -> Iterator[Span]:
    """What of the span lies in none of the holes, which are disjoint and in order."""
    start, end = span
    for low, high in holes:
        if low < end and start < high:
            if start < low:
                yield start, low
            start = high
    if start < end:
        yield start, end


def _united(spans: Sequence[Span]) -> tuple[Span, ...]:
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return tuple(united)
