"""The text below the frontmatter: its newlines, and how another text takes its place."""

from __future__ import annotations

import re

from vaultd.vault.linediff import matches

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


def unified(text: str) -> str:
    """The text with `\\n` for every newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def newline_of(*texts: str) -> str:
    """The newline that the first of these texts with a newline uses most."""
    for text in texts:
        breaks = text.count("\n")
        if breaks:
            return "\r\n" if text.count("\r\n") * 2 > breaks else "\n"
    return "\n"


def rewritten(old: str, new: str, newline: str) -> str:
    """`new`, with the newlines of the lines it shares with `old`, and `newline` on the others."""
    new = unified(new)
    if "\r" not in old:
        return new if newline == "\n" else new.replace("\n", newline)
    old_lines, new_lines = _lines(old), _lines(new)
    endings = [newline if ending else "" for _, ending in new_lines]
    for first, new_first, length in matches([line for line, _ in old_lines], [line for line, _ in new_lines]):
        for at in range(length):
            if endings[new_first + at] and old_lines[first + at][1]:
                endings[new_first + at] = old_lines[first + at][1]
    text = "".join(line + ending for (line, _), ending in zip(new_lines, endings, strict=True))
    # A lone CR that was kept before a new LF would make one newline of two.
    return text if unified(text) == new else new.replace("\n", newline)


def _lines(text: str) -> list[tuple[str, str]]:
    pairs = _LINE.findall(text)
    return pairs if pairs[-1] != ("", "") or len(pairs) == 1 else pairs[:-1]
