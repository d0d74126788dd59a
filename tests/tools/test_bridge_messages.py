from __future__ import annotations

import json

import pytest

from vaultd.tools.bridging.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    NotAMessage,
    error_line,
    header_value,
    key_of,
    on_one_line,
    parse,
)


def line(**content: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **content}, ensure_ascii=False).encode()


META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def test_the_kinds_of_messages():
    assert parse(line(id=1, method="ping")).kind == "request"
    assert parse(line(method="notifications/initialized")).kind == "notification"
    assert parse(line(id=1, result={})).kind == "response"
    assert parse(line(id=1, error={"code": 1, "message": ""})).kind == "response"


def test_a_message_of_a_session_has_no_headers_of_its_own():
    message = parse(line(id=1, method="tools/call", params={"name": "hold"}))

    assert message.headers == {}
    assert not message.needs_no_session
    assert message.title == "tools/call hold"


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "hold"}, "hold"),
        ("prompts/get", {"name": "start conversation"}, "start conversation"),
        ("resources/read", {"uri": "memory://bucket/日"}, "=?base64?bWVtb3J5Oi8vYnVja2V0L+aXpQ==?="),
        ("tools/list", {"name": "not a name here"}, None),
        ("tools/call", {"name": 5}, None),
    ],
)
def test_a_stateless_message_is_told_in_headers_too(method, params, name):
    message = parse(line(id=1, method=method, params={**params, "_meta": META}))

    expected = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    assert message.headers == (expected if name is None else {**expected, "Mcp-Name": name})


@pytest.mark.parametrize("params", [None, [], 5, {"_meta": None}, {"_meta": {}}, {"_meta": {next(iter(META)): 5}}])
def test_odd_parameters_are_the_daemons_to_refuse(params):
    message = parse(line(id=1, method="tools/call", params=params))

    assert message.headers == {}
    assert isinstance(message.params, dict)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"\xff", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b'"text"', INVALID_REQUEST),
        (b'{"id": 1}', INVALID_REQUEST),
    ],
)
def test_what_is_no_message(text, code):
    with pytest.raises(NotAMessage) as caught:
        parse(text)

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("with blanks inside", "with blanks inside"),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("", "=?base64??="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("é", "=?base64?w6k=?="),
    ],
)
def test_text_becomes_a_header_value_that_says_the_same(text, value):
    assert header_value(text) == value


def test_ids_of_different_types_are_different_keys():
    assert len({key_of(1), key_of("1"), key_of(1.5), key_of(None)}) == 4


def test_text_without_line_breaks_is_passed_on_as_it_is():
    text = b'{"a": 1.10, "b":   "\\n"}'

    assert on_one_line(text, json.loads(text)) is text
    assert on_one_line(b'{"a":\n "x\\ny"}', {"a": "x\ny"}) == b'{"a":"x\\ny"}'


def test_an_error_is_one_line_whatever_it_says():
    text = error_line("日", -32000, "two\nlines", {"x": 1})

    assert b"\n" not in text
    assert json.loads(text) == {
        "jsonrpc": "2.0",
        "id": "日",
        "error": {"code": -32000, "message": "two\nlines", "data": {"x": 1}},
    }
