"""Speed, memory and agreement of the built-in model's engines.

    python bench/embedding.py

Prints texts per CPU second of both engines at three lengths, the CPU time of a query, the memory that the fast engine
takes beyond numpy, and the least cosine of its vectors with the reference's. Each figure is a median, in CPU seconds
of one thread, so that other work on the machine matters little.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vaultd.llm.calibration import labelled_pairs
from vaultd.llm.e5_file import E5File
from vaultd.llm.e5_tokens import E5Tokenizer
from vaultd.llm.local import PASSAGE_PREFIX, LocalEmbedder, local_model_file

TOKENS = (32, 128, 400)
ENGINES = ("onnxruntime", "numpy")
QUERIES = (
    "面试后来怎么样了？",
    "When did I last talk to my sister?",
    "那家拉面馆在哪",
    "what did the doctor say about my knee",
)
AGREEMENT_TEXTS = 120


def texts_of(tokens: int, count: int, tokenizer: E5Tokenizer) -> list[str]:
    """Texts of about so many tokens, joined from the labelled pairs' sentences."""
    sentences = [sentence for pair in labelled_pairs() for sentence in (pair.a, pair.b)]
    lengths = {sentence: len(tokenizer.tokens(sentence)) for sentence in sentences}
    texts: list[str] = []
    at = 0
    for _ in range(count):
        parts, size = [], len(tokenizer.tokens(PASSAGE_PREFIX)) + 2
        while size < tokens:
            parts.append(sentences[at % len(sentences)])
            size += lengths[parts[-1]]
            at += 1
        texts.append("\n".join(parts))
    return texts


def cpu_s(works: Sequence[Callable[[], object]], repeats: int = 7) -> list[float]:
    """Median CPU seconds of each; they take turns, so that a busy machine slows all alike."""
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for times, work in zip(spent, works, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [statistics.median(times) for times in spent]


def speed(embedders: dict[str, LocalEmbedder], tokenizer: E5Tokenizer) -> None:
    """Texts per CPU second."""
    print(f"{'tokens':>8}" + "".join(f"{engine:>14}" for engine in ENGINES) + f"{'ratio':>8}   texts per CPU second")
    for tokens in TOKENS:
        texts = texts_of(tokens, max(600 // tokens, 2), tokenizer)
        spent = cpu_s([partial(embedders[engine].embed_passages, texts) for engine in ENGINES])
        rates = [len(texts) / seconds for seconds in spent]
        print(f"{tokens:>8}" + "".join(f"{rate:>14.1f}" for rate in rates) + f"{rates[0] / rates[1]:>8.1f}")


def queries(embedders: dict[str, LocalEmbedder]) -> None:
    """CPU milliseconds of a query."""
    for engine in ENGINES:
        each = [1e3 * s for s in cpu_s([partial(embedders[engine].embed_query, query) for query in QUERIES])]
        print(f"query, {engine}: {statistics.median(each):.1f} ms CPU (longest {max(each):.1f})")


def agreement(embedders: dict[str, LocalEmbedder], tokenizer: E5Tokenizer) -> None:
    """The least cosine between the engines."""
    pairs = labelled_pairs()
    texts = [pair.a for pair in pairs[:: len(pairs) // AGREEMENT_TEXTS]] + texts_of(400, 6, tokenizer)
    fast, exact = (embedders[engine].embed_passages(texts) for engine in ENGINES)
    cosines = (fast * exact).sum(axis=1)
    print(f"agreement of {len(texts)} texts: least cosine {cosines.min():.5f}, median {np.median(cosines):.5f}")


def memory() -> None:
    """Resident memory of a fresh process: peak after 50 texts, beyond one that only imports numpy (Linux only)."""
    script = (
        "import json, re, sys, time\n"
        "import numpy\n"
        "from pathlib import Path\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) / 1024\n"
        "before = peak()\n"
        "from vaultd.llm.calibration import labelled_pairs\n"
        "from vaultd.llm.local import LocalEmbedder\n"
        "start = time.process_time()\n"
        "embedder = LocalEmbedder(engine=sys.argv[1])\n"
        "embedder.embed_query('hello')\n"
        "loaded = time.process_time() - start\n"
        "embedder.embed_passages([pair.a * 20 for pair in labelled_pairs()[:50]])\n"
        "print(json.dumps([before, peak() - before, loaded]))\n"
    )
    for engine in ENGINES:
        done = subprocess.run([sys.executable, "-c", script, engine], check=True, capture_output=True, text=True)
        before, beyond, loaded = json.loads(done.stdout)
        print(f"memory, {engine}: peak {beyond:.0f} MB beyond numpy's {before:.0f} MB; first query {loaded:.1f} s CPU")


def main() -> None:
    """Print everything."""
    path = local_model_file()
    if path is None:
        sys.exit("this platform has no built-in model")
    tokenizer = E5Tokenizer(E5File(path))
    embedders = {engine: LocalEmbedder(engine=engine) for engine in ENGINES}
    for embedder in embedders.values():
        embedder.embed_query("load")
    agreement(embedders, tokenizer)
    queries(embedders)
    speed(embedders, tokenizer)
    if Path("/proc/self/status").exists():
        memory()


if __name__ == "__main__":
    main()
