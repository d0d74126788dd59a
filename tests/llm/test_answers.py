"""Answers of any shape are read, clamped or refused; never an error of another kind."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultd.core.errors import ModelBadAnswer
from vaultd.llm.answers import read_annotation, read_drafts, read_text
from vaultd.llm.prompt import Language, canonical_domain, language_of, topic_areas

NOW = datetime(2026, 11, 30, 20, 6, tzinfo=UTC)
GOOD = {"name": "n", "domain": ["love"], "valence": 0.25, "arousal": 0.75, "tags": ["t"]}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
keys = st.sampled_from(["name", "domain", "valence", "arousal", "tags", "importance", "when", "sentences", "content"])
objects = st.dictionaries(keys, values, max_size=9)


def as_answer(value) -> str:
    return json.dumps(value, ensure_ascii=True)


@given(objects | values)
def test_an_annotation_is_in_range_or_refused(value):
    try:
        annotation = read_annotation(as_answer(value), Language.EN)
    except ModelBadAnswer as bad:
        assert str(bad)
        return

    assert 1 <= len(annotation.domain) <= 2
    assert 1 <= len(annotation.tags) <= 15
    assert 0 <= annotation.valence <= 1
    assert 0 <= annotation.arousal <= 1
    assert len(annotation.name) <= 80
    assert not math.isnan(annotation.valence + annotation.arousal)


@settings(max_examples=50)
@given(st.lists(objects, max_size=6) | values, st.integers(0, 12))
def test_drafts_are_in_range_or_refused(value, count):
    try:
        drafts = read_drafts(as_answer({"memories": value}), Language.ZH, count=count, now=NOW)
    except ModelBadAnswer:
        return

    for draft in drafts:
        assert all(0 <= number < count for number in draft.numbers)
        assert 1 <= draft.importance <= 10
        assert 0 <= draft.valence <= 1
        assert draft.when is None or draft.when <= NOW


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    for read in (
        lambda: read_annotation(text, Language.EN),
        lambda: read_drafts(text, Language.EN, count=3, now=NOW),
        lambda: read_text(text, "a text"),
    ):
        try:
            read()
        except ModelBadAnswer as bad:
            assert text[:50] not in str(bad) or len(text) < 12


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "```\n{}```",
        "Here you are: {} I hope it helps {{smile}}",
        "<think>{{}}</think>{}",
        "\ufeff{}",
    ],
)
def test_json_is_found_whatever_stands_around_it(around):
    assert read_annotation(around.format(as_answer(GOOD)), Language.EN).tags == ("t",)


def test_a_line_break_inside_a_text_is_no_reason_to_refuse():
    assert read_text('{"text": "one\ntwo"}', "") == "one\ntwo"


def test_a_text_under_another_key_is_taken_when_it_is_the_only_one():
    assert read_text('{"merged": "one and two"}', "") == "one and two"
    with pytest.raises(ModelBadAnswer):
        read_text('{"a": "one", "b": "two"}', "")


@pytest.mark.parametrize("empty", ["", "{}", '{"text": ""}', '{"text": " "}', '{"text": null}', "[]", "null"])
def test_an_empty_text_is_refused(empty):
    with pytest.raises(ModelBadAnswer):
        read_text(empty, "source")


@pytest.mark.parametrize(
    ("written", "places"),
    [
        ("1-3,7", (0, 1, 2, 6)),
        ("1–2、4", (0, 1, 3)),
        ("第1至3句", (0, 1, 2)),
        ([1, "2", 3.5, True, None], (0, 1)),
        (5, (4,)),
        ("9-12", ()),
        ("3-1", ()),
        ("0", ()),
        ("7-99999", (6, 7)),
        (None, ()),
    ],
)
def test_sentence_numbers_are_read_in_any_form_and_only_those_that_exist(written, places):
    answer = as_answer([{"content": "x", "sentences": written}])

    assert read_drafts(answer, Language.EN, count=8, now=NOW)[0].numbers == places


@pytest.mark.parametrize(
    ("written", "when"),
    [
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29T08:00:00+01:00", datetime(2026, 11, 29, 7, tzinfo=UTC)),
        ("2026-12-24", None),
        ("1850-01-01", None),
        ("yesterday", None),
        ("", None),
        (20261129, None),
    ],
)
def test_a_day_is_taken_when_it_lies_in_living_memory(written, when):
    answer = as_answer([{"content": "x", "when": written}])

    assert read_drafts(answer, Language.EN, count=1, now=NOW)[0].when == when


def test_a_day_is_read_in_the_zone_of_the_present():
    tokyo = NOW.astimezone(tz=timezone_of(9))

    draft = read_drafts(as_answer([{"content": "x", "when": "2026-11-30"}]), Language.EN, count=1, now=tokyo)[0]

    assert draft.when is not None
    assert draft.when.utcoffset() == timedelta(hours=9)


def timezone_of(hours: int):
    from datetime import timezone

    return timezone(timedelta(hours=hours))


def test_there_are_eight_classes_and_more_than_thirty_areas_in_both_languages():
    for language in Language:
        areas = topic_areas(language)
        assert len(areas.classes) == 8
        assert len(set(areas.names)) == len(areas.names) > 38


def test_domains_are_spelled_as_listed_and_translated():
    assert canonical_domain("GROWTH", Language.EN) == "growth"
    assert canonical_domain("成长", Language.EN) == "growth"
    assert canonical_domain("money", Language.ZH) == "财务"
    assert canonical_domain("gardening", Language.ZH) == "gardening"


def test_a_memory_with_three_tenths_of_chinese_counts_as_chinese():
    assert language_of("我们 went to the lake today and swam") is Language.EN
    assert language_of("今天 we went swimming") is Language.ZH
    assert language_of("") is Language.EN
