"""The prompts: one Markdown file a task and language; texts of notes are fenced as data in the user message."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

from vaultd.core.text import share_of_cjk

CHINESE_FROM: Final = 0.3  # share of CJK characters among characters and words


class Language(StrEnum):
    """The languages that prompts are written in."""

    ZH = "zh"
    EN = "en"


class Task(StrEnum):
    """What a chat model is asked for; each has its prompt files."""

    ANNOTATE = "annotate"
    MERGE = "merge"
    SPLIT = "split"
    CONDENSE = "condense"
    SUMMARISE = "summarise"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The fixed part of a request; `version` is a hash of its text, so that a changed prompt outdates what it made."""

    task: Task
    language: Language
    system: str
    version: str


@dataclass(frozen=True, slots=True)
class TopicAreas:
    """The classes of domains with their areas. Both languages list them in the same order."""

    classes: Mapping[str, tuple[str, ...]]
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every class, followed by its areas."""
        return tuple(name for title, areas in self.classes.items() for name in (title, *areas))


def language_of(text: str) -> Language:
    """Chinese from a CJK share of 0.3 on, else English."""
    return Language.ZH if share_of_cjk(text) >= CHINESE_FROM else Language.EN


@cache
def prompt_for(task: Task, language: Language) -> Prompt:
    """The prompt of a task in a language."""
    system = _file(f"{task}.{language}.md").replace("{{domains}}", topic_areas(language).text)
    return Prompt(task, language, system, hashlib.blake2b(system.encode(), digest_size=8).hexdigest())


@cache
def topic_areas(language: Language) -> TopicAreas:
    """The domains that annotations choose from."""
    text = _file(f"domains.{language}.md")
    classes: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        title, _, areas = line.removeprefix("- ").replace("：", ":").partition(":")
        classes[title.strip()] = tuple(area.strip() for area in areas.replace("、", ",").split(","))
    return TopicAreas(classes, text)


@cache
def _canonical(language: Language) -> Mapping[str, str]:
    own = topic_areas(language).names
    return {
        spelled.casefold(): name
        for other in Language
        for spelled, name in zip(topic_areas(other).names, own, strict=True)
    }


def canonical_domain(name: str, language: Language) -> str:
    """A listed domain in the list's own spelling and in `language`; any other as it is."""
    return _canonical(language).get(name.casefold(), name)


def fenced(text: str, key: str, label: str = "") -> str:
    """The text between two lines that carry `key`, which must be unguessable and stand nowhere in the text."""
    mark = f"{key} {label}".rstrip()
    return f"<<<data {mark}>>>\n{text}\n<<<end {mark}>>>"


def _file(name: str) -> str:
    return resources.files("vaultd.llm").joinpath("prompts", name).read_text(encoding="utf-8").strip()
