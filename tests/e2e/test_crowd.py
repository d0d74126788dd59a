"""Twenty clients that come and go at random, each through a bridge of its own, around one real daemon that none of them owns."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import environment

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc who is left"),
]

CLIENTS = 20
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "crowd", "version": "1"}}


class Client:
    """A process that speaks MCP on stdin and stdout."""

    def __init__(self, environ: dict[str, str], vault: Path) -> None:
        command = [sys.executable, "-m", "vaultd", "mcp", "--vault", str(vault)]
        self.process = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, number: int, method: str, params: dict) -> dict:
        """A request and its answer. Raises EOFError where the bridge has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as exc:
            raise EOFError from exc
        for answer in iter(self.process.stdout.readline, b""):
            if (found := json.loads(answer)).get("id") == number:
                return found
        raise EOFError

    def hold(self, number: int, text: str) -> bool:
        """Keep a text; whether the answer says that it is kept."""
        answer = self.ask(number, "tools/call", {"name": "hold", "arguments": {"content": text}})
        return "result" in answer and not answer["result"].get("isError")

    def end(self) -> None:
        self.process.communicate(timeout=60)


def about(vault: Path) -> dict[int, str]:
    """The processes of this vault: their command lines by pid."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(vault) in words and "vaultd" in words:
                found[int(entry.name)] = words
    return found


async def test_twenty_clients_started_and_killed_at_random_lose_no_answered_call_and_leave_one_daemon(tmp_path):
    vault = tmp_path / "vault"
    state = tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    rng = random.Random(20261130)
    environ = environment(state, VAULTD_EMBEDDING__PROVIDER="none", VAULTD_MERGE_THRESHOLD="100")
    answered: list[str] = []

    async def live(number: int) -> None:
        if number > 1:  # the first two start at the same instant
            await asyncio.sleep(rng.uniform(0, 4))
        client = Client(environ, vault)
        how = rng.choice((signal.SIGKILL, signal.SIGTERM, None))
        try:
            if number % 5 == 2:  # goes before it has heard a word
                await asyncio.sleep(rng.uniform(0, 1))
                client.process.kill()
                return
            with contextlib.suppress(EOFError):
                await asyncio.to_thread(client.ask, 0, "initialize", OPENING)
                for call in range(1, rng.randrange(3, 8)):
                    text = f"client {number} keeps text {call} about {rng.getrandbits(64):x}"
                    if await asyncio.to_thread(client.hold, call, text):
                        answered.append(text)
                if how is not None:
                    call = asyncio.create_task(asyncio.to_thread(client.hold, 99, f"client {number} dies"))
                    await asyncio.sleep(rng.uniform(0, 0.02))
                    client.process.send_signal(how)
                    await call
        finally:
            await asyncio.to_thread(client.end)

    try:
        await asyncio.gather(*(live(number) for number in range(CLIENTS)))

        left = about(vault)
        kept = "\n".join(path.read_text(encoding="utf-8") for path in vault.rglob("*.md"))
        assert len(answered) > CLIENTS
        assert [text for text in answered if kept.count(text) != 1] == []
        assert [" serve " in words for words in left.values()] == [True], left
    finally:
        stop = [sys.executable, "-m", "vaultd", "stop", "--vault", str(vault)]
        await asyncio.to_thread(subprocess.run, stop, env=environ, check=True, timeout=60)
