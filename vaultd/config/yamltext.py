"""One setting's value as it stands behind the colon in YAML."""

from __future__ import annotations

import json
import re
from typing import Final

import yaml

from vaultd.config.values import as_text
from vaultd.settings import Key, Shape, Value

_PLAIN: Final = re.compile(r"[\w./~][\w./~ :@%+-]*")


def as_yaml(key: Key, value: Value) -> str:
    """A value as it stands behind the colon in YAML, on one line."""
    if isinstance(value, tuple):
        return f"[{', '.join(quoted(item) for item in value)}]"
    text = as_text(key, value)
    if key.shape in (Shape.NUMBER, Shape.WHOLE, Shape.SWITCH, Shape.DURATION):
        return text or "null"
    return quoted(text)


def quoted(text: str) -> str:
    """Text as a YAML scalar: bare where YAML reads it back as the same text, else in double quotes."""
    if _PLAIN.fullmatch(text) and not text.endswith(" ") and yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)
