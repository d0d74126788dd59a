"""The one road for writes: nothing is written that can't be looked at, and no link dies for a disk that was away."""

from __future__ import annotations

import pytest

from tests.running import running
from vaultd.core.errors import IndexUnavailable, VaultdError, VaultUnavailable
from vaultd.core.note import NotePath

A = NotePath("dynamic/x/a.md")
A_TEXT = b"---\nid: aaaaaaaaaaaa\nname: a\n---\none\n"
LINKING = "---\nid: bbbbbbbbbbbb\nname: b\n---\nsee [[dynamic/x/a]]\n"


async def test_links_are_kept_alive_after_a_move_that_failed_with_the_disk(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        await one.write(A, A_TEXT)
        await one.write("dynamic/x/b.md", LINKING)
        for mount_point_stays in (False, True):
            one.vault.rename(tmp_path / "away")
            if mount_point_stays:
                one.vault.mkdir()
            with pytest.raises(VaultdError):
                await one.core.scribe.move(A, NotePath("dynamic/y/a.md"), why="test")
            if mount_point_stays:
                one.vault.rmdir()
            (tmp_path / "away").rename(one.vault)

        await one.core.scribe.move(A, NotePath("dynamic/y/a.md"), why="test")

        assert one.read("dynamic/x/b.md").endswith("see [[dynamic/y/a]]\n")


async def test_links_are_kept_alive_after_dead_ones_were_sought_without_the_disk(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        await one.write(A, A_TEXT)
        await one.write("dynamic/x/b.md", LINKING)
        await one.write("dynamic/x/c.md", "tea\n")
        await one.core.scribe.move(NotePath("dynamic/x/c.md"), NotePath("dynamic/y/c.md"), why="test")
        one.vault.rename(tmp_path / "away")
        one.vault.mkdir()
        with pytest.raises(VaultUnavailable):
            one.core.scribe.left_behind()
        one.vault.rmdir()
        (tmp_path / "away").rename(one.vault)

        await one.core.scribe.move(A, NotePath("dynamic/y/a.md"), why="test")

        assert one.read("dynamic/x/b.md").endswith("see [[dynamic/y/a]]\n")


@pytest.mark.parametrize("way", ["undo", "revert"])
async def test_nothing_is_taken_back_while_the_index_is_not_open(tmp_path, way):
    async with running(tmp_path, no_model=True) as one:
        versions = one.core.services.versions
        await one.core.scribe.create(A, A_TEXT, why="test")
        await one.core.scribe.change(A, lambda raw: raw.replace(b"one", b"two"), why="test")
        entry = await versions.newest("aaaaaaaaaaaa")
        (kept,) = await versions.of("aaaaaaaaaaaa")
        one.core.pipeline.refuse(IndexUnavailable("it can't be opened"))

        with pytest.raises(IndexUnavailable):
            await (versions.undo(entry) if way == "undo" else versions.revert("aaaaaaaaaaaa", kept.id))

        assert one.read(A).endswith("two\n")
        one.core.pipeline.refuse(None)
        await (versions.undo(entry) if way == "undo" else versions.revert("aaaaaaaaaaaa", kept.id))
        assert one.read(A).endswith("one\n")


async def test_a_version_that_is_put_back_keeps_the_newer_one(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        versions = one.core.services.versions
        await one.core.scribe.create(A, A_TEXT, why="test")
        await one.core.scribe.change(A, lambda raw: raw.replace(b"one", b"two"), why="test")
        (kept,) = await versions.of("aaaaaaaaaaaa")

        await versions.revert("aaaaaaaaaaaa", kept.id)

        newer, *_ = await versions.of("aaaaaaaaaaaa")
        text, _ = await versions.show("aaaaaaaaaaaa", newer.id)
        assert one.read(A).encode() == A_TEXT
        assert text.endswith("two\n")
