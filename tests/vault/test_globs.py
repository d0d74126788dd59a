"""Exclude patterns as in .gitignore."""

from __future__ import annotations

import pytest

from vaultd.vault.globs import Globs


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("private", "private/a.md", True),
        ("private", "x/private/a.md", True),
        ("private", "private.md", False),
        ("/private", "x/private/a.md", False),
        ("private/", "x/private/a.md", True),
        ("private/", "private", False),
        ("*.draft.md", "x/a.draft.md", True),
        ("*.draft.md", "x/draft.md", False),
        ("x/*.md", "x/a.md", True),
        ("x/*.md", "x/y/a.md", False),
        ("x/**/a.md", "x/a.md", True),
        ("x/**/a.md", "x/y/z/a.md", True),
        ("x/**", "x/y/z/a.md", True),
        ("**/logs", "a/b/logs/c.md", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("[!ab].md", "c.md", True),
        ("[z-a].md", "b.md", False),
        (r"\#a.md", "#a.md", True),
        ("# a comment", "# a comment", False),
        ("日记/*", "日记/一.md", True),
        ("caf\u00e9", "cafe\u0301/a.md", True),
        ("", "a.md", False),
    ],
)
def test_pattern(pattern, path, excluded):
    assert Globs([pattern]).match(path) is excluded


def test_the_last_pattern_that_matches_decides():
    globs = Globs(["*.md", "!keep.md"])

    assert globs.match("a.md")
    assert not globs.match("keep.md")


def test_nothing_is_taken_back_below_an_excluded_folder():
    globs = Globs(["private/", "!private/keep.md"])

    assert globs.match("private/keep.md")


def test_a_folder_is_told_apart_from_files_in_it():
    assert Globs(["x/"]).match_folder("a/x/y")
    assert not Globs(["x/*.md"]).match_folder("x")
