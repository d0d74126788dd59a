"""Single YAML values: the type of a plain scalar by the 1.2 core schema, and how a value is written on one line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import yaml

from vaultd.core.note import PropertyValue
from vaultd.core.properties import moment_text

_EXACT_DIGITS: Final = 300  # longer whole numbers pass a double's range, and are slow as an int

_WHOLE = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+)")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
TYPED_WORDS: Final[dict[str, PropertyValue]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_NUMBER_START: Final = frozenset("0123456789+-.")

STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)")
"""Characters that YAML 1.1 refuses or breaks a line at, though 1.2 as Obsidian reads it takes them as they are."""

_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@`=<~.+")
_QUOTE_ALWAYS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|:\s|\s#|:\Z|\A\s|\s\Z")
_QUOTE_IN_FLOW = re.compile(r"[?,\[\]{}:\"'#]")
_SHORT_BOOLEANS: Final = frozenset(("y", "Y", "n", "N"))  # YAML 1.1 has them, PyYAML does not
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_TO_ESCAPE = re.compile(r"[\\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def resolve_plain(text: str) -> PropertyValue:
    """The typed value of an unquoted scalar: null, true, false, a number, or the text itself."""
    if text in TYPED_WORDS:
        return TYPED_WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) <= _EXACT_DIGITS else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0) if len(text) <= _EXACT_DIGITS else math.inf
    if match := _INFINITE.fullmatch(text):
        return -math.inf if match[1] == "-" else math.inf
    return text


def key_text(typed: PropertyValue) -> str:
    """A typed scalar as a key's text, the way JavaScript names it: `1.0` is "1", null is ""."""
    if isinstance(typed, str):
        return typed
    if typed is None:
        return ""
    if isinstance(typed, bool):
        return "true" if typed else "false"
    if isinstance(typed, float):
        return _javascript_number(typed)
    return str(typed)


def _javascript_number(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    return repr(number)


def same(one: PropertyValue, other: PropertyValue) -> bool:
    """Whether two values are one to a reader: `3` is `3.0`, but `true` is not 1, and NaN is itself."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other if isinstance(one, str) else one == other


def readable_unquoted(text: str, *, in_flow: bool = False) -> bool:
    """Whether readers of YAML 1.2 core and of YAML 1.1 both take the bare text for this very text."""
    if not text or text[0] in _INDICATORS or text in _SHORT_BOOLEANS:
        return False
    if _QUOTE_ALWAYS.search(text) or (in_flow and _QUOTE_IN_FLOW.search(text)):
        return False
    if not isinstance(resolve_plain(text), str):
        return False
    resolvers: Iterable[tuple[str, re.Pattern[str]]] = yaml.SafeLoader.yaml_implicit_resolvers.get(text[0], ())
    return not any(pattern.match(text) for _, pattern in resolvers)


def text_source(text: str, *, in_flow: bool = False, quote: str = "") -> str:
    """A text as YAML source on one line: bare where it is readable so, else quoted. `quote` asks for ' or " anyway."""
    if not quote and readable_unquoted(text, in_flow=in_flow):
        return text
    plain_characters = not STRANGE.search(text) and not any(char in text for char in "\n\t\r")
    if plain_characters and (quote == "'" or (not quote and "'" not in text and ('"' in text or "\\" in text))):
        return "'" + text.replace("'", "''") + "'"
    return '"' + _TO_ESCAPE.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _ESCAPES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")


def number_source(number: float) -> str:
    """A number, as short as it reads back the same: `0.3`, and `3` for 3.0."""
    if isinstance(number, int):
        return str(number)
    if math.isnan(number):
        return ".nan"
    if math.isinf(number):
        return ".inf" if number > 0 else "-.inf"
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return repr(number)


def source(value: PropertyValue | datetime, *, in_flow: bool = False, quote: str = "") -> str:
    """Any value as YAML source on one line; lists and mappings in flow style. Null is written as nothing, or `null`."""
    if value is None:
        return "null" if in_flow else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_source(value)
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, str):
        return text_source(value, in_flow=in_flow, quote=quote)
    if isinstance(value, list):
        return "[" + ", ".join(source(item, in_flow=True) for item in value) + "]"
    pairs = (f"{text_source(key, in_flow=True)}: {source(item, in_flow=True)}" for key, item in value.items())
    return "{" + ", ".join(pairs) + "}"
