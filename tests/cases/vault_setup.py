"""The set-up of cases: a vault of 20 good notes, a daemon's core with a real watcher, embeddings counted."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from datetime import UTC, datetime

from tests.fakes import FakeClock
from tests.running import running
from vaultd.core.query import Query
from vaultd.vault import codec

WAIT_S = 20.0


def id_of(number):
    return f"a{number:011x}"


def good(number, body="an evening by the harbour", **more):
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    return (
        f"---\nid: {id_of(number)}\nname: note {number}\ntype: dynamic\ndomain: [日常]\nimportance: 5\n"
        f"created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-05-17T12:00:00+00:00\n{lines}---\n{body} {number}\n"
    )


def git(vault, *arguments):
    """A git command of a person."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", *identity, "-C", str(vault), *arguments], check=True, capture_output=True)


def put(vault, path, text):
    place = vault / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


@contextlib.asynccontextmanager
async def a_daemon(tmp_path, *, notes=20, watch=True, **options):
    """The set-up of every case."""
    vault = tmp_path / "vault"
    for number in range(1, notes + 1):
        put(vault, f"dynamic/日常/note {number}.md", good(number))
    async with running(tmp_path, watch=watch, clock=FakeClock(datetime.now(UTC)), **options) as r:
        await r.embedded()
        yield r


async def until(condition, timeout_s=WAIT_S):
    """Wait for what the watcher brings about; what it returns."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.02)
    return found


def row_at(r, path):
    return r.core.mirror.by_path(path)


def body_at(r, path):
    """The text that the index knows at a path."""
    key = codec.checksum((r.vault / r.core.mirror.by_path(path).path).read_bytes())
    row = r.core.mirror.by_path(path)
    return r.read(row.path) if row.checksum == key else ""


async def is_equal_to_disk(r):
    """No difference between vault and index is left."""
    await r.core.pipeline.idle()
    return not await asyncio.to_thread(r.core.compare)


async def ids_of(r, text):
    answer = await r.core.services.answer(Query.parse(text))
    return {hit.bucket.id for hit in answer.hits}
