from pathlib import Path

import pytest

from vaultd.watch.inbox import Inbox
from vaultd.watch.observer import VaultObserver

DESCRIPTORS = Path("/proc/self/fd")


def an_observer(root):
    return VaultObserver(root, Inbox(), is_note=lambda _: True, is_folder=lambda _: True, lost=lambda: None)


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="counts descriptors through /proc")
async def test_a_vault_that_is_gone_costs_no_watch_however_often_it_is_tried(tmp_path):
    observer = an_observer(tmp_path / "gone")
    before = len(list(DESCRIPTORS.iterdir()))

    for _ in range(5):
        with pytest.raises(OSError, match="gone"):
            observer.restart()

    assert len(list(DESCRIPTORS.iterdir())) == before


async def test_watching_ends_and_begins_again(tmp_path):
    observer = an_observer(tmp_path)
    observer.start()
    observer.restart()
    assert observer.alive
    observer.stop()
    assert not observer.alive
