"""An index in object storage, on a real S3-compatible server on this machine."""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.daemon import serving
from vaultd.core.errors import IndexUnavailable
from vaultd.index.store import Store

pytestmark = pytest.mark.e2e
BUCKET = "memories"


class Storage:
    """The server, with one bucket."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.variables = {
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "VAULTD_INDEX__URI": f"s3://{BUCKET}/index",
        }

    def objects(self) -> list[str]:
        """The names of all objects."""
        with urllib.request.urlopen(f"{self.url}/{BUCKET}?list-type=2", timeout=10) as answer:
            return [one.text or "" for one in ElementTree.parse(answer).iter() if one.tag.endswith("}Key")]

    def put(self, key: str, data: bytes) -> None:
        """Write an object; the server wants a signature, and looks at none."""
        signed = (
            "AWS4-HMAC-SHA256 Credential=none/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none"
        )
        address = f"{self.url}/{BUCKET}/{key}"
        request = urllib.request.Request(address, data=data, method="PUT", headers={"Authorization": signed})
        urllib.request.urlopen(request, timeout=10).close()


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    log = (tmp_path_factory.mktemp("storage") / "log").open("wb")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    there = Storage(port)
    deadline = time.monotonic() + 60
    try:
        while True:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(
                    urllib.request.Request(f"{there.url}/{BUCKET}", method="PUT"), timeout=10
                ).close()
                break
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield there
    finally:
        process.terminate()
        process.wait(10)
        log.close()


def test_a_shared_table_that_does_not_open_is_told_of_and_left_alone(storage, monkeypatch):
    for name, value in storage.variables.items():
        monkeypatch.setenv(name, value)
    uri = f"s3://{BUCKET}/broken"
    Store(uri).open("model/1")
    for key in storage.objects():
        if key.startswith("broken/notes.lance/_versions/"):
            storage.put(key, b"rubbish")
    before = storage.objects()

    with pytest.raises(IndexUnavailable, match=r"notes .* does not open"):
        Store(uri).open("model/1")

    assert storage.objects() == before


async def breath(daemon, query: str) -> str:
    async with daemon.client() as client:
        return (await client.call_tool("breath", {"query": query})).content[0].text


@pytest.mark.slow
async def test_what_one_machine_has_indexed_another_finds_without_doing_it_again(tmp_path, storage):
    vault = tmp_path / "vault"
    with serving(vault, tmp_path / "one", **storage.variables) as daemon:
        daemon.wait(lambda status: status["ready"])
        daemon.get("/api/buckets", method="POST", body={"text": "The gasket is in the second drawer", "name": "gasket"})
        daemon.wait(lambda status: status["embedding"]["done"] == 1 and status["pending"] == 0)
        assert "second drawer" in await breath(daemon, "gasket drawer")
    tables = {key.split("/")[1] for key in storage.objects()}
    assert {"notes.lance", "contents.lance"} <= tables
    assert any(name.startswith("embeddings") for name in tables), tables
    assert not list((tmp_path / "one").rglob("*.lance"))
    before = [key for key in storage.objects() if "/embeddings" in key and "/data/" in key]

    with serving(vault, tmp_path / "two", **storage.variables) as daemon:
        daemon.wait(lambda status: status["ready"])
        assert "second drawer" in await breath(daemon, "gasket drawer")
        status = daemon.status()
        assert (status["waiting"], status["embedding"]["done"]) == (0, 0)  # none had to be made

    assert [key for key in storage.objects() if "/embeddings" in key and "/data/" in key] == before


@pytest.mark.slow
async def test_two_machines_share_an_index_while_a_sync_tool_carries_the_notes(tmp_path, storage):
    shared = storage.variables | {"VAULTD_INDEX__URI": f"s3://{BUCKET}/shared"}
    here, there = tmp_path / "here", tmp_path / "there"
    with (
        serving(here, tmp_path / "one", **shared) as one,
        serving(there, tmp_path / "two", **shared) as two,
    ):
        for daemon in (one, two):
            daemon.wait(lambda status: status["ready"])
        one.get("/api/buckets", method="POST", body={"text": "The gasket is in the second drawer", "name": "gasket"})
        two.get("/api/buckets", method="POST", body={"text": "The violin lesson is on Tuesday", "name": "violin"})
        carry(here, there)
        carry(there, here)
        for daemon in (one, two):
            daemon.wait(lambda status: status["notes"] == 2 and status["waiting"] == 0 and status["pending"] == 0)
            assert "second drawer" in await breath(daemon, "gasket drawer")
            assert "Tuesday" in await breath(daemon, "violin lesson")


def carry(source: Path, target: Path) -> None:
    """What a sync tool does, in one direction."""
    for note in source.rglob("*.md"):
        place = target / note.relative_to(source)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(note, place)
