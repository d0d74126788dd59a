"""What comes up again and again in what an import brought in: words, tags, topic areas, months."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

LEAST_MEMORIES: Final = 3  # that a pattern is in
PIN_FROM_MEMORIES: Final = 5  # from which a pattern may be worth a pinned memory
MOST_PATTERNS: Final = 30
LONGEST_RUN: Final = 5  # characters of a word in a script without blanks
EXAMPLES: Final = 5
MOST_COMPARED: Final = 1_500  # frequent words that are compared with each other
MOST_COUNTED: Final = 400_000  # words in memory; beyond, those seen once are forgotten
TEXT_CHARACTERS: Final = 4_000  # of a memory that are looked at

_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_RUN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_SKIPPED: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_LABELS: Final = re.compile(r"^(?:User|Assistant|用户|助手)(?: ?[(（][\d-]+[)）])?[:：]", re.MULTILINE)
_WITHIN: Final = 0.8  # of a longer word's memories: then the shorter one is but a part of it


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COMMON: Final = _listed(
    """the and for that this with you your was are not but have has had from they she him her his their there what when
    which who will would can could should about into just like some then than them these those been were more also very
    over after before only because how why all any one two out our its it's i'm don't didn't doesn't isn't get got make
    made know think want need really going still even much many here where while being did does doing said say says
    let's let use used using yes okay well good new now way time thing things something user assistant lot may might
    please help thanks thank each such other same most both between without through during first last next back yet
    again ever never always often sometimes maybe though however therefore example"""
)
_COMMON_RUNS: Final = _listed(
    """我们 你们 他们 她们 自己 一个 这个 那个 什么 怎么 为什么 因为 所以 但是 如果 可以 没有 就是 不是 还是 已经 现在 时候 觉得
    知道 可能 应该 需要 一些 一下 这样 那样 这么 那么 然后 而且 或者 以及 非常 比较 真的 其实 只是 的话 不能 不会 一直 起来 出来
    这些 那些 今天 昨天 明天 用户 助手 附件 问题 东西 事情 有点 还有 之后 之前 以后 以前 里面 下来 过来 不过 虽然 同时 通过 进行"""
)
_FUNCTION: Final = frozenset(
    "的了是在我你他她它也都就和与及而但这那不很有没吗呢吧啊呀嘛着过把被让给对从到为以于之其些个们又再才还更最会能要想说去来上下里外中"
)


@dataclass(frozen=True, slots=True)
class Remembered:
    """One memory of an import, as far as patterns need it."""

    id: str
    name: str
    content: str
    tags: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A word that many memories share. `memories` counts them, `examples` are ids of some; `pin`: worth a look."""

    word: str
    memories: int
    examples: tuple[str, ...]
    pin: bool


@dataclass(frozen=True, slots=True)
class Patterns:
    """What an import is about. Months are `2024-05`, in order."""

    memories: int
    words: tuple[Pattern, ...]
    tags: tuple[Pattern, ...]
    domains: tuple[Pattern, ...]
    months: tuple[tuple[str, int], ...]


def patterns_in(memories: Iterable[Remembered]) -> Patterns:
    """The patterns in these memories; each memory counts once for a word, however often it says it."""
    words, tags, domains = _Counted(), _Counted(), _Counted()
    months: Counter[str] = Counter()
    count = 0
    for memory in memories:
        count += 1
        words.add(set(_words(memory.content[:TEXT_CHARACTERS])), memory.id)
        tags.add({tag.casefold() for tag in memory.tags}, memory.id)
        domains.add(set(memory.domain), memory.id)
        if memory.when is not None:
            months[f"{memory.when:%Y-%m}"] += 1
    return Patterns(count, words.patterns(), tags.patterns(), domains.patterns(), tuple(sorted(months.items())))


class _Counted:
    """In how many memories words are, and in which first."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def add(self, words: set[str], memory_id: str) -> None:
        self._counts.update(words)
        for word in words:
            examples = self._examples.setdefault(word, [])
            if len(examples) < EXAMPLES:
                examples.append(memory_id)
        if len(self._counts) > MOST_COUNTED:
            for word in [word for word, count in self._counts.items() if count == 1]:
                del self._counts[word], self._examples[word]

    def patterns(self) -> tuple[Pattern, ...]:
        often = [word for word, count in self._counts.items() if count >= LEAST_MEMORIES]
        often.sort(key=lambda word: (-self._counts[word], -len(word), word))
        best = {word: self._counts[word] for word in often[:MOST_COMPARED]}
        kept = [word for word in best if not _is_part(word, best)][:MOST_PATTERNS]
        return tuple(
            Pattern(word, best[word], tuple(self._examples[word]), best[word] >= PIN_FROM_MEMORIES) for word in kept
        )


def _is_part(word: str, counts: Mapping[str, int]) -> bool:
    """Whether a run of Han characters is but a piece of a longer one that is nearly as frequent."""
    if not _RUN.fullmatch(word):
        return False
    wanted = counts[word] * _WITHIN
    return any(len(longer) > len(word) and word in longer and count >= wanted for longer, count in counts.items())


def _words(text: str) -> Iterator[str]:
    plain = _LABELS.sub("", _SKIPPED.sub(" ", unicodedata.normalize("NFKC", text)))
    for match in _WORD.finditer(plain):
        word = match[0].casefold()
        if not _RUN.search(word) and word not in _COMMON:
            yield word
    for match in _RUN.finditer(plain):
        run = match[0]
        for length in range(2, LONGEST_RUN + 1):
            for at in range(len(run) - length + 1):
                piece = run[at : at + length]
                if piece[0] not in _FUNCTION and piece[-1] not in _FUNCTION and piece not in _COMMON_RUNS:
                    yield piece


def patterns_read(raw: Mapping[str, Any]) -> Patterns:
    """Patterns as `dataclasses.asdict` and JSON leave them."""

    def listed(key: str) -> tuple[Pattern, ...]:
        return tuple(Pattern(**{**entry, "examples": tuple(entry["examples"])}) for entry in raw[key])

    months = tuple((str(month), int(count)) for month, count in raw["months"])
    return Patterns(int(raw["memories"]), listed("words"), listed("tags"), listed("domains"), months)
