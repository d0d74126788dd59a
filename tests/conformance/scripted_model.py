"""A model that follows a script, behind the HTTP API that the agent expects: it calls one tool, then says what it got.

It lets a real agent program run without an account: the agent lists our tools to it, carries out the call that it asks
for, and hands back the result. Speaks Anthropic Messages (Claude Code) and OpenAI Responses (Codex).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class ScriptedModel:
    """`tool_end`: the end of the name of the tool to call, with `arguments`."""

    tool_end: str
    arguments: Mapping[str, object]
    offered: set[str] = field(default_factory=set)
    """The names of all tools that an agent has offered."""

    results: list[str] = field(default_factory=list)
    """What the calls came back with, as the agent hands it to the model."""

    def __enter__(self) -> Self:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer("application/json", b'{"data": []}')

            def do_HEAD(self) -> None:
                self._answer("application/json", b"")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                path = self.path.partition("?")[0]
                if path.endswith("/messages"):
                    answer = _messages(model, body)
                elif path.endswith("/responses"):
                    answer = _responses(model, body)
                else:
                    self._answer("application/json", b'{"input_tokens": 1}')
                    return
                if body.get("stream"):
                    lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in answer.events)
                    self._answer("text/event-stream", "".join(lines).encode())
                else:
                    self._answer("application/json", json.dumps(answer.whole).encode())

            def _answer(self, kind: str, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """The agent's own output is what counts."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def chosen(self, names: Iterable[str]) -> str | None:
        """Our tool among those that the agent offers."""
        names = set(names)
        self.offered |= names
        return next((name for name in sorted(names) if name.endswith(self.tool_end)), None)


@dataclass(frozen=True)
class Answer:
    events: list[dict[str, Any]]
    whole: dict[str, Any]


def _messages(model: ScriptedModel, body: Mapping[str, Any]) -> Answer:
    tool = model.chosen(tool["name"] for tool in body.get("tools", []))
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    results = [
        json.dumps(block["content"], ensure_ascii=False) for block in blocks if block.get("type") == "tool_result"
    ]
    model.results += results
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    if tool and not results:
        stop = "tool_use"
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": dict(model.arguments)}
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        stop = "end_turn"
        block = {"type": "text", "text": f"It said: {' '.join(results)}"}
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    first = {**base, "content": [], "stop_reason": None, "usage": usage}
    events = [
        {"type": "message_start", "message": first},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return Answer(events, {**base, "content": [block], "stop_reason": stop, "usage": usage})


def _responses(model: ScriptedModel, body: Mapping[str, Any]) -> Answer:
    tools = body.get("tools", [])
    flat = {str(tool.get("name")): None for tool in tools if tool.get("type") == "function"}
    spaced = {  # tools may come in namespaces, one for each server
        f"{space['name']}.{tool['name']}": (space["name"], tool["name"])
        for space in tools
        if space.get("type") == "namespace"
        for tool in space.get("tools", [])
    }
    tool = model.chosen([*flat, *spaced])
    results = [
        json.dumps(one["output"], ensure_ascii=False)
        for one in body["input"]
        if one.get("type") == "function_call_output"
    ]
    model.results += results
    item: dict[str, Any]
    if tool and not results:
        space, name = spaced.get(tool) or (None, tool)
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
        item |= {"arguments": json.dumps(model.arguments)} | ({"namespace": space} if space else {})
    else:
        said = {"type": "output_text", "text": f"It said: {' '.join(results)}", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "model": body.get("model"), "usage": usage}
    whole |= {"status": "completed", "output": [item]}
    events = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return Answer(events, whole)
