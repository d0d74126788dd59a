"""An index that cannot be opened: nothing is written meanwhile, everyone is told why, and it goes on by itself."""

import asyncio
import socket
import urllib.error

import pytest

from tests.e2e.daemon import serving
from tests.e2e.talk import found, refused, said

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def status_of(daemon, path):
    with pytest.raises(urllib.error.HTTPError) as told:
        daemon.get(path)
    told.value.close()
    return told.value.code


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


async def test_an_index_elsewhere_that_says_nothing_delays_no_stop_and_takes_no_write(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    state.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (state / "config.yaml").write_text("index: {uri: s3://bucket/index}\nembedding: {provider: none}\n")
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        place = {"AWS_ENDPOINT": address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        with serving(vault, state, **place, **keys) as daemon:
            async with daemon.client() as client:
                told, status = await asyncio.gather(
                    refused(client, "hold", content="a thought about the lantern"),
                    asyncio.to_thread(status_of, daemon, "/api/buckets"),
                )
            assert "still being opened" in told
            assert status == 503
            assert list(vault.rglob("*.md")) == []
