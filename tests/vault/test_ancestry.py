"""Which of two notes with one id was there first, by git's history."""

import os
import shutil
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


@pytest.fixture
def broken_git(tmp_path_factory, monkeypatch):
    """A git in front of the real one; it counts its questions, and fails at those that carry `at` until that is None."""
    folder = tmp_path_factory.mktemp("bin")
    asked, at = folder / "asked", folder / "at"
    real = shutil.which("git")
    asked.touch()

    def use(word, how):
        at.write_text(word)
        program = folder / "git"
        program.write_text(
            f'#!/bin/sh\necho x >> "{asked}"\ncase "$*" in *"$(cat "{at}")"*) {how};; esac\nexec "{real}" "$@"\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    use.mend = lambda: at.write_text("nothing of the kind")
    use.asked = lambda: len(asked.read_text().split())
    return use


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


@pytest.mark.parametrize("question", ["rev-parse", "ls-tree", "log -1", "merge-base"])
@pytest.mark.parametrize("how", ["exit 128", "kill -9 $$"])
def test_a_git_that_failed_is_asked_again_without_a_new_commit(clone, tmp_path, broken_git, question, how):
    commit(clone, tmp_path, "zebra.md", at=0)
    commit(clone, tmp_path, "apple.md", at=0)
    ticks = [0.0]
    asked = Ancestry(tmp_path, monotonic=lambda: ticks[0])
    broken_git(question, how)

    while_broken = [asked.is_elder("zebra.md", "apple.md"), asked.is_elder("apple.md", "zebra.md")]
    broken_git.mend()
    ticks[0] += ancestry.PAUSE_S

    assert while_broken == [False, False]
    assert asked.is_elder("zebra.md", "apple.md")
    assert not asked.is_elder("apple.md", "zebra.md")


def test_a_git_that_hangs_is_not_waited_for_by_each_note(clone, tmp_path, broken_git, monkeypatch):
    monkeypatch.setattr(ancestry, "_TIMEOUT_S", 0.2)
    commit(clone, tmp_path, "zebra.md", at=0)
    asked = an_ancestry(tmp_path)
    broken_git("rev-parse", "exec tail -f /dev/null")

    answers = {asked.is_elder("zebra.md", f"copy {number}.md") for number in range(50)}

    assert answers == {False}
    assert broken_git.asked() == 1


def test_without_the_git_program_nothing_is_known_until_it_is_there(clone, tmp_path, monkeypatch):
    commit(clone, tmp_path, "zebra.md", at=0)
    ticks = [0.0]
    asked = Ancestry(tmp_path, monotonic=lambda: ticks[0])
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        unknown = asked.is_elder("zebra.md", "apple.md")
    ticks[0] += ancestry.PAUSE_S

    assert not unknown
    assert asked.is_elder("zebra.md", "apple.md")
