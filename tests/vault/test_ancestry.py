"""Which of two notes with one id was there first, by git's history."""

import os
import subprocess
from itertools import count

import pytest

from vaultd.vault import ancestry
from vaultd.vault.ancestry import Ancestry


@pytest.fixture
def clone(tmp_path):
    def git(*arguments, at=0):
        moment = f"{1_780_000_000 + at} +0000"
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", str(tmp_path), *arguments],
            check=True,
            capture_output=True,
            env=os.environ | {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment, "GIT_CONFIG_GLOBAL": os.devnull},
        )

    git("init", "-q", "-b", "main")
    return git


def commit(clone, folder, name, at):
    (folder / name).write_text("river\n")
    clone("add", "-A")
    clone("commit", "-qm", name, at=at)


def an_ancestry(folder):
    return Ancestry(folder, monotonic=lambda: 0.0)


def test_a_copy_that_is_not_committed_is_younger_than_what_is(clone, tmp_path):
    commit(clone, tmp_path, "zebra.md", at=0)
    (tmp_path / "apple.md").write_text("river\n")
    asked = an_ancestry(tmp_path)

    assert asked.is_elder("zebra.md", "apple.md")
    assert not asked.is_elder("apple.md", "zebra.md")


def test_it_stays_younger_once_it_is_committed_too(clone, tmp_path):
    commit(clone, tmp_path, "zebra.md", at=0)
    asked = an_ancestry(tmp_path)
    asked.is_elder("zebra.md", "apple.md")
    commit(clone, tmp_path, "apple.md", at=60)

    assert asked.is_elder("zebra.md", "apple.md")
    assert not asked.is_elder("apple.md", "zebra.md")


def test_a_clone_without_a_reflog_is_asked_now_and_then(clone, tmp_path):
    clone("config", "core.logAllRefUpdates", "false")
    ticks = count(step=2)
    asked = Ancestry(tmp_path, monotonic=lambda: next(ticks))
    commit(clone, tmp_path, "zebra.md", at=0)
    before = asked.is_elder("zebra.md", "apple.md")
    commit(clone, tmp_path, "apple.md", at=60)

    assert before
    assert asked.is_elder("zebra.md", "apple.md")


def test_of_one_commit_the_first_by_name_is_the_elder(clone, tmp_path):
    (tmp_path / "walk [1].md").write_text("river\n")
    commit(clone, tmp_path, "zebra.md", at=0)
    asked = an_ancestry(tmp_path)

    assert asked.is_elder("walk [1].md", "zebra.md")
    assert not asked.is_elder("zebra.md", "walk [1].md")


def test_of_two_commits_of_one_second_the_earlier_one_counts(clone, tmp_path):
    commit(clone, tmp_path, "zebra.md", at=0)
    commit(clone, tmp_path, "apple.md", at=0)
    asked = an_ancestry(tmp_path)

    assert asked.is_elder("zebra.md", "apple.md")
    assert not asked.is_elder("apple.md", "zebra.md")


def test_nothing_is_known_without_git_or_before_the_first_commit(clone, tmp_path):
    asked = an_ancestry(tmp_path)

    assert not asked.is_elder("a.md", "b.md")
    assert not an_ancestry(tmp_path / "gone").is_elder("a.md", "b.md")


def test_a_vault_in_a_folder_of_the_work_tree_is_asked_by_its_own_paths(clone, tmp_path):
    (tmp_path / "vault").mkdir()
    commit(clone, tmp_path, "vault/zebra.md", at=0)
    commit(clone, tmp_path, "vault/apple.md", at=60)

    assert an_ancestry(tmp_path / "vault").is_elder("zebra.md", "apple.md")


def test_history_is_not_asked_without_end(clone, tmp_path, monkeypatch):
    monkeypatch.setattr(ancestry, "MOST_ASKED", 2)
    commit(clone, tmp_path, "a.md", at=0)
    for at in range(1, 4):
        commit(clone, tmp_path, f"copy {at}.md", at=at)
    asked = an_ancestry(tmp_path)

    assert asked.is_elder("a.md", "copy 1.md")
    assert not asked.is_elder("a.md", "copy 2.md")
