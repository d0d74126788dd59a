"""An index that cannot be opened: nothing is written meanwhile, everyone is told why, and it goes on by itself."""

import pytest

from tests.e2e.daemon import serving
from tests.e2e.talk import found, refused, said

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


async def test_an_index_that_cannot_be_opened_is_told_and_opened_later(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    (vault / "dynamic").mkdir(parents=True)
    (vault / "dynamic" / "walk.md").write_text("along the river\n")
    with serving(vault, state):
        pass
    (index,) = state.glob("*/index")
    kept = index.rename(index.with_name("kept"))
    index.write_text("in the way")
    before = sorted(vault.rglob("*.md"))

    with serving(vault, state) as daemon:
        status = daemon.wait(lambda status: status["index_problem"])
        assert "could not open the index" in status["index_problem"]
        async with daemon.client() as client:
            assert "could not open the index" in await refused(client, "hold", content="a thought about the lantern")
            assert "could not open the index" in await refused(client, "breath", query="river")
            assert sorted(vault.rglob("*.md")) == before

            index.unlink()
            kept.rename(index)
            daemon.wait(lambda status: status["ready"] and not status["index_problem"])

            await said(client, "hold", content="a thought about the lantern")
            await found(client, "lantern", "a thought about the lantern")
            await found(client, "river", "along the river")
