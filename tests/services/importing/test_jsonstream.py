"""Reading JSON piece by piece gives what reading it whole gives, and says where it breaks."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.services.importing.jsonstream import BrokenJson, JsonReader, TooLong

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def walked(reader: JsonReader) -> Any:
    """A value, by walking two levels down and parsing below."""
    if reader.kind() == "{":
        return {key: reader.value(10_000) for key in reader.members()}
    if reader.kind() == "[":
        return [reader.value(10_000) for _ in reader.items()]
    return reader.value(10_000)


@given(values, st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_walking_gives_what_parsing_gives(value: Any, block: int, ascii_only: bool, indent: int | None):
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")

    reader = JsonReader(io.BytesIO(raw), block_bytes=block)
    found = walked(reader)
    reader.finish()

    assert found == json.loads(raw.decode("utf-8", "replace"))


@given(values, st.integers(1, 40))
def test_skipping_leads_to_the_end(value: Any, block: int):
    raw = json.dumps([value, 1]).encode()

    reader = JsonReader(io.BytesIO(raw), block_bytes=block)
    for _ in reader.items():
        pass
    reader.finish()

    assert reader.offset == len(raw)


@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (b"[1 2]", 3),
        (b"[1,]", 3),
        (b'["\xc3\xa4", tru]', 7),
        (b'{"a" 1}', 5),
        (b'[{"a": 1', 8),
        (b"", 0),
        (b"[1] x", 4),
        (b"[" + b"[" * 600 + b"]" * 601, 501),
    ],
)
def test_broken_json_says_where(raw: bytes, offset: int):
    reader = JsonReader(io.BytesIO(raw), block_bytes=3)

    with pytest.raises(BrokenJson) as broken:
        walked(reader)
        reader.finish()

    assert broken.value.offset == offset


def test_a_value_over_the_limit_is_skipped_without_being_held():
    raw = json.dumps(["x" * 1000, 2]).encode()
    reader = JsonReader(io.BytesIO(raw), block_bytes=64)
    found: list[Any] = []

    for _ in reader.items():
        try:
            found.append(reader.value(100))
        except TooLong as exc:
            found.append(exc.size)

    assert found == [1002, 2]


def test_bytes_that_are_no_utf8_and_control_characters_are_taken_as_they_can_be():
    reader = JsonReader(io.BytesIO(b'["a\xffb", "tab\there", "\\ud800", NaN]'))

    found = [reader.value(100) for _ in reader.items()]

    assert found[:3] == ["a\ufffdb", "tab\there", "\ud800"]
