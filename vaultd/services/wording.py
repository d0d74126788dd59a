"""Texts as people and models give them, made fit to keep."""

from __future__ import annotations

import re

from vaultd.core.errors import BadInput
from vaultd.core.text import clean_text, strip_wikilinks
from vaultd.index.rows import NAME_CHARACTERS
from vaultd.llm.redact import strip_private

MAX_CHARACTERS = 1_048_576
_NAME_WANTED = 40  # characters of a name made from the body
_MARKDOWN = re.compile(r"^[\s>#*+\-\d.)\[\]x]+|[*_`~]+")
_SENTENCE = re.compile(r"[。！？!?；;\n]|\.(?=\s|$)")


def name_of(body: str) -> str:
    """A name for a text: its first sentence without Markdown, cut to a readable length."""
    for line in strip_wikilinks(body).splitlines():
        text = _MARKDOWN.sub("", line).strip()
        if not text:
            continue
        end = _SENTENCE.search(text)
        first = text[: end.start()].strip() if end and end.start() > 0 else text
        if len(first) > _NAME_WANTED:
            cut = first[:_NAME_WANTED]
            first = cut.rsplit(" ", 1)[0] if " " in cut[20:] else cut
        return first[:NAME_CHARACTERS].strip(" ,，、：:")
    return ""


def checked_text(content: str) -> str:
    """A text that can be kept: whole, without private parts. Raises BadInput with what to do."""
    if not isinstance(content, str):
        raise BadInput("content: must be text")
    if len(content) > MAX_CHARACTERS:
        raise BadInput(f"content: {len(content):,} characters are too many; keep at most {MAX_CHARACTERS:,} at once")
    text = strip_private(clean_text(content)).strip()
    if not text:
        raise BadInput("content: is empty; say what is to be remembered")
    return text


def one_line(text: str) -> str:
    """A name, domain or tag as it can stand in a property: whole characters on one line."""
    return " ".join(clean_text(text).split())
