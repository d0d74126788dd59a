"""JSON-RPC messages of MCP as the bridge sees them: lines that are passed on as they came, looked into as little as
needed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
UNREACHABLE: Final = -32000
"""Error code for what went wrong between bridge and daemon."""

REPEATABLE: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    }
)
"""Requests that do no harm when they are carried out twice."""

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN_HEADER: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class NotAMessage(Exception):
    """A line that is not one JSON-RPC message; carries the error's code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Message:
    """One message from the client."""

    line: bytes
    content: JsonObject = field(repr=False)
    headers: dict[str, str]
    """What the stateless protocol (2026-07-28) wants repeated in headers; empty for a message of a session."""

    @property
    def kind(self) -> Literal["request", "notification", "response"]:
        if "method" not in self.content:
            return "response"
        return "request" if "id" in self.content else "notification"

    @property
    def method(self) -> str:
        return str(self.content.get("method", ""))

    @property
    def params(self) -> JsonObject:
        params = self.content.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def needs_no_session(self) -> bool:
        return bool(self.headers)

    @property
    def title(self) -> str:
        """The method, and what it is about: `tools/call hold`."""
        about = self.params.get(_NAMED_BY.get(self.method, ""))
        return f"{self.method} {about}" if isinstance(about, str) else self.method


def parse(line: bytes) -> Message:
    """The message on one line of input. Raises NotAMessage."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise NotAMessage(PARSE_ERROR, "the line is not JSON") from exc
    if isinstance(content, list):
        raise NotAMessage(INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(content, dict) or not ({"method", "result", "error"} & content.keys()):
        raise NotAMessage(INVALID_REQUEST, "the line is not a JSON-RPC message")
    return Message(line, content, _headers(content))


def key_of(request_id: object) -> str:
    """A request id as a key: 1 and "1" are two different ids."""
    return json.dumps(request_id)


def error_line(request_id: object, code: int, message: str, data: Mapping[str, Any] | None = None) -> bytes:
    """A JSON-RPC error answer."""
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = dict(data)
    return to_line({"jsonrpc": "2.0", "id": request_id, "error": error})


def to_line(content: JsonObject) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def on_one_line(text: bytes, content: JsonObject) -> bytes:
    """The text as it is when it has no line breaks (between tokens they are allowed), else written anew."""
    return to_line(content) if b"\n" in text or b"\r" in text else text


def _headers(content: JsonObject) -> dict[str, str]:
    params = content.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(version, str) or not isinstance(params, dict):
        return {}
    method = str(content.get("method", ""))
    headers = {"MCP-Protocol-Version": header_value(version), "Mcp-Method": header_value(method)}
    name = params.get(_NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """Text as a header's value; what a header cannot carry is sent in the protocol's base64 form."""
    if _PLAIN_HEADER.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode('ascii')}?="
