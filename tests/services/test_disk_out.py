"""A daemon that is started while the vault's disk is out: nothing of ours lands in the empty mount point."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.running import running
from vaultd.core.errors import VaultUnavailable
from vaultd.core.note import NotePath
from vaultd.services.cards import NewCard

CARD = "20261130-001"
NOTE = f"---\nid: {CARD}\ntype: milestone\ntopic: [tea]\n---\nThe first tea by the river.\n"


@contextlib.asynccontextmanager
async def started_without_its_disk(tmp_path):
    """A core that knows a card, used three times, of a vault that lies beside its empty folder."""
    vault = tmp_path / "vault"
    async with running(tmp_path, no_model=True) as one:
        await one.write("cards/20261130-001 tea.md", NOTE)
        for _ in range(3):
            one.core.services.cards.used([CARD])
    vault.rename(tmp_path / "disk")
    async with running(tmp_path, no_model=True, compare=False) as one:
        yield one


async def create_a_note(core):
    await core.scribe.create(NotePath("dynamic/x/a.md"), b"tea\n", why="test")


async def create_a_card(core):
    await core.services.cards.remember(NewCard(content="tea", category="milestone", topic=("tea",), importance=5))


async def claim_the_life_cycle(core):
    await core.services.ownership.claim()


@pytest.mark.parametrize("act", [create_a_note, create_a_card, claim_the_life_cycle])
async def test_what_would_be_written_into_the_empty_mount_point_is_refused(tmp_path, act):
    async with started_without_its_disk(tmp_path) as one:
        with pytest.raises(VaultUnavailable):
            await act(one.core)

        assert list(one.vault.iterdir()) == []
    assert list(one.vault.iterdir()) == []


async def test_what_is_done_by_itself_leaves_the_empty_mount_point_alone(tmp_path):
    async with started_without_its_disk(tmp_path) as one:
        one.core.services.cards.used([CARD])
        one.core.journal.flush()
        await one.core.services.housekeeping()
        await one.core.services.card_care()

        assert list(one.vault.iterdir()) == []
    assert list(one.vault.iterdir()) == []


async def test_what_was_used_meanwhile_is_added_once_the_disk_is_back(tmp_path):
    async with started_without_its_disk(tmp_path) as one:
        one.core.services.cards.used([CARD])
        one.core.journal.flush()
        one.vault.rmdir()
        (tmp_path / "disk").rename(one.vault)

        await asyncio.to_thread(one.core.journal.flush)
        await one.core.services.housekeeping()

        assert one.core.mirror.activation_count(CARD) == 4.0
