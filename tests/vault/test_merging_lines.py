"""The line merge, held against git's own on texts where both must see the same changes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.vault.linediff import Window, matches, shortest
from vaultd.vault.merge3 import Agreed, Clash, merge3
from vaultd.vault.merging import Merged, merge_notes

_LINES = st.lists(st.sampled_from("abcdef"), max_size=12)


def longest_common(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for line in one:
        before = 0
        for at, candidate in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if line == candidate else max(row[at], row[at - 1])
    return row[-1]


@given(_LINES, _LINES)
def test_matches_are_equal_lines_in_rising_order(one, other):
    at = other_at = 0
    for match in matches(one, other):
        assert match.one >= at
        assert match.other >= other_at
        assert match.length > 0
        at, other_at = match.one + match.length, match.other + match.length
        assert one[match.one : at] == other[match.other : other_at]


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), max_size=12))
def test_a_window_without_anchors_is_matched_by_a_shortest_edit_script(one, other):
    pairs = shortest(one, other, Window(0, len(one), 0, len(other)))

    assert len(pairs) == longest_common(one, other)
    assert all(one[at] == other[other_at] for at, other_at in pairs)


def test_a_moved_paragraph_anchors_on_its_unique_lines():
    assert matches(list("xx1x2xx"), list("xx1xx2xx")) == [(0, 0, 4), (4, 5, 3)]


def test_a_long_text_of_few_different_lines_does_not_take_minutes():
    rng = random.Random(1)
    one, other = ([rng.choice("ab") for _ in range(20_000)] for _ in range(2))

    assert len(matches(one, other)) <= 20_000


def test_touching_changes_clash_and_parted_ones_do_not():
    assert [type(piece) for piece in merge3("ab", "xb", "ay")] == [Clash]
    assert list(merge3("abc", "xbc", "aby")) == [Agreed("x"), Agreed("b"), Agreed("y")]


def test_what_both_changed_alike_is_agreed():
    assert list(merge3("abc", "axc", "axc")) == [Agreed("a"), Agreed("x"), Agreed("c")]


def test_a_clash_is_narrowed_to_what_differs():
    assert list(merge3("a", "x1y", "x2y")) == [Agreed("x"), Clash("a", "1", "2"), Agreed("y")]


@given(_LINES, _LINES, _LINES)
def test_clashes_are_the_same_from_both_sides(base, ours, theirs):
    one = [piece if isinstance(piece, Agreed) else (piece.ours, piece.theirs) for piece in merge3(base, ours, theirs)]
    other = [piece if isinstance(piece, Agreed) else (piece.theirs, piece.ours) for piece in merge3(base, theirs, ours)]

    assert one == other


def _git_merge(folder: Path, raws: list[bytes]) -> tuple[bool, bytes]:
    for name, raw in zip(("base", "ours", "theirs"), raws, strict=True):
        (folder / name).write_bytes(raw)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True)
    return done.returncode != 0, done.stdout


def _text(rng: random.Random, size: int, author: str) -> bytes:
    """Numbered rules that stay, and paragraphs below them that an author changes, takes out and puts in.

    No two lines of a text are alike, so that there is one way alone to pair the lines of two versions.
    """
    out: list[str] = []
    for number in range(size):
        out.append(f"-{number}-")
        chance = rng.random() if author else 0.5
        if chance < 0.15:
            out += [f"{author} new {number}", f"{author} second line {number}"]
        if chance < 0.75:
            out += [f"paragraph {number}", f"its second line {number}"]
        elif chance < 0.9:
            out.append(f"{author} {number}")
    return "".join(line + "\n" for line in out).encode()


@pytest.mark.parametrize("seed", range(60))
def test_bodies_merge_clean_where_git_merges_clean_and_to_the_same_bytes(seed, tmp_path: Path):
    rng = random.Random(seed)
    size = rng.randrange(1, 12)
    raws = [_text(rng, size, author) for author in ("", "ours", "theirs")]

    conflicts, merged = _git_merge(tmp_path, raws)
    result = merge_notes(raws[0], raws[1], raws[2])

    assert result.conflicts == conflicts
    if not conflicts:
        assert result == Merged(merged, False)


@pytest.mark.parametrize("seed", range(20))
def test_neighbouring_paragraphs_merge_clean_as_in_git(seed, tmp_path: Path):
    rng = random.Random(seed)
    paragraphs = [f"paragraph {number}" for number in range(6)]
    first, second = rng.sample(range(6), 2)
    sides = [list(paragraphs) for _ in range(3)]
    sides[1][first] += ", by us"
    sides[2][second] += ", by them"
    raws = ["\n\n".join(side).encode() + b"\n" for side in sides]

    conflicts, merged = _git_merge(tmp_path, raws)

    assert not conflicts
    assert merge_notes(raws[0], raws[1], raws[2]) == Merged(merged, False)
