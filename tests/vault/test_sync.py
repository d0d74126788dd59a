"""Conflict copies, evicted files, merges under way."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.vault import sync


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("x/note.sync-conflict-20260131-093000-ABCD123.md", "x/note.md"),
        ("note.sync-conflict-20160131-093000.md", "note.md"),
        ("note (conflicted copy 2018-04-10 093612).md", "note.md"),
        ("note (my laptop's conflicted copy 2026-01-31).md", "note.md"),
        ("note (my laptop's conflicted copy 2026-01-31 (1)).md", "note.md"),
        ("note (conflicted copy).md", "note.md"),
        ("note (Conflicted copy phone 202601311205).md", "note.md"),
        ("日记 (电脑 的冲突副本 2026-01-31).md", "日记.md"),
        ("note (In Konflikt stehende Kopie von Laptop 2026-01-31).md", "note.md"),
        ("note (SFConflict me@example.org 2026-01-31-12-05-33).md", "note.md"),
        ("note_conflict-20260131-093000.md", "note.md"),
        ("note (conflict 2026-01-31 12.05).md", "note.md"),
        ("note [conflicted].md", "note.md"),
        ("a (b) (conflicted copy 2018-04-10 093612).md", "a (b).md"),
        ("n.sync-conflict-20260131-093000-ABCD123.sync-conflict-20260201-093000-ABCD123.md", "n.md"),
    ],
)
def test_conflict_copy_names_its_original(copy, original):
    assert sync.conflict_original(copy) == original


@pytest.mark.parametrize(
    "title",
    [
        "note.md",
        "talk (conflict with my sister).md",
        "the conflict.md",
        "sync-conflict.md",
        "conflicted.md",
        "how conflicted copy files come about.md",
        "note 2.md",
    ],
)
def test_a_title_about_conflicts_is_no_conflict_copy(title):
    assert not sync.is_conflict_copy(title)


@given(st.text(max_size=80))
def test_any_name_can_be_asked(name):
    original = sync.conflict_original(name + ".md")

    assert original is None or len(original) < len(name) + 3


@pytest.mark.parametrize(
    ("path", "sibling"),
    [("x/a 2.md", "x/a.md"), ("a (1).md", "a.md"), ("a.md", None), ("a 1.md", None), ("2.md", None), ("a2.md", None)],
)
def test_numbered_sibling(path, sibling):
    assert sync.numbered_sibling(path) == sibling


@pytest.mark.parametrize(
    "name", ["Test.tmp", ".Test.md.swp", "4913", "Test.md~", ".syncthing.a.md.tmp", "~syncthing~a.md.tmp", "~$a.docx"]
)
def test_passing_files_are_known(name):
    assert sync.is_temporary(name)


def test_evicted_file_names_its_note():
    assert sync.evicted_original(".a b.md.icloud") == "a b.md"
    assert sync.evicted_original("a.md") is None


@pytest.mark.parametrize(
    ("mark", "what"),
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge/", "rebase"),
        ("rebase-apply/", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
    ],
)
def test_merge_under_way_is_seen(tmp_path, mark, what):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert sync.merge_under_way(tmp_path) is None

    place = tmp_path / ".git" / mark.rstrip("/")
    place.mkdir() if mark.endswith("/") else place.touch()

    assert sync.merge_under_way(tmp_path) == what


def test_merge_under_way_is_seen_from_a_vault_below_the_repository(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "vault").mkdir()
    (tmp_path / ".git" / "MERGE_HEAD").touch()

    assert sync.merge_under_way(tmp_path / "vault") == "merge"


def test_merge_under_way_is_seen_in_a_worktree(tmp_path):
    git = ["git", "-C", tmp_path / "main", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", "init", "-q", tmp_path / "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", tmp_path / "other"], check=True, capture_output=True)
    marked = tmp_path / "main" / ".git" / "worktrees" / "other" / "MERGE_HEAD"
    marked.touch()

    assert sync.merge_under_way(tmp_path / "other") == "merge"
    assert sync.merge_under_way(tmp_path / "main") is None


def test_a_folder_without_git_is_not_git_synced(tmp_path):
    assert not sync.is_git_synced(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert sync.is_git_synced(tmp_path)
