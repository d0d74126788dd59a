"""Values are typed as Obsidian types them; the expected values were read off the npm package `yaml`."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.torture import random_header
from vaultd.core.errors import UnreadableNote
from vaultd.vault import yamlcore, yamlflat
from vaultd.vault.yamlscalar import number_source, readable_unquoted, resolve_plain, same, source, text_source


def refused_at(text: str) -> int | None:
    """The line that a refusal names."""
    with pytest.raises(UnreadableNote) as raised:
        yamlcore.load(text)
    return raised.value.line


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T08:05:00", "2026-01-31T08:05:00"),
        ("0123", 123),
        ("+12", 12),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0x1F", "-0x1F"),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("", None),
        ("~", None),
        ("Null", None),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("'0123'", "0123"),
        ('"\\u00e9\\/"', "é/"),
        ("[[Note]]", [["Note"]]),
        ("[a: b, c]", [{"a": "b"}, "c"]),
        ("!!str 12", "12"),
        ("!!int '3'", 3),
        ("!!float 3", "3"),
        ("!mine x", "x"),
        ("!!timestamp 2026-01-01", "2026-01-01"),
        ("{{title}}", {"{ title }": None}),
        ("::x", "::x"),
        ("[[?Note]]", [["?Note"]]),
        ("{?: 1}", {"?": 1}),
        ('why? http://x.org/?a=1 "?"', 'why? http://x.org/?a=1 "?"'),
        ("b\t# c", "b"),
        ("a\u2028b\u0085c\ufeff", "a\u2028b\u0085c\ufeff"),
        ("a\rb", "a\rb"),
        ("a\x01b", "a\x01b"),
        ("|\n  x\n   y\n", "x\n y\n"),
        (">-\n  x\n  y\n", "x y"),
    ],
)
def test_a_value_is_read_as_obsidian_reads_it(written, value):
    read = yamlcore.load(f"x: {written}\n")

    assert isinstance(read, dict)
    assert same(read["x"], value)
    assert type(read["x"]) is type(value)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("2026", "2026"),
        ("1.0", "1"),
        ("0x10", "16"),
        ("true", "true"),
        ("~", ""),
        ("<<", "<<"),
        ("1e3", "1000"),
        (".nan", "NaN"),
    ],
)
def test_a_key_is_text_as_in_javascript(written, key):
    assert yamlcore.load(f"{written}: x\n") == {key: "x"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1,\n2]\n", 2),
        ("a: 'x\n\ny'\n", 3),
        ("  a: [\n  b\n  ]\n", 2),
        ("- a: {\n  b: 1}\n", 2),
    ],
)
def test_brackets_and_quotes_that_go_on_too_far_left_are_refused_as_in_obsidian(text, line):
    assert refused_at(text) == line


def test_brackets_and_quotes_may_go_on_behind_their_key():
    text = "a: [\n 1, [2,\n\n 3]\n]\nb: 'x\n\n  y'\nc:\n- {\n  x: 1 }\nd: &d [\n  1 ]\ne:\n  f:\n    g: *d\n"

    assert yamlcore.load(text) == {"a": [1, [2, 3]], "b": "x\ny", "c": [{"x": 1}], "d": [1], "e": {"f": {"g": [1]}}}


def test_a_line_of_tabs_is_a_blank_line():
    assert yamlcore.load("a: 1\n\t\nb: 2\n\t \t\r\n") == {"a": 1, "b": 2}


def test_not_a_number_is_read():
    read = yamlcore.load("x: .NaN\n")

    assert isinstance(read, dict)
    assert math.isnan(float(str(read["x"])))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", 3),
        ("1: a\n01: b\n", 2),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4),
        ("a: {b: 1, b: 2}\n", 1),
        ("title: Fix: the thing\n", 1),
        ("a: x\nby: @bob\n", 2),
        ("a: *nowhere\n", 1),
        ("a: &a [*a]\n", 1),
        ("a: 1\n...\nb: 2\n", 3),
    ],
)
def test_a_block_that_cannot_be_read_names_its_line(text, line):
    assert refused_at(text) == line


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000, "0o" + "7" * 5000])
def test_a_number_past_every_range_is_infinite(digits):
    assert resolve_plain(digits) == math.inf


def test_true_is_not_one_and_three_is_three_point_zero():
    assert not same(True, 1)
    assert same(3, 3.0)
    assert same([{"a": 3}], [{"a": 3.0}])
    assert not same("3", 3)
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})


@given(st.text())
def test_any_text_is_read_or_refused_with_a_line(text):
    try:
        yamlcore.load(text)
    except UnreadableNote as exc:
        assert exc.line is None or exc.line >= 1


@given(st.randoms(use_true_random=False))
def test_the_quick_reader_says_what_the_full_one_says(rng):
    header = random_header(rng)
    quick = yamlflat.read(header)

    if quick is not None:
        assert same(quick, yamlcore.load_fully(header))
        assert same(quick, yamlcore.load(header.replace("\n", "\r\n")))


_LINE = st.from_regex(
    r"(?:[a-c]{1,2}|true|名) {0,1}: {0,2}(?:[-+.'\"\[{#&*!|>%@`?:, ]?[a-z0-9:#,.\-\]}'\" ]{0,8})|( {0,2}-? {0,2}[a-z0-9:'\"# ]{0,5})|#.{0,3}",
    fullmatch=True,
)


@given(st.lists(_LINE, max_size=4).map("\n".join))
def test_the_quick_reader_never_disagrees_on_strange_lines(header):
    quick = yamlflat.read(header)

    if quick is not None:
        assert same(quick, yamlcore.load_fully(header))


def test_the_quick_reader_takes_an_ordinary_block():
    header = 'id: 1f2e3d4c5b6a\ntags:\n  - 面试\n  - offer\nvalence: 0.8\npinned: false\nname: "[[x]]"\nempty:\n'

    assert yamlflat.read(header) == {
        "id": "1f2e3d4c5b6a",
        "tags": ["面试", "offer"],
        "valence": 0.8,
        "pinned": False,
        "name": "[[x]]",
        "empty": None,
    }


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"]))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_VALUES)
def test_a_written_value_reads_back_the_same(value):
    read = yamlcore.load(f"x: {source(value)}\n")

    assert isinstance(read, dict)
    assert same(read["x"], value)


@given(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.from_regex(r"[-+.0-9xobeE:_ynYNtrufalsno~]{1,6}", fullmatch=True)
)
def test_a_text_written_bare_is_text_to_readers_of_either_yaml(text):
    written = text_source(text)

    assert yaml.safe_load(f"x: {written}\n") == {"x": text}
    assert yaml.safe_load(f"x: [{text_source(text, in_flow=True)}]\n") == {"x": [text]}


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "n",
        "12:30",
        "0123",
        "1_0",
        "2026-01-31",
        "~",
        "null",
        "a: b",
        "a #b",
        "-x",
        "x:",
        " x",
        "12345e678901",
        "=",
    ],
)
def test_a_text_that_would_be_misread_is_quoted(text):
    assert not readable_unquoted(text)


@pytest.mark.parametrize(
    "text", ["实习", "a:b", "http://x.org/#a", "1f2e3d4c5b6a", "20260131-001", "a, b", "it's", "2026-01-31 trip"]
)
def test_a_text_that_is_safe_stays_bare(text):
    assert text_source(text) == text


def test_a_question_mark_in_brackets_is_quoted_for_older_readers():
    assert source(["why?", "so"]) == '["why?", so]'


def test_numbers_are_short():
    assert [number_source(x) for x in (0.3, 3.3, 3.0, 10, 0.1 + 0.2, math.inf)] == [
        "0.3",
        "3.3",
        "3",
        "10",
        "0.30000000000000004",
        ".inf",
    ]


def test_a_moment_is_iso_8601_without_quotes():
    assert source(datetime(2026, 1, 31, 10, 0, 5, 999, tzinfo=UTC)) == "2026-01-31T10:00:05+00:00"
