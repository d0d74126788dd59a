"""The inbox, while its consumer is told to end."""

import asyncio

import pytest

from vaultd.core.note import NotePath
from vaultd.watch.inbox import Inbox, Ring, Touch


@pytest.mark.parametrize("turns", range(4))
async def test_a_consumer_that_is_cancelled_in_the_moment_something_comes_ends(turns):
    inbox = Inbox()
    inbox.bind(asyncio.get_running_loop())
    waiting = asyncio.create_task(inbox.wait(60))
    await asyncio.sleep(0.01)

    inbox.put(Touch(NotePath("a.md"), Ring.CHANGED))
    for _ in range(turns):
        await asyncio.sleep(0)
    cancelled = waiting.cancel()

    done, _ = await asyncio.wait({waiting}, timeout=5)
    assert done
    assert waiting.cancelled() is cancelled
