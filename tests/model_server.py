"""A small real HTTP server on the loopback that plays an OpenAI-compatible endpoint.

    with ModelServer() as server:
        server.script(reply.status(500), reply.content("{}"))   # the next answers, in order
        ...                                                     # afterwards it answers well by itself
        assert server.asked[0].task == "annotate"

It answers chat completions (streamed and not), embeddings and /models, and records every request. Good answers are made
from the request alone, so that equal requests get equal answers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CHAT_MODEL = "played-chat"
EMBEDDING_MODEL = "played-embedding"
_FENCE = re.compile(
    r"<<<data (?P<key>[0-9a-f]+)(?: (?P<label>\w+))?>>>\n(?P<text>.*?)\n<<<end (?P=key)(?: \w+)?>>>", re.DOTALL
)


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        return "\n".join(_text(message) for message in self._messages if message.get("role") == "system")

    @property
    def user(self) -> str:
        """The last user message."""
        return next((_text(m) for m in reversed(self._messages) if m.get("role") == "user"), "")

    @property
    def task(self) -> str:
        """The task that a prompt of ours names in its first line; empty for any other chat."""
        match = re.match(r"# (\w+)\n", self.system)
        return match[1] if match else ""

    @property
    def data(self) -> dict[str, str]:
        """The fenced texts by label."""
        return {match["label"] or "": match["text"] for match in _FENCE.finditer(self.user)}

    @property
    def outside_fences(self) -> str:
        """Everything that the model is told beside the fenced texts."""
        return self.system + "\n" + _FENCE.sub("<fence>", self.user)

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def format(self) -> str:
        """json_schema, json_object, or empty."""
        return str((self.body.get("response_format") or {}).get("type", ""))

    @property
    def _messages(self) -> Sequence[Mapping[str, Any]]:
        return self.body.get("messages", [])


@dataclass(frozen=True)
class Reply:
    """One answer. `cut_after`: bytes of the body after which the connection breaks. `hang_s`: seconds before anything."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    cut_after: int | None = None
    events: Sequence[bytes] | None = None
    cut_after_events: int | None = None


class reply:
    """Ways to answer badly, or with a given text."""

    @staticmethod
    def content(text: str | None, *, finish: str | None = "stop", **fields: Any) -> Callable[[Asked], Reply]:
        """A completion with this text, streamed where the request asks for a stream."""
        return lambda asked: _completion(asked, text, finish, fields)

    @staticmethod
    def value(value: Any) -> Callable[[Asked], Reply]:
        """A completion whose text is this value as JSON."""
        return reply.content(json.dumps(value, ensure_ascii=False))

    @staticmethod
    def fenced(value: Any) -> Callable[[Asked], Reply]:
        """The same in a Markdown code block, with chatter around it."""
        return reply.content(
            f"Sure, here it is:\n```json\n{json.dumps(value, ensure_ascii=False)}\n```\nAnything else?"
        )

    @staticmethod
    def truncated(text: str = '{"name": "half a') -> Callable[[Asked], Reply]:
        return reply.content(text, finish="length")

    @staticmethod
    def status(
        code: int, message: str = "went wrong", /, *, headers: Mapping[str, str] | None = None, **fields: Any
    ) -> Callable[[Asked], Reply]:
        """An error in OpenAI's form."""
        error = {"message": message, "type": "error", "param": None, "code": None, **fields}
        return lambda asked: _json({"error": error}, status=code, headers=headers or {})

    @staticmethod
    def html(code: int = 502) -> Callable[[Asked], Reply]:
        body = b"<html><head><title>Bad Gateway</title></head><body>nginx</body></html>"
        return lambda asked: Reply(code, body, {"content-type": "text/html"})

    @staticmethod
    def raw(body: bytes, *, status: int = 200, content_type: str = "application/json") -> Callable[[Asked], Reply]:
        return lambda asked: Reply(status, body, {"content-type": content_type})

    @staticmethod
    def redirect(target: str, code: int = 307) -> Callable[[Asked], Reply]:
        return lambda asked: Reply(code, b"", {"location": target})

    @staticmethod
    def late(seconds: float) -> Callable[[Asked], Reply]:
        """A good answer after some seconds; it ends early when the server is closed."""
        return lambda asked: _with(good_answer(asked), hang_s=seconds)

    @staticmethod
    def hang() -> Callable[[Asked], Reply]:
        """No answer before the server is closed."""
        return reply.late(3600.0)

    @staticmethod
    def cut(after: int = 40) -> Callable[[Asked], Reply]:
        """A good answer whose connection breaks after some bytes of the body (or, streamed, after two events)."""
        return lambda asked: _with(good_answer(asked), cut_after=after, cut_after_events=2)

    @staticmethod
    def good() -> Callable[[Asked], Reply]:
        return lambda asked: good_answer(asked)


class ModelServer:
    """The server. Attributes may be changed while it runs.

    `keys`: the keys that are taken (empty: any). `formats`: response formats that are understood. `models`: names that
    exist (others are refused as unknown). `default`: how it answers when the script is at its end.
    """

    def __init__(self, *, keys: Sequence[str] = (), dimension: int = 16) -> None:
        self.keys = tuple(keys)
        self.formats: tuple[str, ...] = ("json_schema", "json_object", "text")
        self.models: tuple[str, ...] = (CHAT_MODEL, EMBEDDING_MODEL)
        self.dimension = dimension
        self.default: Callable[[Asked], Reply] = good_answer
        self.asked: list[Asked] = []
        self.errors: list[BaseException] = []
        self.closing = threading.Event()
        self._script: deque[Callable[[Asked], Reply]] = deque()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.played = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """What an endpoint's base URL is set to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def script(self, *replies: Callable[[Asked], Reply]) -> None:
        """Answer the next chat and embedding requests with these, in order."""
        with self._lock:
            self._script.extend(replies)

    def tasks(self) -> list[str]:
        """The tasks of the chats so far."""
        return [asked.task for asked in self.asked if asked.path.endswith("/chat/completions")]

    def answer(self, asked: Asked) -> Reply:
        """Record a request and answer it."""
        with self._lock:
            self.asked.append(asked)
        if self.keys and asked.key not in self.keys:
            return reply.status(401, f"Incorrect API key provided: {asked.key}", code="invalid_api_key")(asked)
        if asked.method == "GET" and asked.path == "/v1/models":
            return _json({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
        if asked.path not in ("/v1/chat/completions", "/v1/embeddings"):
            return reply.status(404, "no such page")(asked)
        with self._lock:
            scripted = self._script.popleft() if self._script else None
        return scripted(asked) if scripted is not None else self._checked(asked)

    def _checked(self, asked: Asked) -> Reply:
        model = asked.body.get("model")
        if model not in self.models:
            return reply.status(404, f"The model `{model}` does not exist", code="model_not_found")(asked)
        if asked.format and asked.format not in self.formats:
            return reply.status(400, "This response_format type is unavailable now", param="response_format")(asked)
        if asked.path == "/v1/embeddings":
            return _embeddings(asked, self.dimension)
        return self.default(asked)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if self.errors:
            raise self.errors[0]


def good_answer(asked: Asked) -> Reply:
    """What a good model would say, made from the request alone."""
    maker = _GOOD.get(asked.task)
    if maker is None:
        return _completion(asked, f"You said: {asked.user}", "stop", {})
    return _completion(asked, json.dumps(maker(asked), ensure_ascii=False), "stop", {})


def _good_annotation(asked: Asked) -> dict[str, Any]:
    text = asked.data[""]
    words = list(dict.fromkeys(re.findall(r"[A-Za-z]{3,}|[\u4e00-\u9fff]{2}", text)))
    chinese = bool(re.search(r"[\u4e00-\u9fff]", text))
    tags = (words + [f"{'标签' if chinese else 'tag'}{number}" for number in range(10)])[:12]
    name = re.split(r"[。.!！?？，,\n]", text.strip())[0][:15]
    return {"name": name, "domain": ["成长" if chinese else "growth"], "valence": 0.7, "arousal": 0.4, "tags": tags}


def _good_merge(asked: Asked) -> dict[str, Any]:
    return {"text": f"{asked.data['old']}\n{asked.data['new']}"}


def _good_split(asked: Asked) -> dict[str, Any]:
    """Two memories: the first and the second half of the sentences."""
    lines = re.findall(r"^\[(\d+)\] (.*)$", asked.data[""], re.MULTILINE)
    half = (len(lines) + 1) // 2
    memories = []
    for part in (lines[:half], lines[half:]):
        if part:
            name = re.split(r"[。.!！?？，,]", part[0][1])[0][:15]
            memories.append(
                {
                    "name": name,
                    "sentences": f"{part[0][0]}-{part[-1][0]}",
                    "domain": ["日常" if re.search(r"[\u4e00-\u9fff]", name) else "daily life"],
                    "valence": 0.6,
                    "arousal": 0.3,
                    "tags": [name],
                    "importance": 5,
                    "when": "",
                }
            )
    return {"memories": memories}


def _good_condensation(asked: Asked) -> dict[str, Any]:
    text = asked.data[""].strip()
    return {"text": re.split(r"(?<=[。.!！?？])", text)[0].strip() or text[:20]}


def _good_summary(asked: Asked) -> dict[str, Any]:
    return {"text": " / ".join(text.strip().splitlines()[0] for text in asked.data.values())}


_GOOD: dict[str, Callable[[Asked], dict[str, Any]]] = {
    "annotate": _good_annotation,
    "merge": _good_merge,
    "split": _good_split,
    "condense": _good_condensation,
    "summarise": _good_summary,
}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    body = json.dumps(value, ensure_ascii=False).encode()
    return Reply(status, body, {"content-type": "application/json", **(headers or {})})


def _with(answer: Reply, **changes: Any) -> Reply:
    return Reply(**{**vars(answer), **changes})


def _completion(asked: Asked, text: str | None, finish: str | None, fields: Mapping[str, Any]) -> Reply:
    base = {"id": "chatcmpl-1", "created": 1, "model": asked.body.get("model")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not asked.body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text, **fields}, "finish_reason": finish}
        return _json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
    base["object"] = "chat.completion.chunk"
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": part} for part in re.findall(r".{1,8}", text or "", re.DOTALL)),
    ]
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish is not None:
        chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**base, "choices": [], "usage": usage})
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in chunks]
    return Reply(200, b"", {"content-type": "text/event-stream"}, events=[*events, b"data: [DONE]\n\n"])


def embedding_of(text: str, dimension: int) -> list[float]:
    """A vector from a hash of the text: equal texts, equal vectors."""
    seed = hashlib.shake_128(text.encode("utf-8", "replace")).digest(2 * dimension)
    return [value / 32768 for value in struct.unpack(f"<{dimension}h", seed)]


def _embeddings(asked: Asked, dimension: int) -> Reply:
    texts = asked.body.get("input", [])
    texts = [texts] if isinstance(texts, str) else texts
    dimension = asked.body.get("dimensions") or dimension
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        vector: Any = embedding_of(text, dimension)
        if asked.body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack(f"<{dimension}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return _json({"object": "list", "data": data, "model": asked.body.get("model"), "usage": usage})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # fifty clients at once; the default of 5 resets connections where the machine is busy
    played: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the play; anything else is a fault of the play and fails the test."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.played.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, raw: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        played = self.server.played
        answer = played.answer(Asked(self.command, self.path, headers, json.loads(raw) if raw else {}))
        if answer.hang_s and played.closing.wait(answer.hang_s):
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.events is None:
            self._send_whole(answer)
        else:
            self._send_stream(answer)

    def _send_whole(self, answer: Reply) -> None:
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: answer.cut_after])
        self.close_connection = answer.cut_after is not None

    def _send_stream(self, answer: Reply) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in (answer.events or ())[: answer.cut_after_events]:
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            self.wfile.flush()
        if answer.cut_after_events is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True
