import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Endpoint:
    url = ""
    status = 200
    answer: bytes = json.dumps({"data": [{"id": "m-2"}, {"id": "m-1"}]}).encode()
    keys: list[str | None]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    found.keys = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.keys.append(self.headers.get("Authorization"))
            self.send_response(found.status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(found.answer)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def test_models_of_the_chat_endpoint_are_listed_with_its_key(run, endpoint):
    result = run("config", "models", VAULTD_BASE_URL=endpoint.url, VAULTD_API_KEY="k", VAULTD_LLM__MODEL="m-1")

    assert result.stdout == "m-1  (set)\nm-2\n"
    assert endpoint.keys == ["Bearer k"]


def test_model_that_is_not_offered_is_told(run, endpoint):
    result = run("config", "models", VAULTD_BASE_URL=endpoint.url)

    assert result.stderr == "The model that is set, deepseek-chat, is not among them.\n"
    assert endpoint.keys == [None]


def test_endpoint_for_embeddings_is_asked_with_its_own_key(run, endpoint):
    environ = {
        "VAULTD_EMBEDDING_BASE_URL": endpoint.url,
        "VAULTD_EMBEDDING_API_KEY": "e",
        "VAULTD_EMBEDDING__MODEL": "m-2",
        "VAULTD_API_KEY": "k",
    }

    result = run("config", "models", "--embedding", "--json", **environ)

    assert json.loads(result.stdout) == ["m-1", "m-2"]
    assert endpoint.keys == ["Bearer e"]


def test_each_way_to_fail_is_one_line_that_says_what_to_check(run, endpoint):
    def said(status: int, answer: bytes = b"") -> str:
        endpoint.status, endpoint.answer = status, answer
        result = run("config", "models", VAULTD_BASE_URL=endpoint.url)
        assert result.exit_code == 1
        return result.stderr

    assert said(401) == f"vaultd: {endpoint.url} refused the key (401); check llm.api_key\n"
    assert said(500) == f"vaultd: {endpoint.url}/models answered 500; check llm.base_url\n"
    assert said(200, b"<html>") == f"vaultd: {endpoint.url}/models did not answer with JSON; check llm.base_url\n"
    assert said(200, b"{}") == f"vaultd: {endpoint.url}/models gave no list of models; check llm.base_url\n"
    unreachable = run("config", "models", VAULTD_BASE_URL="http://127.0.0.1:1/v1")
    assert unreachable.stderr.startswith("vaultd: http://127.0.0.1:1/v1 cannot be reached (")
    none = run("config", "models", "--embedding")
    assert none.stderr == "vaultd: embedding.base_url: no endpoint is set; set it first\n"
