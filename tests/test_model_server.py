"""The played endpoint plays what it says, so that tests that lean on it mean something."""

from __future__ import annotations

import json

import httpx2
import pytest

from tests.model_server import CHAT_MODEL, EMBEDDING_MODEL, ModelServer, embedding_of, reply

CHAT = {"model": CHAT_MODEL, "messages": [{"role": "user", "content": "hello 你好"}]}


@pytest.fixture
def server():
    with ModelServer() as played:
        yield played


def post(server: ModelServer, body: object, path: str = "/chat/completions") -> httpx2.Response:
    return httpx2.post(server.url + path, json=body, headers={"authorization": "Bearer k"}, timeout=5)


def test_a_chat_is_answered_with_an_echo_and_recorded(server):
    answer = post(server, CHAT).json()

    assert answer["choices"][0]["message"]["content"] == "You said: hello 你好"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert (server.asked[0].user, server.asked[0].key) == ("hello 你好", "k")


def test_a_stream_brings_the_same_words_and_ends(server):
    lines = post(server, {**CHAT, "stream": True}).text.strip().split("\n\n")

    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "You said: hello 你好"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert lines[-1] == "data: [DONE]"


def test_a_cut_stream_breaks_off(server):
    server.script(reply.cut())

    with pytest.raises(httpx2.RemoteProtocolError):
        post(server, {**CHAT, "stream": True})


def test_a_cut_answer_breaks_off(server):
    server.script(reply.cut())

    with pytest.raises(httpx2.RemoteProtocolError):
        post(server, CHAT)


def test_the_script_is_played_in_order_and_then_it_answers_well(server):
    server.script(reply.status(500), reply.html(502), reply.status(429, headers={"retry-after": "3"}))

    answers = [post(server, CHAT) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [500, 502, 429, 200]
    assert answers[1].text.startswith("<html>")
    assert answers[2].headers["retry-after"] == "3"


def test_embeddings_are_equal_for_equal_texts(server):
    answer = post(server, {"model": EMBEDDING_MODEL, "input": ["a", "b", "a"]}, "/embeddings").json()

    first, second, third = (item["embedding"] for item in answer["data"])
    assert first == third == embedding_of("a", 16)
    assert first != second


def test_a_wrong_key_an_unknown_model_and_a_wrong_path_are_refused(server):
    unknown = post(server, {**CHAT, "model": "nobody"})
    nowhere = post(server, CHAT, "/elsewhere")
    server.keys = ("right",)
    refused = post(server, CHAT)

    assert (unknown.status_code, nowhere.status_code, refused.status_code) == (404, 404, 401)


def test_a_hanging_answer_ends_with_the_server():
    with ModelServer() as server:
        server.script(reply.hang())

        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{server.url}/chat/completions", json=CHAT, timeout=0.1)
