"""What the gateway adds to the first token of a stream: `python -m bench.gateway [--cards 10000] [--asks 200] [--json FILE]`.

The gateway on a port of its own over a vault of cards, the built-in model for the questions, and a small real upstream
that answers at once.
Each question goes to the bare upstream and to the gateway in turn; the difference of their medians and 95th percentiles
is what recall costs; its CPU time is told besides, for machines that are busy. Questions are all different, so that no embedding comes from a cache. The cards' own embeddings come
from words instead of the model, written into the index beforehand by a daemon with another model: their number counts
here, not their quality.
"""

from __future__ import annotations

from vaultd.frugal import one_thread_for_products

one_thread_for_products()

import argparse
import asyncio
import json
import random
import socket
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import numpy as np
import uvicorn
from starlette.applications import Starlette

from bench.cards import lines, opened, told, write_cards
from vaultd.engine import Core
from vaultd.services.gateway import Wish
from vaultd.settings import Settings
from vaultd.web.auth import Auth, AuthMiddleware, Token
from vaultd.web.gateway import gateway_routes

TOKEN = "a-token-for-the-bench-of-the-gateway"
EVENT = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"well"}}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An upstream that streams at once."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            done = b"data: [DONE]\n\n"
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (EVENT, done))
            writer.write(HEAD + chunks + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def many_cards(count: int) -> list[dict]:
    """Cards made of the words of the labelled ones, each another."""
    rng = random.Random(1)
    known = lines("cards.jsonl")
    texts = [card["content"] for card in known]
    out = []
    for number in range(count):
        card = dict(known[number % len(known)])
        one, other = rng.choice(texts), rng.choice(texts)
        out.append({**card, "content": f"{number}. {one[: len(one) // 2]} {other[len(other) // 2 :]}"})
    return out


def fill(core: Core) -> None:
    """Vectors that cost nothing for all cards."""
    keys = list(core.mirror.vectors.pending)
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((len(keys), 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    core.mirror.add_vectors(keys, vectors, np.full(len(keys), 0.5, np.float32))


@asynccontextmanager
async def served(core: Core) -> AsyncIterator[str]:
    """The gateway on a port of its own."""
    auth = Auth([Token("owner", TOKEN)], clock=core.clock)
    app = Starlette(routes=gateway_routes(core.services.gateway))
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(AuthMiddleware(app, auth=auth), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await serving


async def first_token_ms(http: httpx2.AsyncClient, url: str, text: str) -> float:
    """From the request to the first bytes of the stream."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Vaultd-Save": "0"}
    start = time.perf_counter()
    async with http.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as reply:
        assert reply.status_code == 200, await reply.aread()
        async for _ in reply.aiter_bytes():
            return (time.perf_counter() - start) * 1_000
    raise AssertionError("an empty stream")


def figures(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "p95": statistics.quantiles(values, n=20)[-1]}


async def measured(core: Core, upstream: str, asks: int) -> dict[str, dict[str, float]]:
    texts = [one["text"] for one in (*lines("injections.jsonl"), *lines("intents.jsonl"))]
    bare: list[float] = []
    through: list[float] = []
    recall: list[float] = []
    async with served(core) as url, httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        for number in range(asks + 10):
            text = f"{texts[number % len(texts)]} ({number})"
            times = (await first_token_ms(http, upstream, text), await first_token_ms(http, url, text))
            if number >= 10:  # the first ones open connections and read cards
                bare.append(times[0])
                through.append(times[1])
                recall.append(times[1] - times[0])
    cpu: list[float] = []
    for number, text in enumerate(texts[:asks]):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"{text} [{number}]"}]}).encode()
        start = time.process_time()
        await core.services.gateway.prepare(body, Wish(save=False))
        cpu.append((time.process_time() - start) * 1_000)
    return {
        "bare_ms": figures(bare),
        "gateway_ms": figures(through),
        "added_ms": figures(recall),
        "recall_cpu_ms": figures(cpu),
    }


async def run(options: argparse.Namespace) -> dict:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    upstream = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        vault, state = Path(folder, "vault"), Path(folder, "state")
        state.mkdir()
        write_cards(vault, many_cards(options.cards), datetime.now(UTC))
        settings = Settings()
        settings = replace(
            settings,
            vault=replace(settings.vault, path=vault),
            gateway=replace(settings.gateway, upstream=upstream),
        )
        try:
            async with opened(settings, state) as core:
                fill(core)
                await core.services.intents.learn()
                return {"cards": len(core.mirror), **await measured(core, upstream, options.asks)}
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument("--asks", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told(asyncio.run(run(options)), options.json)


if __name__ == "__main__":
    main()
