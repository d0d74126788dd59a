"""Moving a note keeps the links to it alive, and one undo takes all of it back."""

from __future__ import annotations

import json

import pytest

from tests.vault.vault_setup import ID, PATH, RAW, a_vault
from vaultd.core.errors import LostRace
from vaultd.vault.moving import Mover
from vaultd.vault.undo import undo

GOAL = f"archive/日常/walk_{ID}.md"
LINK, NEW_LINK = f"[[{PATH[:-3]}|the walk]]", f"[[{GOAL[:-3]}|the walk]]"


def a_mover(vault):
    mover = Mover(vault.layout, vault.reader, vault.writer)
    mover.refresh()
    return mover


def test_links_in_any_note_follow_the_move(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("my own.md", f"\ufeffa {LINK}\r\n`{LINK}` [[walk_{ID}]]".encode())
    vault.put("dynamic/日常/b.md", b"nothing to see [[elsewhere/x]]\n")
    vault.put("dynamic/工作/c.md", f"[t](../日常/walk_{ID}.md)\n".encode())

    moved = a_mover(vault).move(PATH, GOAL, why="decay")

    assert vault.files() == {
        GOAL: RAW,
        "my own.md": f"\ufeffa {NEW_LINK}\r\n`{LINK}` [[walk_{ID}]]".encode(),
        "dynamic/日常/b.md": b"nothing to see [[elsewhere/x]]\n",
        "dynamic/工作/c.md": f"[t](../../archive/日常/walk_{ID}.md)\n".encode(),
    }
    assert [receipt.path for receipt in moved.receipts] == [GOAL, "dynamic/工作/c.md", "my own.md"]
    assert all(vault.reader.read(receipt.path).checksum == receipt.checksum for receipt in moved.receipts)
    assert moved.left == ()


def test_one_undo_takes_the_move_and_the_links_back(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, RAW + f"see {LINK} and ![[../../own/p]]\n".encode())
    vault.put("my own.md", f"a {LINK}\n".encode())
    vault.put("own/p.md", b"p\n")
    before = vault.files()

    moved = a_mover(vault).move(PATH, GOAL)
    assert vault.files() != before
    undo(vault.writer, vault.reader, vault.log.entries()[0].group)

    assert vault.files() == before
    assert len(moved.receipts) == 2


def test_links_of_the_moved_note_itself_stay_alive(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH, RAW + "![](../工作/p.png) [[../工作/c]]\n".encode())
    vault.put("dynamic/工作/p.png", b"png")
    vault.put("dynamic/工作/c.md", b"c\n")

    moved = a_mover(vault).move(PATH, GOAL)

    assert vault.files()[GOAL] == RAW + "![](../../dynamic/工作/p.png) [[../../dynamic/工作/c]]\n".encode()
    assert vault.reader.read(GOAL).checksum == moved.receipt.checksum


def test_many_moves_in_one_run_keep_each_others_links(tmp_path):
    vault = a_vault(tmp_path)
    names = [f"dynamic/x/n{number}.md" for number in range(5)]
    for number, name in enumerate(names):
        following = names[(number + 1) % 5].removesuffix(".md")
        vault.put(name, f"[[{following}]] ![[{following}#h]]\n".encode())
    mover = a_mover(vault)

    for name in names:
        mover.move(name, name.replace("dynamic", "archive"))

    for number in range(5):
        following = f"archive/x/n{(number + 1) % 5}"
        assert vault.files()[f"archive/x/n{number}.md"] == f"[[{following}]] ![[{following}#h]]\n".encode()


def test_links_written_since_the_last_run_are_seen(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("a.md", b"no link yet\n")
    vault.put("gone.md", LINK.encode())
    mover = a_mover(vault)
    vault.put("a.md", f"now {LINK}\n".encode())
    (tmp_path / "gone.md").unlink()

    mover.refresh()
    moved = mover.move(PATH, GOAL)

    assert vault.files()["a.md"] == f"now {NEW_LINK}\n".encode()
    assert moved.left == ()


def test_within_a_run_a_look_sees_links_renames_and_names_that_came_and_went(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("Own/a.md", b"no link yet\n")
    vault.put("Own/b.md", f"see {LINK}\n".encode())
    vault.put("Own/gone.md", f"see {LINK}\n".encode())
    mover = a_mover(vault)
    vault.put("Own/a.md", f'---\nabout: "[[{PATH[:-3]}]]"\n---\n'.encode())
    (tmp_path / "Own/b.md").rename(tmp_path / "renamed.md")
    (tmp_path / "Own/gone.md").unlink()

    mover.look(["Own/a.md", "Own/b.md", "Own/gone.md", "renamed.md"])
    moved = mover.move(PATH, GOAL)

    assert vault.files() == {
        GOAL: RAW,
        "Own/a.md": f'---\nabout: "[[{GOAL[:-3]}]]"\n---\n'.encode(),
        "renamed.md": f"see {NEW_LINK}\n".encode(),
    }
    assert moved.left == ()


def test_a_look_sees_a_note_renamed_to_other_capitals(tmp_path):
    vault = a_vault(tmp_path)
    vault.put("Home.md", b"see [[dynamic/walk|it]]\n")
    vault.put("dynamic/walk.md")
    mover = a_mover(vault)
    (tmp_path / "dynamic/walk.md").rename(tmp_path / "dynamic/Walk.md")

    mover.look(["dynamic/Walk.md", "dynamic/walk.md"])
    mover.move("dynamic/Walk.md", "archive/Walk.md")

    assert vault.files()["Home.md"] == b"see [[archive/Walk|it]]\n"


def test_read_only_note_with_a_link_is_left_and_told(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put("a.md", LINK.encode())
    (tmp_path / "a.md").chmod(0o444)

    moved = a_mover(vault).move(PATH, GOAL)

    assert vault.files() == {GOAL: RAW, "a.md": LINK.encode()}
    assert [(left.path, "read-only" in left.reason) for left in moved.left] == [("a.md", True)]


def test_canvas_that_shows_the_note_is_told_and_not_written(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    board = json.dumps({"nodes": [{"id": "1", "type": "file", "file": PATH}, {"id": "2", "type": "text"}]}).encode()
    vault.put("boards/plan.canvas", board)
    vault.put("boards/other.canvas", b'{"nodes": [{"file": "a.md"}]}')
    vault.put("boards/broken.canvas", b"{")
    vault.put("boards/list.canvas", b"[1]")

    moved = a_mover(vault).move(PATH, GOAL)

    assert [left.path for left in moved.left] == ["boards/plan.canvas"]
    assert vault.files()["boards/plan.canvas"] == board


def test_move_that_is_refused_changes_no_link(tmp_path):
    vault = a_vault(tmp_path)
    vault.put(PATH)
    vault.put(GOAL, b"taken")
    vault.put("a.md", LINK.encode())
    before = vault.files()

    with pytest.raises(LostRace):
        a_mover(vault).move(PATH, GOAL)

    assert vault.files() == before
    assert vault.log.entries() == ()
