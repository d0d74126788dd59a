"""A remote embedding model that answers well, badly, late, or not at all."""

from __future__ import annotations

import json
import random
import socketserver
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tests.llm.chat_setup import KEY, Waits
from tests.model_server import EMBEDDING_MODEL, ModelServer, embedding_of, reply
from vaultd.core.errors import (
    CapReached,
    ModelBadAnswer,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
)
from vaultd.llm.budget import RequestBudget
from vaultd.llm.embedder import Embedder
from vaultd.llm.remote import BATCH, FOR_A_QUERY, FOR_PASSAGES, RemoteEmbedder
from vaultd.settings import EmbeddingSettings

TEXTS = ["今天很累", "The offer came.", "ｆｕｌｌ width"]


class Bench:
    """Makes embedders for a played server, and closes them."""

    def __init__(self, server: ModelServer, state: Path) -> None:
        self.server, self.waits = server, Waits()
        self.budget = RequestBudget(state / "requests.json", 0, today=lambda: date(2026, 11, 30))
        self._made: list[RemoteEmbedder] = []

    def embedder(self, **changes) -> RemoteEmbedder:
        values = {
            "provider": "openai",
            "base_url": self.server.url,
            "api_key": KEY,
            "model": EMBEDDING_MODEL,
            **changes,
        }
        made = RemoteEmbedder(
            EmbeddingSettings(**values), budget=self.budget, rng=random.Random(7), sleep=self.waits.sleep
        )
        self._made.append(made)
        return made

    def close(self) -> None:
        for made in self._made:
            made.close()


@pytest.fixture
def server():
    with ModelServer(keys=[KEY]) as played:
        yield played


@pytest.fixture
def bench(server, tmp_path):
    made = Bench(server, tmp_path)
    yield made
    made.close()


def vectors(*rows, **changes):
    """An answer with these vectors, and with fields of the items changed."""
    data = [{"object": "embedding", "index": number, "embedding": row, **changes} for number, row in enumerate(rows)]
    return reply.raw(json.dumps({"object": "list", "data": data, "model": "m"}).encode())


def unit(row):
    return np.array(row) / np.linalg.norm(row)


def test_passages_become_unit_rows_in_the_order_of_the_texts(bench, server):
    embedder: Embedder = bench.embedder()

    rows = embedder.embed_passages(TEXTS)

    assert rows.dtype == np.float32
    for row, cleaned in zip(rows, ["今天很累", "The offer came.", "full width"], strict=True):
        assert row == pytest.approx(unit(embedding_of(cleaned, 16)), abs=1e-6)
    assert server.asked[0].body["encoding_format"] == "float"
    assert "dimensions" not in server.asked[0].body


def test_the_dimension_is_told_by_the_first_answer(bench):
    embedder = bench.embedder()
    assert embedder.dimension == 0

    vector = embedder.embed_query("hello")

    assert embedder.dimension == 16
    assert vector.shape == (16,)
    assert embedder.name == f"{EMBEDDING_MODEL}/1"


def test_a_dimension_that_is_set_is_asked_for_and_named(bench, server):
    embedder = bench.embedder(dimensions=8)

    assert embedder.embed_query("hello").shape == (8,)
    assert server.asked[0].body["dimensions"] == 8
    assert embedder.name == f"{EMBEDDING_MODEL}:8/1"


def test_many_texts_go_in_batches(bench, server):
    texts = [f"note {number}" for number in range(2 * BATCH + 1)]

    rows = bench.embedder().embed_passages(texts)

    assert [len(asked.body["input"]) for asked in server.asked] == [BATCH, BATCH, 1]
    assert rows[-1] == pytest.approx(unit(embedding_of("note 64", 16)), abs=1e-6)


def test_an_endpoint_that_takes_fewer_texts_gets_fewer(bench, server):
    server.script(*[reply.status(400, "batch size is invalid, it should not be larger than 10")] * 2)
    embedder = bench.embedder()

    rows = embedder.embed_passages(["x"] * BATCH)
    embedder.embed_passages(["x"] * BATCH)

    assert len(rows) == BATCH
    assert [len(asked.body["input"]) for asked in server.asked] == [32, 16, 8, 8, 8, 8, 8, 8, 8, 8]


def test_no_texts_ask_nothing(bench, server):
    assert bench.embedder().embed_passages([]).shape == (0, 0)
    assert not server.asked


@pytest.mark.parametrize("text", ["", "  \n", "\0", "\ud800", "\ufdfa" * 9, "x" * 1_000_000])
def test_any_text_can_be_sent(bench, server, text):
    assert np.isfinite(bench.embedder().embed_query(text)).all()
    assert server.asked[0].body["input"][0].strip()


def test_a_wrong_key_is_refused_at_once(bench, server):
    wrong = "sk-wrongwrongwrongwrongwrongwrong"

    with pytest.raises(
        ModelRefused, match=r"refused the key .*: set VAULTD_EMBEDDING_API_KEY or embedding\.api_key"
    ) as caught:
        bench.embedder(api_key=wrong).embed_passages(TEXTS)

    assert len(server.asked) == 1
    assert wrong not in str(caught.value)


def test_a_busy_endpoint_is_waited_for_as_long_as_it_asks(bench, server):
    server.script(reply.status(429, "slow down", headers={"retry-after": "7"}))

    rows = bench.embedder().embed_passages(TEXTS)

    assert len(rows) == 3
    assert bench.waits.slept == [7.0]


def test_an_endpoint_that_stays_busy_is_left_alone(bench, server):
    server.script(*[reply.status(429, "slow down", headers={"retry-after": "50"})] * 9)

    with pytest.raises(ModelBusy) as caught:
        bench.embedder().embed_passages(TEXTS)

    assert caught.value.retry_after_s == 50
    assert len(server.asked) == FOR_PASSAGES.attempts


@pytest.mark.parametrize("wait_s", ["61", "86400"])
def test_nobody_waits_longer_than_a_minute(bench, server, wait_s):
    server.script(reply.status(429, "slow down", headers={"retry-after": wait_s}))

    with pytest.raises(ModelBusy):
        bench.embedder().embed_passages(TEXTS)

    assert bench.waits.slept == []


def test_a_query_gives_up_soon(bench, server):
    server.script(*[reply.status(503)] * 9)

    with pytest.raises(ModelUnavailable):
        bench.embedder().embed_query("hello")

    assert len(server.asked) == FOR_A_QUERY.attempts
    assert sum(bench.waits.slept) < 3


@pytest.mark.parametrize("trouble", [reply.status(500), reply.html(502), reply.cut(10), reply.raw(b'{"data": [')])
def test_a_passing_trouble_is_got_over(bench, server, trouble):
    server.script(trouble)

    rows = bench.embedder().embed_passages(TEXTS)

    assert len(rows) == 3
    assert len(bench.waits.slept) == 1


def test_waits_grow(bench, server):
    server.script(*[reply.status(500)] * 3)

    bench.embedder().embed_passages(TEXTS)

    assert [0.75 * least <= slept <= 1.25 * least for least, slept in zip((1, 2, 4), bench.waits.slept, strict=True)]


@pytest.mark.parametrize(
    "bad",
    [
        vectors([1.0] * 16),
        vectors(*[[1.0] * 16] * 4),
        vectors([1.0] * 16, [1.0] * 16, [1.0] * 15),
        vectors([1.0] * 16, [1.0] * 16, []),
        vectors([], [], []),
        vectors(1.0, 2.0, 3.0),
        vectors([1.0] * 16, [1.0] * 16, [0.0] * 16),
        vectors([1.0] * 16, [1.0] * 16, [float("nan")] * 16),
        vectors([1.0] * 16, [1.0] * 16, [float("inf")] * 16),
        vectors([1.0] * 16, [1.0] * 16, [1.0, 10**400, *[1.0] * 14]),
        vectors([1.0] * 16, [1.0] * 16, ["many"] * 16),
        vectors([1.0] * 16, [1.0] * 16, None),
        vectors("AACAPw==", "AACAPw==", "AACAPw=="),
        vectors([1.0] * 16, [1.0] * 16, [1.0] * 16, index=0),
        reply.raw(b'{"object": "list"}'),
        reply.raw(b'{"data": {"a": 1}}'),
        reply.raw(b"[]"),
        reply.raw(b"null"),
        reply.raw(b"<html>welcome</html>", content_type="text/html"),
        reply.raw(b""),
    ],
)
def test_an_answer_that_is_no_list_of_vectors_is_a_bad_answer(bench, server, bad):
    server.script(*[bad] * 9)

    with pytest.raises(ModelBadAnswer) as caught:
        bench.embedder().embed_passages(TEXTS)

    assert "\n" not in str(caught.value)


def test_huge_and_tiny_numbers_are_scaled(bench, server):
    server.script(vectors([1e300, 0.0], [1e-300, 1e-300], [0.0, -2.0]))

    rows = bench.embedder().embed_passages(TEXTS)

    assert rows == pytest.approx(np.array([[1, 0], [0.5**0.5, 0.5**0.5], [0, -1]]), abs=1e-6)


def test_another_dimension_than_before_is_a_bad_answer(bench, server):
    embedder = bench.embedder()
    embedder.embed_query("hello")
    server.dimension = 12

    with pytest.raises(ModelBadAnswer, match="vectors of 12 numbers where earlier answers had 16"):
        embedder.embed_query("hello")


def test_an_endpoint_that_ignores_the_dimension_is_named(bench, server):
    server.script(vectors([1.0] * 16))

    with pytest.raises(ModelBadAnswer, match=r"vectors of 16 numbers where embedding\.dimensions asks for 8"):
        bench.embedder(dimensions=8).embed_query("hello")


def test_an_unknown_model_is_named(bench):
    with pytest.raises(ModelUnavailable, match="no model 'other'"):
        bench.embedder(model="other").embed_query("hello")


def test_a_silent_endpoint_times_out(bench, server):
    server.script(reply.hang())

    with pytest.raises(ModelTimedOut):
        bench.embedder(timeout_s=0.2).embed_passages(TEXTS)


def test_an_answer_that_drips_in_times_out(bench):
    class Drip(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\ncontent-type: application/json\r\n\r\n")
            while not closing.wait(0.02):
                try:
                    self.request.sendall(b" ")
                except OSError:
                    return

    closing = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as dripping:
        thread = threading.Thread(target=dripping.serve_forever, args=(0.02,))
        thread.start()
        try:
            with pytest.raises(ModelTimedOut):
                bench.embedder(base_url=f"http://127.0.0.1:{dripping.server_address[1]}/v1", timeout_s=0.3).embed_query(
                    "x"
                )
        finally:
            closing.set()
            dripping.shutdown()
            thread.join()


def test_nobody_listening_is_unavailable(bench):
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as gone:
        port = gone.server_address[1]

    with pytest.raises(ModelUnavailable, match="cannot reach 127"):
        bench.embedder(base_url=f"http://127.0.0.1:{port}/v1").embed_query("hello")


def test_a_redirect_is_not_followed(bench, server):
    with ModelServer() as other:
        server.script(reply.redirect(f"{other.url}/embeddings"))
        with pytest.raises(ModelError):
            bench.embedder().embed_passages(TEXTS)

        assert not other.asked


def test_every_attempt_counts_against_the_daily_cap(bench, server):
    bench.budget.daily_cap = 2
    server.script(*[reply.status(500)] * 9)

    with pytest.raises(CapReached):
        bench.embedder().embed_passages(TEXTS)

    assert len(server.asked) == 2


def test_nothing_of_the_environment_is_sent(bench, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-somebody-else")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-somebody-else")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: somebody-else")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    bench.embedder().embed_query("hello")

    assert server.asked[0].key == KEY
    assert "somebody-else" not in json.dumps(dict(server.asked[0].headers))


def test_no_key_is_no_key(bench, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-else")
    server.keys = ()

    bench.embedder(api_key="").embed_query("hello")

    assert "somebody-else" not in json.dumps(dict(server.asked[0].headers))


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"base_url": ""}, "no embedding endpoint is set"),
        ({"base_url": "ftp://host/v1"}, "no embedding endpoint is set"),
        ({"base_url": "http://[::1"}, "no embedding endpoint is set"),
        ({"base_url": "https:///v1"}, "no embedding endpoint is set"),
        ({"model": " "}, "no embedding model is named"),
        ({"api_key": "key with blanks"}, "characters that no key has"),
        ({"api_key": "密钥"}, "characters that no key has"),
    ],
)
def test_settings_that_cannot_work_are_named(bench, changes, hint):
    with pytest.raises(ModelUnavailable, match=hint):
        bench.embedder(**changes)


def test_threads_share_one_embedder(bench):
    embedder = bench.embedder()
    texts = [f"note {number}" for number in range(20)]

    with ThreadPoolExecutor(5) as pool:
        rows = list(pool.map(embedder.embed_query, texts))

    for row, text in zip(rows, texts, strict=True):
        assert row == pytest.approx(unit(embedding_of(text, 16)), abs=1e-6)


def test_closing_breaks_off_what_is_under_way(bench, server):
    server.script(reply.hang())
    embedder = bench.embedder()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(embedder.embed_query, "hello")
        while not server.asked:
            server.closing.wait(0.01)

        embedder.close()

        with pytest.raises(ModelUnavailable, match="was closed"):
            waiting.result(timeout=10)
    with pytest.raises(ModelUnavailable, match="was closed"):
        embedder.embed_query("hello")


def test_the_client_library_is_imported_at_the_first_text_only():
    script = "import sys, vaultd.llm.remote; sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=False).returncode == 0
