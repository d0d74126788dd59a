"""Process CPU of one `breath(query)` beside an echo server of the same stack: `python -m bench.question [--notes N]`.

Both servers are asked in turns in one run, so that what slows the machine slows both; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bench.road import Daemon
from bench.vaultgen import make_vault, sentences, word

ROUNDS = 12
A_ROUND = 24
CLIENTS = 8
LIMIT = 5  # memories an answer
LONG_EVERY = 4  # every fourth note gets a long text
LONG_SENTENCES = 60


def echo(port: int) -> None:
    """Serve one tool that answers nothing, by the library's own means."""
    from mcp.server import MCPServer

    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def search(query: str, limit: int = 5) -> dict:
        return {"results": []}

    server.run("streamable-http", host="127.0.0.1", port=port)


class Server:
    """A server under measurement: its process, where it is, how it is asked."""

    def __init__(self, pid: int, url: str, headers: dict[str, str], tool: str, limit: str) -> None:
        self.clock = (~pid << 3) | 2  # Linux's number for the CPU clock of a process
        self.url, self.headers, self.tool, self.limit = url, headers, tool, limit

    def cpu_s(self) -> float:
        return time.clock_gettime(self.clock)

    async def ask(self, client: Client, queries: list[str]) -> None:
        for query in queries:
            await client.call_tool(self.tool, {"query": query, self.limit: LIMIT})

    async def with_client(self, work):
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=120, trust_env=False) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            return await work(client)


async def one_client(server: Server, queries: list[str]) -> float:
    """CPU ms a question."""

    async def work(client: Client) -> float:
        await server.ask(client, queries[:3])
        begun = server.cpu_s()
        await server.ask(client, queries)
        return (server.cpu_s() - begun) / len(queries) * 1000

    return await server.with_client(work)


async def many_clients(server: Server, queries: list[str]) -> float:
    """Questions a second of eight clients at once."""
    start = asyncio.Event()

    async def one() -> None:
        async def work(client: Client) -> None:
            await start.wait()
            await server.ask(client, queries)

        await server.with_client(work)

    tasks = [asyncio.create_task(one()) for _ in range(CLIENTS)]
    await asyncio.sleep(1.5)
    begun = time.perf_counter()
    start.set()
    await asyncio.gather(*tasks)
    return CLIENTS * len(queries) / (time.perf_counter() - begun)


def lengthened(vault: Path, notes: list[tuple[str, str]]) -> None:
    rng, pool = random.Random(11), sentences()
    for path, _ in notes[::LONG_EVERY]:
        with (vault / path).open("a", encoding="utf-8") as file:
            file.write("\n\n".join(" ".join(rng.choices(pool, k=6)) for _ in range(LONG_SENTENCES // 6)) + "\n")


async def measured(servers: dict[str, Server], notes: list[tuple[str, str]]) -> dict[str, object]:
    rng = random.Random(12)
    out: dict[str, object] = {}
    for kind in ("hit", "miss"):
        cpu: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(ROUNDS):
            hits = [f"{mark} morning tea" for _, mark in rng.sample(notes, A_ROUND)]
            queries = hits if kind == "hit" else [f"{word(rng)}{i}" for i in range(A_ROUND)]
            for name, server in servers.items():
                cpu[name].append(await one_client(server, queries))
        out[f"{kind}, CPU ms"] = {name: round(statistics.median(values), 2) for name, values in cpu.items()}
    rates: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(3):
        hits = [f"{mark} morning tea" for _, mark in rng.sample(notes, A_ROUND)]
        for name, server in servers.items():
            rates[name].append(await many_clients(server, hits))
    out[f"{CLIENTS} clients, questions a second"] = {n: round(statistics.median(r), 1) for n, r in rates.items()}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--echo", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.echo:
        echo(options.echo)
        return
    with tempfile.TemporaryDirectory() as scratch:
        vault = Path(scratch, "vault")
        notes = make_vault(vault, options.notes)
        lengthened(vault, notes)
        daemon = Daemon(vault, Path(scratch, "state"), "")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        other = subprocess.Popen([sys.executable, "-m", "bench.question", "--echo", str(port)])
        try:
            daemon.wait(lambda status: status["ready"])
            time.sleep(5)  # the tables are written
            bearer = {"Authorization": f"Bearer {daemon.token}"}
            servers = {
                "vaultd": Server(daemon.process.pid, f"{daemon.url}/mcp", bearer, "breath", "max_results"),
                "echo": Server(other.pid, f"http://127.0.0.1:{port}/mcp", {}, "search", "limit"),
            }
            print(json.dumps(asyncio.run(measured(servers, notes)), indent=1))
        finally:
            other.terminate()
            daemon.stop()


if __name__ == "__main__":
    main()
