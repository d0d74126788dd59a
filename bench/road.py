"""The road's figures through a real daemon and a real MCP client: `python -m bench.road [--notes 10000] [--json FILE]`.

Embeddings come from a small server on the loopback, so that the index is full-sized without an hour of a model's work;
`--local` takes the built-in model all the same, `--words` none.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import numpy as np
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bench.scan import scans, tool
from bench.vaultgen import id_of, make_vault, word

DIMENSION = 384
EDITS = 20
CALLS = 50
HOLDS = 30
CHECKOUT = 1_000
SCANS = 20
GIVE_UP_S = 60.0


class Embeddings(BaseHTTPRequestHandler):
    """Vectors from hashes: unlike each other, the same for the same text."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(texts)]
        answer = json.dumps({"object": "list", "data": data, "model": "bench"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def vector(text: str) -> list[float]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    return [round(x, 5) for x in np.random.default_rng(seed).standard_normal(DIMENSION).tolist()]


@contextlib.contextmanager
def embeddings() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


def speed_s() -> float:
    """CPU seconds of five million additions: about 0.27 where an idle machine's core is one's own."""
    begun, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number
    return round(time.process_time() - begun, 2)


class Daemon:
    """A daemon in its own process. `model`: "", "local", or the address of a server of embeddings."""

    def __init__(self, vault: Path, state: Path, model: str) -> None:
        state.mkdir(exist_ok=True)
        config = state / "config.yaml"
        base_url = model if "://" in model else ""
        provider = "openai\n  model: bench" if base_url else model or "none"
        # counters stay in the journal while it is measured: their way into the notes is housekeeping's, minutes later
        config.write_text(
            f"journal:\n  project_every: 24h\nembedding:\n  provider: {provider}\n"
            + (f"  base_url: {base_url}\n" if base_url else "")
        )
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("VAULTD_", "OMBRE_"))}
        for file in state.glob("*/runtime.json"):
            file.unlink()
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vaultd", "serve", "--config", str(config), "--vault", str(vault), "--port", "0"],
            env=environment | {"VAULTD_STATE_DIR": str(state), "VAULTD_EMBEDDING_API_KEY": "bench"},
            stdout=(state / "log").open("ab"),
            stderr=subprocess.STDOUT,
        )
        self.url, self.token = self._runtime(state)

    def _runtime(self, state: Path) -> tuple[str, str]:
        while self.process.poll() is None:
            for file in state.glob("*/runtime.json"):
                with contextlib.suppress(ValueError):
                    runtime = json.loads(file.read_text())
                    return runtime["url"], runtime["token"]
            time.sleep(0.005)
        raise SystemExit((state / "log").read_text())

    def status(self) -> dict:
        request = urllib.request.Request(f"{self.url}/api/status", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def wait(self, condition) -> float:
        """Seconds since the start until the status fulfils a condition."""
        while True:
            with contextlib.suppress(OSError):
                if condition(self.status()):
                    return time.perf_counter() - self.started
            time.sleep(0.02)

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def written(self) -> int:
        text = Path(f"/proc/{self.process.pid}/io").read_text()
        return int(text.split("write_bytes:")[1].split()[0])

    def stop(self) -> float:
        begun = time.perf_counter()
        self.process.terminate()
        self.process.wait(30)
        return time.perf_counter() - begun


def p50_p95(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "p50_ms": round(statistics.median(ordered) * 1000, 1),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1000, 1),
    }


async def timed(client: Client, tool: str, **arguments: object) -> tuple[float, str]:
    begun = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return time.perf_counter() - begun, result.content[0].text


async def until_found(client: Client, query: str, path: str) -> None:
    """Until the note at `path` is among the answers; its text may be cut before the word that was sought."""
    deadline = time.perf_counter() + GIVE_UP_S
    while id_of(path) not in (await timed(client, "breath", query=query, max_results=3))[1]:
        if time.perf_counter() > deadline:
            raise SystemExit(f"{query!r} in {path} was not found within {GIVE_UP_S:.0f} s")
        await asyncio.sleep(0.005)


async def with_client(daemon: Daemon, work):
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {daemon.token}"}, timeout=120, trust_env=False) as http,
        Client(streamable_http_client(f"{daemon.url}/mcp", http_client=http)) as client,
    ):
        return await work(client)


async def saves(client: Client, vault: Path, notes: list[tuple[str, str]], *, rename: bool) -> list[float]:
    rng = random.Random(5 if rename else 6)
    out = []
    for path, _ in rng.sample(notes, EDITS):
        mark = word(rng) + ("r" if rename else "s")
        place = vault / path
        text = place.read_text(encoding="utf-8") + f"\nA new line with {mark}.\n"
        begun = time.perf_counter()
        if rename:
            temporary = place.with_name(f".{place.name}.tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.rename(place)
        else:
            place.write_text(text, encoding="utf-8")
        await until_found(client, mark, path)
        out.append(time.perf_counter() - begun)
        await asyncio.sleep(0.05)
    return out


async def holds(client: Client) -> tuple[list[float], int]:
    rng = random.Random(8)
    out, missed = [], 0
    for _ in range(HOLDS):
        mark = word(rng) + "h"
        seconds, _ = await timed(client, "hold", content=f"{mark} is what was held, {word(rng)} {word(rng)}", name=mark)
        out.append(seconds)
        _, text = await timed(client, "breath", query=mark)
        missed += mark not in text
    return out, missed


async def breaths(client: Client, notes: list[tuple[str, str]]) -> dict[str, object]:
    rng = random.Random(9)
    queries = [f"{mark} morning tea" for _, mark in rng.sample(notes, CALLS)]
    fresh = [(await timed(client, "breath", query=query))[0] for query in queries]
    cached = [(await timed(client, "breath", query=query))[0] for query in queries]
    surfacing = [(await timed(client, "breath"))[0] for _ in range(CALLS)]
    missing = [(await timed(client, "breath", query=f"{word(rng)}{i}"))[0] for i in range(CALLS)]
    return {
        "breath(query), embedding over the loopback": p50_p95(fresh),
        "breath(query), embedding cached": p50_p95(cached),
        "breath(query) of an unknown word": p50_p95(missing),
        "breath()": p50_p95(surfacing),
    }


async def checkout(client: Client, vault: Path, notes: list[tuple[str, str]]) -> float:
    rng = random.Random(10)
    chosen = rng.sample(notes, min(CHECKOUT, len(notes) // 2))
    marks = [word(rng) + "c" for _ in chosen]
    texts = [(vault / path).read_text(encoding="utf-8") for path, _ in chosen]
    begun = time.perf_counter()
    for (path, _), text, mark in zip(chosen, texts, marks, strict=True):
        (vault / path).unlink()
        (vault / path).write_text(text + f"\nchecked out {mark}\n", encoding="utf-8")
    found = [(mark, path) for mark, (path, _) in zip(marks, chosen, strict=True)]
    for mark, path in [*found[:: max(1, len(found) // 20)], found[-1]]:
        await until_found(client, mark, path)
    return time.perf_counter() - begun


def measure(count: int, scratch: Path, *, model: str | None) -> dict[str, object]:
    """`model` as a daemon's; None: a server of embeddings that is started for it."""
    vault, state = scratch / "vault", scratch / "state"
    notes = make_vault(vault, count)
    figures: dict[str, object] = {"notes": count, "load": round(os.getloadavg()[0], 1), "speed_s": speed_s()}

    marks = [mark for _, mark in random.Random(13).sample(notes, SCANS)]
    figures[f"the same word by a scan of all files ({tool()})"] = p50_p95(scans(vault, marks))
    plain = Daemon(vault, state, "")
    opened = plain.wait(lambda status: status["notes"] > 0 or status["ready"])
    cpu = plain.cpu_s()
    seconds = plain.wait(lambda status: status["ready"])
    figures["first index, words"] = {
        "notes_per_s": round(count / (seconds - opened)),
        "cpu_ms_a_note": round((plain.cpu_s() - cpu) / count * 1000, 2),
        "start_to_ready_s": round(seconds, 2),
    }
    figures["rss_mb at the end of the first index"] = round(plain.rss_mb())
    time.sleep(75)  # what comes after a first index: the tables are compacted, memory is given back
    cpu, written = plain.cpu_s(), plain.written()
    time.sleep(20)
    figures["idle"] = {
        "percent_of_a_core": round((plain.cpu_s() - cpu) / 20 * 100, 2),
        "bytes_written": plain.written() - written,
    }
    figures["rss_mb idle, without a model"] = round(plain.rss_mb())
    figures["stop_s"] = round(plain.stop(), 2)

    with embeddings() if model is None else contextlib.nullcontext(model) as model_used:
        first = Daemon(vault, state, model_used)
        figures["embedded_s"] = round(first.wait(lambda status: status["ready"] and not status["pending"]), 1)
        first.stop()
        again = Daemon(vault, state, model_used)
        answering = asyncio.run(with_client(again, lambda client: timed(client, "breath", query=notes[0][1])))
        figures["restart"] = {
            "answering_s": round(time.perf_counter() - again.started, 2),
            "cpu_s": round(again.cpu_s(), 2),
            "speed_s": speed_s(),
            "found": notes[0][1] in answering[1],
            "reconciled_s": round(again.wait(lambda status: status["ready"]), 2),
            "passages_embedded": again.status()["embedding"]["done"],
            "rss_mb": round(again.rss_mb()),
        }
        figures |= asyncio.run(with_client(again, lambda client: breaths(client, notes)))
        held, missed = asyncio.run(with_client(again, holds))
        figures["hold"] = p50_p95(held) | {"not found by the next call": missed}
        for rename in (False, True):
            name = "save by rename → found" if rename else "save in place → found"
            seconds_ = asyncio.run(with_client(again, lambda client, r=rename: saves(client, vault, notes, rename=r)))
            figures[name] = p50_p95(seconds_)
        figures["checkout of 1,000 → all found, s"] = round(
            asyncio.run(with_client(again, lambda client: checkout(client, vault, notes))), 2
        )
        figures["rss_mb with embeddings"] = round(again.rss_mb())
        figures["index_mb"] = round(sum(p.stat().st_size for p in state.rglob("*") if p.is_file()) / 1e6, 1)
        figures["notes_mb"] = round(sum(p.stat().st_size for p in vault.rglob("*.md")) / 1e6, 1)
        again.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    models = parser.add_mutually_exclusive_group()
    models.add_argument("--words", action="store_const", dest="model", const="", help="without embeddings")
    models.add_argument("--local", action="store_const", dest="model", const="local", help="the built-in model")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(options.notes, Path(scratch), model=options.model)
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
