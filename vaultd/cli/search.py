"""`vaultd search`: hits in the terminal, with the words that were found made bold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from vaultd.cli.options import json_option, load_settings, vault_options
from vaultd.cli.output import note, print_json, say
from vaultd.cli.reach import reach

_CJK: Final = re.compile(r"[^\x00-\u2fff]")
_NOTICES: Final[Mapping[str, str]] = {
    "no_embeddings": "Searched by words only: embeddings are off or not ready (`vaultd status`).",
    "domain_dropped": "Nothing in that domain; searched everywhere instead.",
}
_MARKS: Final[Mapping[str, str]] = {"semantic": "by meaning", "own": "your note", "core": "pinned"}


@click.command()
@click.argument("words", nargs=-1, required=True)
@vault_options
@json_option
@click.option("--limit", "-n", type=click.IntRange(1, 50), help="Most hits; else matching.max_results.")
@click.option("--domain", metavar="NAMES", help="Only in these topic areas, comma-separated.")
@click.option("--tags", metavar="NAMES", help="Only with these tags, comma-separated.")
@click.option("--from", "date_from", metavar="DATE", help="2026, 2026-05 or 2026-05-17.")
@click.option("--to", "date_to", metavar="DATE", help="2026, 2026-05 or 2026-05-17.")
def search(
    words: tuple[str, ...],
    config: Path | None,
    vault: Path | None,
    as_json: bool,
    limit: int | None,
    domain: str | None,
    tags: str | None,
    date_from: str | None,
    date_to: str | None,
) -> None:
    """Search memories and notes, by words and by meaning.

    Looking here counts as no recall: nothing is remembered better for it.

    \b
    Examples:
      vaultd search rice cooker
      vaultd search 实习 offer -n 3
      vaultd search "what did I promise last May" --json
    """
    found = load_settings(config, vault)
    query: dict[str, str | int | float] = {
        "q": " ".join(words),
        "limit": limit or found.settings.matching.max_results,
    }
    given = {"domain": domain, "tags": tags, "date_from": date_from, "date_to": date_to}
    query |= {key: value for key, value in given.items() if value}
    answer = reach(found).get("/api/search", query)
    if as_json:
        print_json(answer)
        return
    for notice in answer["notices"]:
        note(_NOTICES.get(notice, notice))
    if not answer["items"]:
        say("Nothing found.")
    for number, item in enumerate(answer["items"], 1):
        _tell(number, item, answer.get("words", ()))


def _tell(number: int, item: Mapping[str, Any], words: Sequence[str]) -> None:
    if number > 1:
        say()
    title = click.style(str(item["name"] or item["path"]), bold=True)
    day = str(item["created"] or "")[:10]
    about = [str(item["path"]) if item["kind"] == "own" else f"{item['id']}", day, ", ".join(item["domain"])]
    if item["kind"] != "own":
        about.append(f"importance {item['importance']}")
    about += ["archived"] if item["kind"] == "archived" else []
    about += ["resolved"] if item["resolved"] else []
    about += [_MARKS[item["fate"]]] if item["fate"] in _MARKS else []
    say(f"{number:>2}. {title}")
    say("    " + click.style(" · ".join(filter(None, about)), dim=True))
    say("    " + highlighted(str(item["snippet"]), words))


def highlighted(text: str, words: Sequence[str]) -> str:
    """The text with these words bold and in colour, as stems of longer words too; case does not matter."""
    hit = [False] * len(text)
    for pattern in filter(None, map(_pattern, words)):
        for found in pattern.finditer(text):
            hit[found.start() : found.end()] = [True] * (found.end() - found.start())
    out: list[str] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or hit[end] != hit[start]:
            piece = text[start:end]
            out.append(click.style(piece, bold=True, fg="yellow") if hit[start] else piece)
            start = end
    return "".join(out)


def _pattern(word: str) -> re.Pattern[str] | None:
    if _CJK.search(word):  # a single character says little, and would light up everywhere
        return re.compile(re.escape(word)) if len(word) > 1 else None
    return re.compile(rf"\b{re.escape(word)}\w*", re.IGNORECASE) if len(word) > 1 else None
