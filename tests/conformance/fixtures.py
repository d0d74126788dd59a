"""What the official conformance suite expects a server under test to offer, put onto the real server object.

The suite calls tools, prompts and resources by fixed names and compares what comes back with fixed texts; those names
and texts are its own. Nothing here is part of the product: only `serve.py` beside this file loads it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def _wav() -> str:
    """Eight samples of silence."""
    samples = bytes(8)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


PNG, WAV = _png(), _wav()


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def picture() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def enclosed(uri: str, mime_type: str, words: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=words))


class Events(EventStore):
    """Keeps every event of this process, so that a client may take up a broken stream."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._kept.append((stream_id, message))
        return str(len(self._kept))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        number = int(last_event_id)
        if not 1 <= number <= len(self._kept):
            return None
        wanted = self._kept[number - 1][0]
        for later in range(number, len(self._kept)):
            stream, message = self._kept[later]
            if stream == wanted and message is not None:
                await send_callback(EventMessage(message, str(later + 1)))
        return wanted


# -- plain tools ------------------------------------------------------------------------------------------------------


def simple_text() -> str:
    return "This is a simple text response for testing."


def image_content() -> list[ImageContent]:
    return [picture()]


def audio_content() -> list[AudioContent]:
    return [AudioContent(type="audio", data=WAV, mime_type="audio/wav")]


def embedded_resource() -> list[EmbeddedResource]:
    return [enclosed("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


def multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    data = json.dumps({"test": "data", "value": 123})
    return [
        text("Multiple content types test:"),
        picture(),
        enclosed("test://mixed-content-resource", "application/json", data),
    ]


def error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


async def tool_with_logging(ctx: Context) -> str:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(line)
        await asyncio.sleep(0.05)
    return "three lines logged"


async def tool_with_progress(ctx: Context) -> str:
    for part in (0, 50, 100):
        await ctx.report_progress(part, 100, f"{part} of 100")
        await asyncio.sleep(0.05)
    return "all of it done"


async def reconnection(ctx: Context) -> str:
    await ctx.close_sse_stream()
    await asyncio.sleep(0.3)
    return "answered on the resumed stream"


async def trigger_tool_change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "said"


async def trigger_prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "said"


def x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "-") -> str:
    return region


async def missing_capability(ctx: Context) -> str:
    can = ctx.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="this tool needs a client that samples",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "the client samples"


# -- asking the client in the middle of a call (revisions with a session) ---------------------------------------------


async def sampling(prompt: str, ctx: Context) -> str:
    answer = await ctx.session.create_message(
        messages=[SamplingMessage(role="user", content=text(prompt))],
        max_tokens=100,
        related_request_id=ctx.request_id,
    )
    return f"LLM response: {getattr(answer.content, 'text', '')}"


class Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = Field("John Doe", description="a name")
    age: int = Field(30, description="years")
    score: float = Field(95.5, description="points")
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(True, description="whether checked")


def titled(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in pairs]


VALUES = titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))
OPTIONS = ["option1", "option2", "option3"]
LEGACY = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}


class Choices(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": OPTIONS})
    titledSingle: str = Field(json_schema_extra={"oneOf": VALUES})
    legacyEnum: str = Field(json_schema_extra=LEGACY)
    untitledMulti: list[str] = Field(json_schema_extra={"items": {"type": "string", "enum": OPTIONS}})
    titledMulti: list[str] = Field(json_schema_extra={"items": {"anyOf": VALUES}})


async def _elicited(ctx: Context, message: str, schema: type[BaseModel]) -> str:
    answer = await ctx.elicit(message=message, schema=schema)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"action={answer.action}, content={content}"


async def elicitation(message: str, ctx: Context) -> str:
    return f"User response: {await _elicited(ctx, message, Person)}"


async def elicitation_defaults(ctx: Context) -> str:
    return f"Elicitation completed: {await _elicited(ctx, 'Please look over these', Defaults)}"


async def elicitation_enums(ctx: Context) -> str:
    return f"Elicitation completed: {await _elicited(ctx, 'Please choose', Choices)}"


# -- asking the client between two rounds of a call (2026-07-28) ------------------------------------------------------


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def question(words: str, max_tokens: int) -> CreateMessageRequest:
    asked = [SamplingMessage(role="user", content=text(words))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=asked, max_tokens=max_tokens))


def given(ctx: Context) -> Mapping[str, Any]:
    return ctx.input_responses or {}


def field_of(ctx: Context, key: str, name: str) -> Any:
    answer = given(ctx).get(key)
    return answer.content.get(name) if isinstance(answer, ElicitResult) and answer.content else None


async def round_elicitation(ctx: Context) -> str | InputRequiredResult:
    if "user_name" in given(ctx):
        return f"Hello, {field_of(ctx, 'user_name', 'name')}!"
    return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})


async def round_sampling(ctx: Context) -> str | InputRequiredResult:
    if (answer := given(ctx).get("capital_question")) is not None:
        return f"The model said: {answer.content.text}"
    return InputRequiredResult(input_requests={"capital_question": question("What is the capital of France?", 100)})


async def round_list_roots(ctx: Context) -> str | InputRequiredResult:
    if (answer := given(ctx).get("client_roots")) is not None:
        return f"Roots: {', '.join(str(root.uri) for root in answer.roots)}"
    return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})


def _state_kept(state: str) -> Any:
    async def ask_and_keep(ctx: Context) -> str | InputRequiredResult:
        if ctx.request_state == state:
            return "state-ok"
        asked = {"confirm": form("Please confirm", "ok", "boolean")}
        return InputRequiredResult(input_requests=asked, request_state=state)

    return ask_and_keep


async def round_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    asked = {
        "user_name": form("What is your name?", "name"),
        "greeting": question("Generate a greeting", 50),
        "client_roots": ListRootsRequest(),
    }
    if asked.keys() <= given(ctx).keys():
        return "all three came"
    return InputRequiredResult(input_requests=asked, request_state="three asked")


async def round_multi_round(ctx: Context) -> str | InputRequiredResult:
    if ctx.request_state == "colour asked" and "step2" in given(ctx):
        return f"Your colour is {field_of(ctx, 'step2', 'color')}"
    if ctx.request_state == "name asked" and "step1" in given(ctx):
        asked = {"step2": form("Step 2: What is your favorite color?", "color")}
        return InputRequiredResult(input_requests=asked, request_state="colour asked")
    asked = {"step1": form("Step 1: What is your name?", "name")}
    return InputRequiredResult(input_requests=asked, request_state="name asked")


async def round_capabilities(ctx: Context) -> InputRequiredResult:
    can = ctx.client_capabilities
    asked: dict[str, Any] = {}
    if can is not None and can.sampling is not None:
        asked["sampled"] = question("Say hello", 50)
    if can is not None and can.elicitation is not None:
        asked["elicited"] = form("What is your name?", "name")
    return InputRequiredResult(input_requests=asked, request_state="asked what it can")


async def round_prompt(ctx: Context) -> list | InputRequiredResult:
    if (context := field_of(ctx, "user_context", "context")) is not None:
        return [UserMessage(f"The context is: {context}")]
    asked = {"user_context": form("What context should the prompt use?", "context")}
    return InputRequiredResult(input_requests=asked)


TOOLS = {
    "test_simple_text": simple_text,
    "test_image_content": image_content,
    "test_audio_content": audio_content,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": multiple_content_types,
    "test_error_handling": error_handling,
    "test_tool_with_logging": tool_with_logging,
    "test_tool_with_progress": tool_with_progress,
    "test_reconnection": reconnection,
    "test_trigger_tool_change": trigger_tool_change,
    "test_trigger_prompt_change": trigger_prompt_change,
    "test_x_mcp_header": x_mcp_header,
    "test_missing_capability": missing_capability,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
    "test_input_required_result_elicitation": round_elicitation,
    "test_input_required_result_sampling": round_sampling,
    "test_input_required_result_list_roots": round_list_roots,
    "test_input_required_result_request_state": _state_kept("nonce"),
    "test_input_required_result_tampered_state": _state_kept("sealed"),
    "test_input_required_result_multiple_inputs": round_multiple_inputs,
    "test_input_required_result_multi_round": round_multi_round,
    "test_input_required_result_capabilities": round_capabilities,
    "json_schema_2020_12_tool": simple_text,
}

SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_fixtures(server: MCPServer) -> None:
    """Register all of it on a server."""
    for name, function in TOOLS.items():
        server.add_tool(function, name=name, description=f"Conformance fixture {name}")
    server._tool_manager.get_tool("json_schema_2020_12_tool").parameters = SCHEMA_2020_12
    _add_resources(server)
    _add_prompts(server)
    _add_handlers(server)


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", description="text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", description="picture", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", description="template", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", description="watched")
    def watched() -> str:
        return "Watched resource content"


def _add_prompts(server: MCPServer) -> None:
    @server.prompt(name="test_simple_prompt", description="one message")
    def simple() -> list:
        return [UserMessage("This is a simple prompt for testing.")]

    @server.prompt(name="test_prompt_with_arguments", description="two arguments")
    def with_arguments(arg1: str, arg2: str) -> list:
        return [UserMessage(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]

    @server.prompt(name="test_prompt_with_embedded_resource", description="a resource inside")
    def with_resource(resourceUri: str) -> list:
        inside = enclosed(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(inside), UserMessage("Please process the embedded resource above.")]

    @server.prompt(name="test_prompt_with_image", description="a picture inside")
    def with_image() -> list:
        return [UserMessage(picture()), UserMessage("Please analyze the image above.")]

    server.prompt(name="test_input_required_result_prompt", description="asks first")(round_prompt)


def _add_handlers(server: MCPServer) -> None:
    """Methods of older revisions that the server class has no public hook for."""

    async def nothing(_: Any, __: Any) -> EmptyResult:
        return EmptyResult()

    low = server._lowlevel_server
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, nothing)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, nothing)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, nothing)
