from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests import torture
from tests.vault.test_codec_reading import read
from vaultd.core.errors import UnwritableNote
from vaultd.core.properties import BUCKET_KEYS, CARD_KEYS
from vaultd.core.text import clean_text
from vaultd.vault.codec import REMOVE, new_note, replace_body, set_properties
from vaultd.vault.yamlscalar import same

PERSON = """---
# mine
date: 2026-06-29   # why
tags: [b, a]
q: 'it''s'
link: "[[N]]"
---
body
"""


def change(text: str, **changes: object) -> str:
    return set_properties("x.md", text.encode(), changes).decode()  # type: ignore[arg-type]


def test_only_the_changed_property_differs_and_removing_it_gives_the_first_bytes_back():
    changed = change(PERSON, importance=7)

    assert changed == PERSON.replace('[[N]]"\n', '[[N]]"\nimportance: 7\n')
    assert change(changed, importance=REMOVE) == PERSON


@pytest.mark.parametrize(
    "text",
    [
        "---\r\nid: a\r\n---\r\nx\r\n",
        "---\nid: a\n---\nx\n",
        "---\r\nid: a\r\nmine: b\n---\r\nx\n\r\n",
        "---\nid: a\n---\nno newline at the end",
        "---\nid: a\n---",
        "\ufeff---\nid: a\n---\nx",
        "---\nid: a\n\n# tail\n---\nx",
        "  \n---\nx\n---\n",
        "",
        "\ufeff",
        "\n\nbody",
        "crlf\r\nbody\r\n",
        "---\n---\nempty block",
        "---\n---",
        "---\r\n---\r\nx",
        "---\n\n---\nx",
        "---\n# comment\n---\nx",
    ],
)
def test_adding_then_removing_gives_the_first_bytes_back(text):
    added = change(text, source="claude", tags=["a", "b"])

    assert read(added).properties["source"] == "claude"
    assert change(change(added, tags=REMOVE), source=REMOVE) == text
    assert change(added, tags=REMOVE, source=REMOVE) == text


def test_a_new_line_uses_the_newline_of_the_block():
    assert change("---\r\nid: a\r\n---\r\n", name="b") == "---\r\nid: a\r\nname: b\r\n---\r\n"
    assert change("---\nid: a\n---\nx\r\n", name="b") == "---\nid: a\nname: b\n---\nx\r\n"
    assert change("x\r\ny\n\r\n", id="b") == "---\r\nid: b\r\n---\r\nx\r\ny\n\r\n"


def test_a_changed_line_keeps_its_own_newline():
    assert change("---\r\nid: a\nname: b\r\n---\r\n", id="c", name="d") == "---\r\nid: c\nname: d\r\n---\r\n"


def test_a_bom_stays_first_and_there_is_one_block():
    changed = change("\ufeff---\nid: 1\ntags: [a]\n---\nx", importance=3)

    assert changed == "\ufeff---\nid: 1\ntags: [a]\nimportance: 3\n---\nx"


def test_a_note_without_a_block_gets_one_behind_its_bom():
    assert change("\ufeffx", id="a") == "\ufeff---\nid: a\n---\nx"


def test_a_foreign_type_is_kept():
    changed = change("---\ntype: litnote\n---\nx", id="a")

    assert changed == "---\ntype: litnote\nid: a\n---\nx"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Fix: the thing\n---\nx",
        "---\ntags: [a]\ntags: [b]\n---\nx",
        "---\nid: a\nx",
        "---\n- a\n---\nx",
        "---\nid: a\n---\n<<<<<<< a\n=======\n>>>>>>> b\n",
        "---\n{id: a}\n---\nx",
        "---\n? id\n: a\n---\nx",
        "---\nid: a\n...\n---\nx",
    ],
)
def test_a_note_that_cannot_be_changed_safely_is_refused(text):
    with pytest.raises(UnwritableNote):
        change(text, name="b")


@pytest.mark.parametrize("raw", [b"\xff", b"a\x00", "x".encode("utf-16")])
def test_bytes_that_are_not_utf8_are_never_rewritten(raw):
    with pytest.raises(UnwritableNote):
        set_properties("x.md", raw, {"id": "a"})


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("importance: 5", 7, "importance: 7"),
        ("importance:   5  # mine", 7, "importance:   7  # mine"),
        ("importance:", 7, "importance: 7"),
        ("importance: # mine", 7, "importance: 7 # mine"),
        ("importance: many", 7, "importance: 7"),
        ("'importance': \"5\"", 7, "'importance': 7"),
        ("importance: 'old'", "new", "importance: 'new'"),
        ('importance: "old"', "it's", 'importance: "it\'s"'),
        ("importance: old", "yes", 'importance: "yes"'),
        ("importance: |\n  old\n  # text\n", "new", "importance: new\n"),
        ("importance: 'old\n\n  text' # mine", "new", "importance: 'new' # mine"),
        ("importance: [1, 2]", 7, "importance: 7"),
        ("importance:\n  - 1 # one\n  # two\n  - 2", 7, "importance: 7\n  # two"),
        ("importance: # mine\n  a: 1", 7, "importance: 7 # mine"),
        ("importance: &a 5", 7, "importance: 7"),
        ("importance: !!str 5", 7, "importance: 7"),
        ("importance: 5", None, "importance:"),
        ("importance: 5 # mine", None, "importance: # mine"),
        ("importance: 5", True, "importance: true"),
        ("importance: 5", 0.3, "importance: 0.3"),
        ("importance: 5", 3.0, "importance: 3"),
        ("importance: 5", "a\nb\u2028", 'importance: "a\\nb\\u2028"'),
        ("importance: 5", {"a": [1, "yes"]}, 'importance: {a: [1, "yes"]}'),
        (
            "importance: 5",
            datetime(2026, 1, 31, 8, 5, tzinfo=timezone(timedelta(hours=8))),
            "importance: 2026-01-31T08:05:00+08:00",
        ),
    ],
)
def test_a_value_is_changed_in_its_own_lines(before, value, after):
    text = "---\nmine: 1  \n{}\nother: 'x' # c\n---\nbody"

    assert change(text.format(before), importance=value) == text.format(after)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("tags: [b, a]", ["b", "a", "c d"], "tags: [b, a, c d]"),
        ("tags: [ 'b' ,\"a\" ]  # mine", ["b", "c", "a"], "tags: [ 'b' ,c ,\"a\" ]  # mine"),
        ("tags: [b, a]", ["x, y", "a"], 'tags: ["x, y", a]'),
        ("tags: [b, a]", [], "tags: []"),
        ("tags: []", ["a"], "tags: [a]"),
        ("tags: [\n  b,\n  a\n  ]", ["b", "c"], "tags: [\n  b,\n  c\n  ]"),
        (
            "tags:\n  - b # two\n  # between\n  - 'a'",
            ["b", "c", "a"],
            "tags:\n  - b # two\n  # between\n  - c\n  - 'a'",
        ),
        ("tags:\n- b\n- a", ["a", "c"], "tags:\n- a\n- c"),
        ("tags:\n    -   b", ["b", "c"], "tags:\n    -   b\n    -   c"),
        ("tags:\n  - a\n  # keep\n  - b", ["a"], "tags:\n  - a\n  # keep"),
        ("tags: # mine\n  - a", [], "tags: [] # mine"),
        ("tags: a, b # mine", ["a", "b"], "tags: # mine\n  - a\n  - b"),
        ("tags:", ["a"], "tags:\n  - a"),
        ("tags:\n  - a", ["a", None, 1, True, "true"], 'tags:\n  - a\n  - null\n  - 1\n  - true\n  - "true"'),
        ("tags:\n  - [a]\n  - b", ["b"], "tags:\n  - b"),
        ("tags:\n  - two\n    lines\n  - b", ["b", "c"], "tags:\n  - b\n  - c"),
    ],
)
def test_a_list_keeps_its_style_and_the_items_that_stay(before, value, after):
    text = "---\nmine: 1\n{}\nother: 2\n---\nbody"

    assert change(text.format(before), tags=value) == text.format(after)


def test_a_list_in_an_indented_block_is_indented_with_it():
    assert change("---\n  id: a\n---\n", tags=["b"]) == "---\n  id: a\n  tags:\n    - b\n---\n"


def test_a_comment_inside_brackets_is_never_lost():
    with pytest.raises(UnwritableNote, match="comment"):
        change("---\ntags: [\n  a, # mine\n  b ]\n---\n", tags=["a"])


def test_a_value_that_another_one_refers_to_is_refused():
    text = "---\nname: &n x\nother: *n\n---\n"

    with pytest.raises(UnwritableNote, match="alias"):
        change(text, name="y")
    assert change(text, other="z") == "---\nname: &n x\nother: z\n---\n"


def test_what_is_said_already_is_not_written_again():
    text = "---\nimportance: 7.0\ntags: [ a ]\nlast_active: 2026-01-31T10:00:00Z\nname: 'x'\n---\n"

    same_moment = datetime(2026, 1, 31, 18, 0, 0, 42, tzinfo=timezone(timedelta(hours=8)))
    assert change(text, importance=7, tags=["a"], last_active=same_moment, name="x", source=REMOVE) == text


def test_a_moment_without_offset_is_not_taken_for_one_with():
    changed = change("---\ncreated: 2026-01-31T10:00:00\n---\n", created=datetime(2026, 1, 31, 10, tzinfo=UTC))

    assert changed == "---\ncreated: 2026-01-31T10:00:00+00:00\n---\n"


def test_removing_the_last_property_keeps_comments_and_never_uncovers_another_block():
    assert change("---\n# mine\nid: a\n---\nx", id=REMOVE) == "---\n# mine\n---\nx"
    assert change("---\nid: a\n---\n---\nb: 1\n---\n", id=REMOVE) == "---\n---\n---\nb: 1\n---\n"


def test_properties_go_behind_a_scalar_that_keeps_its_blank_lines():
    assert change("---\nquote: |+\n  x\n\n---\n", id="a") == "---\nquote: |+\n  x\n\nid: a\n---\n"


def test_half_a_character_is_refused():
    with pytest.raises(UnwritableNote):
        change("x", name="\ud800")


def test_a_new_note_has_its_properties_in_order():
    raw = new_note({"id": "0123", "tags": ["a", "2026-01-31"], "domain": [], "pinned": False}, "body\r\n")

    assert raw.decode() == '---\nid: "0123"\ntags:\n  - a\n  - "2026-01-31"\ndomain: []\npinned: false\n---\nbody\n'


def test_a_new_note_takes_any_text():
    for body in ("---\nid: x\n---\n", "<<<<<<< a\n=======\n>>>>>>> b\n", "a\x00\ud800b", ""):
        assert read(new_note({"id": "a"}, body)).properties == {"id": "a"}


def test_another_body_keeps_the_block_and_the_newlines():
    raw = b"\xef\xbb\xbf---\r\nid: a # c\n---\r\nzero\r\none\r\ntwo\nthree"

    assert replace_body("x.md", raw, "zero\none\nnew\ntwo\nthree\n").decode() == (
        "\ufeff---\r\nid: a # c\n---\r\nzero\r\none\r\nnew\r\ntwo\nthree\r\n"
    )


def test_another_body_behind_a_fence_without_newline_starts_on_its_own_line():
    assert replace_body("x.md", b"---\nid: a\n---", "x") == b"---\nid: a\n---\nx"


def test_a_kept_lone_return_never_joins_a_new_newline():
    raw = b"---\nid: a\n---\na\rb"

    assert read(replace_body("x.md", raw, "a\n\nb\n")).body == "a\n\nb\n"


def test_a_change_that_makes_a_note_too_long_says_so():
    with pytest.raises(UnwritableNote, match="bytes long"):
        replace_body("x.md", b"---\nid: a\n---\n", "x" * 10 * 1024 * 1024)


def test_a_body_that_would_be_read_as_properties_is_refused():
    with pytest.raises(UnwritableNote):
        replace_body("x.md", b"no block", "---\nid: x\n---\n")


def test_a_body_with_conflict_markers_is_refused():
    with pytest.raises(UnwritableNote):
        replace_body("x.md", b"---\nid: a\n---\nx", "<<<<<<< a\n=======\n>>>>>>> b\n")


def test_each_hazard_is_writable_or_not_as_it_should():
    for hazard, raw in torture.hazards(1):
        if hazard.writable:
            assert read(set_properties(hazard.path, raw, {"importance": 9})).properties["importance"] == 9
        else:
            with pytest.raises(UnwritableNote):
                set_properties(hazard.path, raw, {"importance": 9})


# Any note, any change

_KEYS = st.sampled_from(sorted({*BUCKET_KEYS, *CARD_KEYS}))
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["yes", "0123", "实习", "a: b", "{{title}}", 'it\'s "q"', "two\nlines", "- x", "# y", "a\u2028b", "'", "2026-01-31"]
)
_SCALARS = _TEXTS | st.booleans() | st.integers(-100, 10**12) | st.floats(allow_nan=False) | st.none()
_VALUES = (
    _SCALARS
    | st.lists(_TEXTS, max_size=4)
    | st.lists(_SCALARS, max_size=3)
    | st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1))  # noqa: DTZ001 - hypothesis takes naive bounds
)
_NOTES = st.randoms(use_true_random=False).map(torture.random_note)
_fewer = settings(max_examples=120, suppress_health_check=[HealthCheck.filter_too_much])


def _changed_or_refused(raw: bytes, changes: dict[str, object]) -> bytes | None:
    try:
        return set_properties("x.md", raw, changes)  # type: ignore[arg-type]
    except UnwritableNote:
        return None


@_fewer
@given(_NOTES, st.dictionaries(_KEYS, _VALUES | st.just(REMOVE), max_size=3))
def test_any_change_reads_back_and_leaves_all_else_as_it_was(raw, changes):
    before = read(raw)
    changed = _changed_or_refused(raw, changes)
    assume(changed is not None)
    after = read(changed)

    assert after.body == before.body
    kept = {key: value for key, value in before.properties.items() if key not in changes}
    assert same({k: v for k, v in after.properties.items() if k not in changes}, kept)
    for key, value in changes.items():
        assert (key in after.properties) == (value is not REMOVE)
        if not isinstance(value, datetime) and value is not REMOVE:
            found = after.properties[key]
            if key == "id" and isinstance(found, str) and isinstance(value, int | float):
                found = type(value)(found)  # an id is read as its text, also one that is a number
            assert same(found, value)
    assert _changed_or_refused(changed, changes) == changed


@_fewer
@given(_NOTES, _KEYS, _VALUES)
def test_lines_of_other_properties_keep_their_bytes(raw, key, value):
    changed = _changed_or_refused(raw, {key: value})
    assume(changed is not None and changed != raw)

    # What differs is one run of bytes, which begins at a line's start or inside the key's own line.
    start = next(
        (at for at, (a, b) in enumerate(zip(raw, changed, strict=False)) if a != b), min(len(raw), len(changed))
    )
    tail = 0
    while tail < min(len(raw), len(changed)) - start and raw[-1 - tail] == changed[-1 - tail]:
        tail += 1
    gone = raw[raw.rfind(b"\n", 0, start) + 1 : len(raw) - tail]
    before = read(raw)
    if key not in before.properties:
        assert raw[start : len(raw) - tail] == b""
    else:
        others = [other for other in before.properties if other != key and other]
        assert not any(line.startswith(f"{other}:".encode()) for line in gone.split(b"\n") for other in others)


@_fewer
@given(_NOTES, _KEYS, _VALUES)
def test_any_property_added_and_removed_gives_the_first_bytes_back(raw, key, value):
    assume(key not in read(raw).properties)
    added = _changed_or_refused(raw, {key: value})
    assume(added is not None)

    assert set_properties("x.md", added, {key: REMOVE}) == raw


@_fewer
@given(
    _NOTES,
    st.text(max_size=40)
    | st.randoms(use_true_random=False).map(lambda rng: torture.random_note(rng).decode("utf-8", "replace")),
)
def test_any_body_reads_back_and_the_block_keeps_its_bytes(raw, body):
    before = read(raw)
    try:
        changed = replace_body("x.md", raw, body)
    except UnwritableNote:
        return
    after = read(changed)

    assert same(dict(after.properties), dict(before.properties))
    assert after.body == clean_text(body)
    assert replace_body("x.md", changed, after.body) == changed
    assert replace_body("x.md", raw, before.body) == raw


@_fewer
@given(st.binary(max_size=60), st.dictionaries(_KEYS, _VALUES, max_size=2))
def test_any_bytes_are_changed_or_refused(raw, changes):
    for candidate in (raw, b"---\n" + raw + b"\n---\n"):
        changed = _changed_or_refused(candidate, changes)

        assert changed is None or set(read(changed).properties) >= set(changes)


def test_most_torture_notes_are_writable():
    rng = random.Random(1)
    results = [_changed_or_refused(torture.random_note(rng), {"importance": 9}) for _ in range(400)]

    assert sum(result is not None for result in results) > 200
