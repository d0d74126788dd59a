"""The commands for upkeep: merge-file and git need no daemon."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from vaultd.cli.main import COMMANDS, cli
from vaultd.vault import gitsetup
from vaultd.vault.gitsetup import GitStatus

NOTE = "---\nid: a1\ntags: [{tags}]\nactivation_count: {count}\nmine: {mine}\n---\nfirst\n\nmiddle\n\nlast\n"


def sides(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in ("base", "ours", "theirs")]


def a_note(*, tags="x", count=1, mine="kept"):
    return NOTE.format(tags=tags, count=count, mine=mine)


def test_merge_file_merges_our_properties(tmp_path):
    paths = sides(tmp_path, base=a_note(), ours=a_note(tags="x, a", count=2), theirs=a_note(tags="x, b", count=3))

    done = CliRunner().invoke(cli, ["merge-file", *paths])

    assert done.exit_code == 0
    assert (tmp_path / "ours").read_text() == a_note(tags="x, a, b", count=3)


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--driver"], 77)])
def test_merge_file_leaves_a_persons_own_to_the_person(tmp_path, options, code):
    paths = sides(tmp_path, base=a_note(), ours=a_note(mine="one"), theirs=a_note(mine="two"))

    done = CliRunner().invoke(cli, ["merge-file", *options, *paths])

    assert done.exit_code == code
    assert "<<<<<<<" in (tmp_path / "ours").read_text()


def git(folder, *arguments, check=True):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    return subprocess.run(
        ["git", *identity, "-C", str(folder), *arguments], capture_output=True, text=True, check=check
    )


def a_clone(folder):
    (folder / "dynamic").mkdir(parents=True)
    (folder / "dynamic/walk.md").write_text(a_note())
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def diverged(folder, ours, theirs):
    git(folder, "checkout", "-qb", "other")
    (folder / "dynamic/walk.md").write_text(theirs)
    git(folder, "commit", "-qam", "theirs")
    git(folder, "checkout", "-q", "main")
    (folder / "dynamic/walk.md").write_text(ours)
    git(folder, "commit", "-qam", "ours")


def test_install_and_uninstall_leave_the_rest_of_gitattributes_alone(tmp_path):
    clone = a_clone(tmp_path / "vault")
    (clone / ".gitattributes").write_text("*.png binary\n")

    installed = gitsetup.install(clone)
    twice = (gitsetup.install(clone), (clone / ".gitattributes").read_text().count("merge=vaultd"))
    after = gitsetup.uninstall(clone)

    assert installed == GitStatus(True, True, True, True, True)
    assert twice == (installed, 1)
    assert after == GitStatus(True, False, False, None, False)
    assert (clone / ".gitattributes").read_text() == "*.png binary\n"


def test_files_that_are_being_written_are_not_git_s_business(tmp_path):
    clone = a_clone(tmp_path / "vault")
    exclude = clone / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("*.pyc\n")
    (clone / f"dynamic/.vaultd-{'0' * 40}.tmp").write_text("half")

    gitsetup.install(clone)
    seen = git(clone, "status", "--porcelain", "--", "dynamic").stdout
    gitsetup.uninstall(clone)

    assert seen == ""
    assert exclude.read_text() == "*.pyc\n"


@pytest.mark.parametrize("road", ["merge", "rebase"])
def test_git_merges_properties_the_same_by_merge_and_rebase(tmp_path, road):
    clone = a_clone(tmp_path / "vault")
    gitsetup.install(clone)
    diverged(clone, a_note(tags="x, a", count=2), a_note(tags="x, b", count=3))

    git(clone, road, "other")

    assert (clone / "dynamic/walk.md").read_text() in (
        a_note(tags="x, a, b", count=3),
        a_note(tags="x, b, a", count=3),
    )


@pytest.mark.parametrize("command", ["/nowhere/vaultd", f"{sys.executable} -c 'import sys; sys.exit(1)'"])
def test_a_driver_that_is_gone_or_broken_leaves_ordinary_markers(tmp_path, command):
    clone = a_clone(tmp_path / "vault")
    gitsetup.install(clone, command=command)
    diverged(clone, a_note(mine="one"), a_note(mine="two"))

    merged = git(clone, "merge", "other", check=False)

    text = (clone / "dynamic/walk.md").read_text()
    assert merged.returncode == 1
    assert "<<<<<<<" in text and "mine: one" in text and "mine: two" in text


def test_upkeep_commands_are_listed_and_explain_themselves():
    for name in ("git", "merge-file", "conflicts", "confirm-deletions", "doctor", "lifecycle", "log", "undo"):
        assert name in COMMANDS
        done = CliRunner().invoke(cli, [name, "--help"])
        assert done.exit_code == 0
        assert "vaultd" in done.output
